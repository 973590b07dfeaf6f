"""`regard serve`: translation and text for other programs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from regard.errors import InputError

if TYPE_CHECKING:
    import socket

    from regard.server.registry import ModelRegistry

LOCAL = ("127.0.0.1", "localhost", "::1")
USUAL = ("en-fr", "fr-en")  # served where no model is named, as far as they ship


def serve(
    models: list[str] | None = typer.Argument(
        None,
        metavar="[MODEL...]",
        help="Translators and decoder-only models: folders or names; MODEL=en:fr where it does not say its languages.",
    ),
    host: str = typer.Option("127.0.0.1", help="The address to listen at; 0.0.0.0 for all, with --api-key."),
    port: int = typer.Option(5000, min=0, max=65535, help="The port; 0 for any that is free."),
    api_key: list[str] | None = typer.Option(
        None, metavar="KEY", help="A key that clients must give; may be repeated."
    ),
    cors: list[str] | None = typer.Option(None, metavar="ORIGIN", help="A web page's origin that may ask (none)."),
    rate: float | None = typer.Option(None, min=1, help="Requests a minute of each key or address (no limit)."),
    body: int = typer.Option(1 << 20, min=1024, help="Bytes of a request at most."),
    characters: int = typer.Option(10_000, min=1, max=100_000, help="Characters of a text at most."),
    batch_tokens: int = typer.Option(1024, min=1, help="Tokens, about, that are decoded together at most."),
    wait: float | None = typer.Option(
        None, min=0, max=1000, help="Milliseconds that a text waits for others to join it (4; 0 with ctranslate2)."
    ),
    queue_tokens: int = typer.Option(32_768, min=1, help="Tokens, about, that may wait; beyond, 429 is answered."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    engine: str = typer.Option(
        "torch", metavar="torch|ctranslate2", help="What computes: ctranslate2 is faster on a CPU (extra fast)."
    ),
    quantization: str | None = typer.Option(
        None, metavar="NAME", help="What CTranslate2 computes in: float32 (as trained), int8 (faster), bfloat16, ..."
    ),
) -> None:
    """Serve models over HTTP, as clients of LibreTranslate, DeepL and OpenAI ask for it.

    LibreTranslate at /translate, /detect and /languages; DeepL at /v2/translate, /v2/languages and /v2/usage; OpenAI at
    /v1/models, /v1/completions and /v1/chat/completions, streams too, where a translator translates the prompt or the
    user's last message. /health and /metrics (Prometheus) say how it is, /openapi.json all that may be asked.

    Texts that arrive together are decoded together. What is in flight is answered before the server stops (Ctrl-C).
    """
    check_host(host, api_key or [])
    from functools import partial

    from regard.server.app import ServerOptions, create_app
    from regard.server.batch_queue import QueueLimits
    from regard.server.registry import open_models
    from regard.tasks import load

    options = ServerOptions(
        api_keys=tuple(api_key or ()),
        cors=tuple(cors or ()),
        rate=rate,
        body_bytes=body,
        characters=characters,
        queue=QueueLimits(
            batch_tokens=batch_tokens, seconds=None if wait is None else wait / 1000, queue_tokens=queue_tokens
        ),
    )
    load_model = partial(load, device=device, engine=engine, quantization=quantization)
    with listening(host, port) as listener:  # before models are read: a port that is taken is told at once
        registry = open_models(models or usual_models(), load_model)
        run(create_app(registry, options), listener, registry)


def check_host(host: str, keys: list[str]) -> None:
    """Whoever can reach this machine could ask it: then a key is needed."""
    if any(not key.strip() for key in keys):
        raise InputError("an API key may not be empty", do="--api-key KEY, such as: openssl rand -hex 16")
    if host not in LOCAL and not keys:
        raise InputError(
            f"at {host} others can reach the server, so it needs a key",
            found="no --api-key",
            do="--api-key KEY, such as: openssl rand -hex 16; or leave --host out to serve this machine alone",
        )


def usual_models() -> list[str]:
    """What is served where nothing is named."""
    from regard.interop.folders import shipped

    ships = shipped()
    return [name for name in USUAL if name in ships] or list(ships)


def listening(host: str, port: int) -> socket.socket:
    """A socket at that address, or what is wrong with it."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"cannot listen at {host}, port {port}", found=error.strerror or str(error), do="--port 0 takes a free one"
        ) from error
    # What it accepts takes this over (asyncio sets it only where a socket names its protocol): without it the body of
    # an answer waits some 40 ms, until the client has acknowledged the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run(app: object, listener: socket.socket, registry: ModelRegistry) -> None:
    """Until it is told to stop; then what is in flight is answered first."""
    import uvicorn

    host, port = listener.getsockname()[:2]
    for model in registry.by_name.values():
        kind = "goes on with texts" if model.languages is None else f"{model.languages[0]} to {model.languages[1]}"
        typer.echo(f"{model.name}: {kind}", err=True)
    typer.echo(f"listening at http://{f'[{host}]' if ':' in host else host}:{port} (Ctrl-C ends it)", err=True)
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=60,
    )
    with suppress(KeyboardInterrupt):  # which is raised again once all is answered
        uvicorn.Server(config).run(sockets=[listener])
