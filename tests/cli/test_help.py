"""Every option of every command explains itself."""

from __future__ import annotations

import argparse
import re

import pytest

from meanbounds.cli import COMMANDS, main, make_parser

UNITS = re.compile(r"reward units|probability|share of|number of|whole number|reward that are possible|mean reward")
EXAMPLE = re.compile(r"for example|such as|default: \S|--list")


def commands() -> dict[str, argparse.ArgumentParser]:
    (action,) = (a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def options() -> list[tuple[str, argparse.Action]]:
    return [
        (f"{name} {'/'.join(action.option_strings) or action.dest}", action)
        for name, parser in commands().items()
        for action in parser._actions
    ]


def test_there_is_a_parser_for_each_command() -> None:
    assert list(commands()) == [command.name for command in COMMANDS]
    of_logs = ["bounds", "sensitivity", "refute", "explain", "start", "decide", "reward", "evaluate"]
    of_services = ["serve", "token", "verify", "export", "clinic"]
    assert list(commands()) == ["demo", "lab", *of_logs, "simulate", "reproduce", "proxy", "prune", *of_services]


@pytest.mark.parametrize(("name", "action"), options())
def test_every_option_has_help(name: str, action: argparse.Action) -> None:
    assert action.help, name
    assert len(action.help.split()) >= 3, name


@pytest.mark.parametrize(
    ("name", "action"), [(name, action) for name, action in options() if action.nargs != 0 and not action.choices]
)
def test_every_option_with_a_value_shows_one(name: str, action: argparse.Action) -> None:
    assert EXAMPLE.search(action.help or ""), name


@pytest.mark.parametrize(
    ("name", "action"), [(name, action) for name, action in options() if action.type in (int, float)]
)
def test_every_quantity_names_its_unit(name: str, action: argparse.Action) -> None:
    assert UNITS.search(action.help or ""), name
    assert re.search(r"\d", action.help or ""), name


def test_quantities_are_found() -> None:
    """The two tests above look at what they should."""
    names = {name for name, action in options() if action.type in (int, float)}
    assert {"bounds --gap-low", "sensitivity --shift", "bounds --range", "proxy mean", "lab --rows"} <= names


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_help_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each text can be formatted (a bare % cannot), and ends with an example."""
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert f"example:\n  meanbounds {name}" in said


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_example_of_each_command_is_one(command: object) -> None:
    example = next(c.example for c in COMMANDS if c is command)
    program, *arguments = example.split()
    assert program == "meanbounds"
    assert make_parser().parse_args(arguments).command is command
