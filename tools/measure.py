"""Print how large the source is: lines, shares of docstrings and comments, the longest files and functions.

Usage: python tools/measure.py [FOLDER ...], `src` if none is given. It needs nothing but Python, so that it can also be
run on an older revision (`git worktree add /tmp/before REVISION`, then `python tools/measure.py /tmp/before/src`).
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LONGEST = 10  # files and functions to list


class Function(NamedTuple):
    """A function or method, and how many lines it has with and without its docstring."""

    lines: int
    code: int
    name: str


class File(NamedTuple):
    """What was counted in one file."""

    path: Path
    lines: int
    blank: int
    docstrings: int
    comments: int
    functions: list[Function]


def measure(path: Path) -> File:
    """Count the lines of a file; a docstring counts with its quotes, a comment also at the end of a line."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    tree = ast.parse(text)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(docstring_lines(node) for node in ast.walk(tree) if isinstance(node, kinds))
    return File(
        path=path,
        lines=len(lines),
        blank=sum(not line.strip() for line in lines),
        docstrings=docstrings,
        comments=comment_lines(text),
        functions=list(functions(tree, path.stem)),
    )


def docstring_lines(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the docstring of a module, class or function; 0 without one."""
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return span(node.body[0])


def span(node: ast.stmt) -> int:
    """From how many lines a statement is made."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def comment_lines(text: str) -> int:
    """Lines with a comment, alone or after code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def functions(node: ast.AST, prefix: str) -> Iterator[Function]:
    """Every function and method inside a node, with its dotted name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield Function(span(child), span(child) - docstring_lines(child), name)
            yield from functions(child, name)
        else:
            yield from functions(child, prefix)


def report(folders: Iterable[Path]) -> str:
    """What `make size` prints."""
    files = [measure(path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    if not files:
        raise SystemExit("there is no Python file in these folders")
    total = sum(file.lines for file in files)

    def share(name: str) -> str:
        count: int = sum(getattr(file, name) for file in files)
        return f"{count:7,} lines {count / total:6.1%}"

    longest_files = sorted(files, key=lambda file: -file.lines)[:LONGEST]
    every = sorted((function for file in files for function in file.functions), key=lambda f: -f.code)
    return "\n".join(
        [
            f"files        {len(files):7,}",
            f"all          {total:7,} lines",
            f"docstrings   {share('docstrings')}",
            f"comments     {share('comments')}",
            f"blank        {share('blank')}",
            f"functions    {len(every):7,}, of {sum(f.code for f in every) / max(len(every), 1):.1f} lines on average",
            "",
            "longest files",
            *(f"{file.lines:7,}  {file.path}" for file in longest_files),
            "",
            "longest functions (without docstring)",
            *(f"{function.code:7,}  {function.name}" for function in every[:LONGEST]),
        ]
    )


if __name__ == "__main__":
    print(report([Path(folder) for folder in sys.argv[1:]] or [Path("src")]))
