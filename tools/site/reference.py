"""The reference: a page for each room of the package with its public names, and one for the command line."""

from __future__ import annotations

import ast
import inspect
import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from typing import Any, NamedTuple

from meanbounds.cli import COMMANDS, make_parser

__all__ = ["ROOMS", "Room", "public_names", "public_value", "write_reference"]


class Room(NamedTuple):
    """A page of the reference.

    `modules` have its public names. Those of `meanbounds` itself are shared out over several pages: `made_in` says in
    which rooms the names of this page are defined.
    """

    page: str
    title: str
    modules: tuple[str, ...]
    made_in: tuple[str, ...] = ()


ROOMS = (
    Room("bounds", "Bounds and what else is known", ("meanbounds",), ("bounds", "subgaussian", "prior", "knowledge")),
    Room("agents", "Agents", ("meanbounds", "meanbounds.agents"), ("agents",)),
    Room("policies", "Policies", ("meanbounds", "meanbounds.policies"), ("policies", "divergence")),
    Room("linear", "Arms with features", ("meanbounds",), ("linear",)),
    Room("simulation", "Simulation", ("meanbounds", "meanbounds.simulation"), ("simulation",)),
    Room("logs", "Logs", ("meanbounds.logs",)),
    Room("evidence", "Evidence", ("meanbounds.evidence",)),
    Room("theory", "Theory", ("meanbounds.theory",)),
    Room("plots", "Pictures", ("meanbounds.plots",)),
    Room("worlds", "Worlds", ("meanbounds",), ("worlds",)),
    Room("movielens", "Movie ratings", ("meanbounds.worlds.movielens",)),
    Room("softimpute", "Completing a matrix", ("meanbounds.worlds.softimpute",)),
    Room("fits", "Other packages", tuple(f"meanbounds.fits.{name}" for name in ("gymnasium", "obp", "river"))),
    Room("service", "Service", ("meanbounds.service",)),
    Room("kernels", "Kernels", ("meanbounds.kernels",)),
)
COMMAND_LINE = "command_line"
WIDTH = "80"  # letters in a line of help


def public_names(room: Room) -> list[str]:
    """The public names of a page with their modules, in the order of the alphabet.

    Examples
    --------
    >>> from tools.site.reference import ROOMS, public_names
    >>> public_names(ROOMS[0])[:2]
    ['meanbounds.BoundsError', 'meanbounds.Knowledge']
    """
    found: dict[str, str] = {}
    for path in room.modules:
        module = import_module(path)
        for name in module.__all__:
            mine = path != "meanbounds" or home(name, getattr(module, name)) in room.made_in
            if mine and not name.startswith("__"):
                found.setdefault(name, f"{path}.{name}")
    return [found[name] for name in sorted(found, key=str.lower)]


def public_value(path: str) -> Any:
    """What a public name stands for; a module of the same name does not count."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def home(name: str, value: object) -> str:
    """The room in which a public name of `meanbounds` is defined; a module is a room of its own, so it has none."""
    if inspect.ismodule(value) or name.startswith("__"):
        return ""
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(value.__module__).split(".")[1]
    return constant(name)[0].split(".")[1]


def constant(name: str, below: str = "meanbounds") -> tuple[str, str]:
    """The module that makes a constant, and what it says of it: the text after it, or nothing."""
    for path, module in sorted(sys.modules.items()):
        if not f"{path}.".startswith(f"{below}.") or not getattr(module, "__file__", ""):
            continue
        text = inspect.getsource(module)
        if f"\n{name}" not in text:
            continue
        body = ast.parse(text).body
        for statement, after in zip(body, [*body[1:], None], strict=True):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                said = after.value if isinstance(after, ast.Expr) else None
                return path, str(said.value) if isinstance(said, ast.Constant) else ""
    raise SystemExit(f"{below} has the public name {name}, but no module below it makes it")


def write_reference(write: Callable[[str, str], None]) -> str:
    """Write the pages and return the list of them, for docs/reference.md.

    Parameters
    ----------
    write
        Takes the path of a page on the site, and its text.
    """
    lines = []
    for room in ROOMS:
        write(f"api/{room.page}.md", room_page(room))
        names = ", ".join(f"{{py:obj}}`{path.rpartition('.')[2]} <{path}>`" for path in public_names(room))
        lines.append(f"- [{room.title}](api/{room.page}.md): {names}")
    write(f"api/{COMMAND_LINE}.md", command_page())
    commands = ", ".join(f"`{command.name}`" for command in COMMANDS)
    lines.append(f"- [Command line](api/{COMMAND_LINE}.md): {commands}")
    return "\n".join(lines)


def room_page(room: Room) -> str:
    """A page with every public name of a room; Sphinx takes the text from the docstrings."""
    parts = [f"# {room.title}"]
    for module in [f"meanbounds.{name}" for name in room.made_in] or room.modules:
        if hasattr(import_module(module), "__path__") or not room.made_in:
            parts.append(directive("automodule", module, "no-members"))
    for path in public_names(room):
        value, (module, _, name) = public_value(path), path.rpartition(".")
        if inspect.isclass(value):
            text = directive("autoclass", path, "members", "member-order: bysource")
        elif inspect.isroutine(value):
            text = directive("autofunction", path)
        else:
            text = directive("py:data", name, f"module: {module}", body=constant(name, below=module)[1])
        parts.append(text)
    return "\n\n".join(parts) + "\n"


def directive(name: str, argument: str, *options: str, body: str = "") -> str:
    """A directive of reStructuredText, which docstrings are written in."""
    lines = [f".. {name}:: {argument}", *(f"   :{one}:" if ": " not in one else f"   :{one}" for one in options)]
    lines += ["", *(f"   {line}" for line in body.splitlines())]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def command_page() -> str:
    """What `meanbounds --help` and each of its commands say."""
    parts = ["# Command line", "", help_of([])]
    for command in COMMANDS:
        parts += [f"## `meanbounds {command.name}`", "", help_of([command.name])]
    return "\n".join(parts)


def help_of(arguments: list[str]) -> str:
    """The help of a command, as a block of text."""
    printed, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with redirect_stdout(printed), suppress(SystemExit):
            make_parser().parse_args([*arguments, "--help"])
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return f"```text\n{printed.getvalue()}```\n"
