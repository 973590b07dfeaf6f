"""`regard studio`: the page where attention is seen, changed and understood."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.serve import LOCAL, listening
from regard.errors import InputError

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI

    from regard.server.studio.catalogue import StudioCatalogue
    from regard.server.studio.schema import StudioStart

PORT, TRIED = 5151, 20  # where nobody says which: the first of so many that is free


def studio(
    names: list[str] | None = typer.Argument(
        None,
        metavar="[MODEL|RECORDING...]",
        help="Folders or names of models, and .regard files; the models that ship are there anyway.",
    ),
    data: Path = typer.Option(Path(), metavar="DIR", help="A folder of training runs and models (this one)."),
    host: str = typer.Option("127.0.0.1", help="The address to listen at; any but this machine's needs --token."),
    port: int | None = typer.Option(None, min=0, max=65535, help=f"The port ({PORT}, or the next that is free)."),
    token: str | None = typer.Option(None, help="What others must give, once, in the address: /?token=..."),
    no_open: bool = typer.Option(False, "--no-open", help="Do not open the browser."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Open a page in the browser: the six steps with your own numbers, a translator at work, every head, maps.

    Nothing leaves this machine: the page brings all it needs, and the server answers this machine alone, unless it is
    told otherwise. Models are those that ship, those that are named, and those in the folder of runs. Ctrl-C ends it.
    """
    check_token(host, token)
    from regard.server.studio.catalogue import StudioCatalogue
    from regard.server.studio.studio_app import StudioOptions, create_studio
    from regard.tasks.model_folder import device_of

    device = device_of(device).type
    if not data.is_dir():
        raise InputError("there is no such folder of runs", found=str(data), do="--data DIR, or leave it out")
    with open_port(host, port) as listener:
        catalogue = StudioCatalogue.of(names or (), data)
        options = StudioOptions(token=token, device=device, start=beginning(catalogue))
        run_studio(create_studio(catalogue, options), listener, token, browser=not no_open)


def check_token(host: str, token: str | None) -> None:
    """Whoever can reach this machine could read what is shown here."""
    if token is not None and not token.strip():
        raise InputError("a token may not be empty", do="--token TOKEN, such as: openssl rand -hex 16")
    if host not in LOCAL and token is None:
        raise InputError(
            f"at {host} others can reach the studio, so it needs a token",
            found="no --token",
            do="--token TOKEN, such as: openssl rand -hex 16; or leave --host out to serve this machine alone",
        )


def beginning(catalogue: StudioCatalogue) -> StudioStart:
    """What was named is what the page opens with."""
    from regard.server.studio.catalogue import RECORDING
    from regard.server.studio.schema import StudioStart

    first = catalogue.first
    if first is None:
        return StudioStart(page="steps")
    if first.startswith(RECORDING):
        return StudioStart(page="map", recording=first.removeprefix(RECORDING))
    examples = catalogue.models[first].info.examples
    return StudioStart(page="heads", model=first, text=examples[0] if examples else None)


def open_port(host: str, port: int | None) -> socket.socket:
    """The port that was asked for; else the usual one, or the next that is free."""
    if port is not None:
        return listening(host, port)
    for candidate in range(PORT, PORT + TRIED):
        with suppress(InputError):
            return listening(host, candidate)
    return listening(host, 0)


def run_studio(app: FastAPI, listener: socket.socket, token: str | None, *, browser: bool) -> None:
    """Until it is told to stop."""
    import threading
    import webbrowser
    from urllib.parse import quote

    import uvicorn

    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    address = f"http://{shown}:{port}/" + ("" if token is None else f"?token={quote(token, safe='')}")
    typer.echo(f"Regard Studio is at {address} (Ctrl-C ends it)", err=True)
    if browser:
        timer = threading.Timer(0.3, webbrowser.open, [address])
        timer.daemon = True
        timer.start()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, proxy_headers=False, server_header=False,
        timeout_graceful_shutdown=5,
    )  # fmt: skip
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
