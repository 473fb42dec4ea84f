"""``meanbounds serve``: decisions over HTTP, by agents whose every decision and reward is on disk before the answer."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meanbounds.cli.command import Command
from meanbounds.cli.messages import quantity
from meanbounds.cli.streams import tell

if TYPE_CHECKING:
    from meanbounds.service.book import Book

__all__ = ["COMMAND", "STORE"]

STORE = (
    "where the log is kept: sqlite:FILE, such as sqlite:state.db, or postgresql://USER@HOST/DATABASE, which several "
    "processes can share"
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the agents, the store, and where to listen."""
    parser.add_argument(
        "agents",
        nargs="*",
        type=Path,
        metavar="AGENT.json",
        help="agents to serve, as meanbounds start writes them, such as agent.json; default: those of the store, or a "
        "demo if there is no store",
    )
    parser.add_argument("--store", metavar="ADDRESS", help=f"{STORE}; default: sqlite:state.db, in memory for the demo")
    parser.add_argument(
        "--name", metavar="NAME", help="what requests call the agent, for example stroke; default: the file's name"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1, this machine")
    parser.add_argument(
        "--port", type=int, default=8000, help="port to listen on, a whole number; default: 8000, and 0 is any free one"
    )
    parser.add_argument(
        "--observe",
        action="store_true",
        help="decide nothing: every request is answered with 'ask the expert', and what experts do is recorded",
    )
    parser.add_argument(
        "--share",
        type=float,
        metavar="SHARE",
        help="share of the requests that the agent decides, for example 0.1; the others are left to the expert and are "
        "a control; default: 1",
    )
    parser.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        help="number of seconds after which a decision without a reward expires, for example 86400; default: never",
    )
    parser.add_argument(
        "--default-reward",
        type=float,
        metavar="REWARD",
        help="what the agent is told of a decision that expires, in reward units, for example 0; default: nothing",
    )
    parser.add_argument(
        "--rate",
        type=float,
        metavar="REQUESTS",
        help="number of requests a second that each token may send, for example 100; default: any number",
    )
    parser.add_argument(
        "--log-requests",
        action="store_true",
        help="write a line about each request to standard error, as JSON with an id, such as that of X-Request-ID",
    )


def _run(options: argparse.Namespace) -> None:
    """Serve until the process is told to stop."""
    service = import_module("meanbounds.service")
    server = import_module("meanbounds.service.server")
    if options.name is not None and len(options.agents) != 1:
        raise ValueError("--name is for one agent: give one file with it")
    if options.observe and options.share is not None:
        raise ValueError("--observe leaves everything to the expert: give it or --share, not both")
    is_demo = not options.agents and options.store is None
    agents = {"demo": server.demo_agent().to_dict()} if is_demo else _read_agents(options)
    settings = _settings(options)
    store = service.open_store("sqlite::memory:" if is_demo else options.store or "sqlite:state.db")
    book: Book = server.prepare(store)
    _add_agents(book, agents, settings)
    if not book.agents:
        raise ValueError("the store has no agent: give the file of one, such as agent.json")
    server.warm_up(book)
    listening = server.open_socket(options.host, options.port, store)
    host, port = listening.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    print(f"serving {', '.join(book.agents)} at {address}; position {book.position} of the log", flush=True)
    print(f"{address} in a browser shows what is known, and has the emergency stop", flush=True)
    if is_demo:
        print("this is a demo: what it learns is gone when it stops. Try", flush=True)
        asked = '{"request_id": "1", "context": "under 60"}'
        print(f"curl -H 'Content-Type: application/json' {address}/v1/agents/demo/decisions -d '{asked}'", flush=True)
    server.serve(service.Service(book, rate=options.rate, log_requests=options.log_requests), listening)


def _read_agents(options: argparse.Namespace) -> dict[str, Any]:
    """The agents of the options by name, before anything is made."""
    server = import_module("meanbounds.service.server")
    agents = {options.name or path.stem: server.read_agent(path) for path in options.agents}
    for name in agents:
        server.check_key(name)
    if len(agents) < len(options.agents):
        raise ValueError(
            "two files have the same name: rename one, since agents are called by the names of their files"
        )
    return agents


def _settings(options: argparse.Namespace) -> Any:
    """How the agents are served."""
    share = 0.0 if options.observe else 1.0 if options.share is None else options.share
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"--share must be between 0 and 1; got {share:g}")
    if options.wait is not None and not options.wait > 0.0:
        raise ValueError(f"--wait must be more than 0 seconds; got {options.wait:g}")
    return import_module("meanbounds.service.events").Settings(share, options.wait, options.default_reward)


def _add_agents(book: Book, agents: dict[str, Any], settings: Any) -> None:
    """Put agents into the store."""
    server = import_module("meanbounds.service.server")
    for name, saved in agents.items():
        said = server.add_agent(book, name, saved, settings)
        if said is not None:
            tell(f"meanbounds: {said}")
    if book.differences:
        tell(
            f"meanbounds: warning: {quantity(book.differences, 'decision')} of the log would be taken otherwise by "
            "this version on this machine; the log counts. meanbounds verify says which"
        )


COMMAND = Command(
    name="serve",
    help="decisions over HTTP: every decision and reward is on disk before it is answered",
    example="meanbounds serve agent.json --store sqlite:state.db",
    add_options=_add_options,
    run=_run,
)
