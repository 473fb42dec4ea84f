"""``meanbounds serve``: the agents of a store over HTTP."""

from __future__ import annotations

import argparse

from meanbounds.cli.command import Command
from meanbounds.cli.store_options import add_store, open_store
from meanbounds.support.optional import import_optional

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen; default: 127.0.0.1, this machine only")
    parser.add_argument("--port", type=int, default=8000, help="default: 8000; 0 is any that is free")


def _run(options: argparse.Namespace) -> None:
    """Serve until the process is told to stop."""
    if not 0 <= options.port < 2**16:
        raise ValueError(f"--port is a number from 0 to 65535; got {options.port}")
    import_optional("uvicorn", "service", "servers")
    from meanbounds.service.serving import serve

    serve(open_store(options.store), host=options.host, port=options.port)


COMMAND = Command(
    name="serve",
    help="answer over HTTP, with a page for those who watch; each answer is on disk before it is sent",
    example="meanbounds serve clinic.db",
    add_options=_add_options,
    run=_run,
)
