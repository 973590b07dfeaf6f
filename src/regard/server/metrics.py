"""What the server counts, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class ServerMetrics:
    """Counts of one server, in a registry of its own: two in a process do not meet."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "regard_requests", "Requests by API and status", ["api", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "regard_request_seconds", "Seconds a request took", ["api"], buckets=SECONDS, registry=self.registry
        )
        self.texts = Counter("regard_texts", "Texts by what became of them", ["outcome"], registry=self.registry)
        self.characters = Counter("regard_characters", "Characters that were answered", registry=self.registry)
        self.batch_texts = Histogram(
            "regard_batch_texts", "Texts decoded together", buckets=SIZES, registry=self.registry
        )
        self.batch_seconds = Histogram(
            "regard_batch_seconds", "Seconds a batch took", buckets=SECONDS, registry=self.registry
        )

    def watch_queue(self, texts: Callable[[], float], tokens: Callable[[], float]) -> None:
        """Ask how much is waiting whenever somebody reads."""
        Gauge("regard_queue_texts", "Texts that wait", registry=self.registry).set_function(texts)
        Gauge("regard_queue_tokens", "Their tokens, estimated", registry=self.registry).set_function(tokens)

    def answered(self, api: str, status: int, seconds: float) -> None:
        self.requests.labels(api, str(status)).inc()
        self.seconds.labels(api).observe(seconds)

    def batch(self, texts: int, seconds: float) -> None:
        self.batch_texts.observe(texts)
        self.batch_seconds.observe(seconds)

    def outcome(self, name: str, texts: int = 1) -> None:
        """`answered`, `failed`, `dropped` (the client had gone) or `refused` (the queue was full)."""
        self.texts.labels(name).inc(texts)

    def characters_so_far(self) -> int:
        return int(self.registry.get_sample_value("regard_characters_total") or 0)

    def page(self) -> bytes:
        return generate_latest(self.registry)
