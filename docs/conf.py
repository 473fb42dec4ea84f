"""Settings of Sphinx for the documentation site.

`make docs` copies this file and the pages into one folder, see tools/site. Nothing may be fetched, neither while the
site is built nor while it is read: formulas are drawn by a copy of MathJax that comes with a package.
"""

from __future__ import annotations

import inspect
import re
import shutil
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.inspect import TypeAliasForwardRef
from tools.site.reference import ROOMS, public_names, public_value

project = "meanbounds"
author = "The meanbounds developers"
copyright = author
release = metadata.version("meanbounds")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["extra", "static"]
default_role = "py:obj"
smartquotes = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
highlight_language = "text"

myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 6
myst_links_external_new_tab = False

autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "Integers", "Seed", "Context", "Form")}
python_maximum_signature_line_length = 60
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False  # the signature has the types, as links
napoleon_custom_sections = [("Parameters", "params_style"), ("Attributes", "params_style")]  # one text for `a, b`

# Names in backticks that are no public name stay plain: parameters, words of the field, types of other packages.
nitpick_ignore_regex = [(r"py:(obj|class|data|exc)", r"(?!meanbounds\.|mb\.).*")]

mathjax_path = "mathjax/tex-svg.js"
mathjax_options = {"defer": "defer"}
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "none", "scale": 0.92}}

html_theme = "pydata_sphinx_theme"
html_title = "meanbounds"
html_static_path = ["static"]
html_extra_path = ["extra"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch every page that is found, which a browser refuses for files
html_theme_options = {
    "logo": {"text": "meanbounds"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

PUBLIC: dict[str, str] = {}  # the public name of what is defined elsewhere, such as meanbounds.bounds.MeanBounds
for room in ROOMS:
    for path in public_names(room):
        value = public_value(path)
        if inspect.isclass(value) or inspect.isroutine(value):
            PUBLIC[f"{value.__module__}.{value.__qualname__}"] = path


def to_public_name(app: Sphinx, env: BuildEnvironment, node: Any, content: nodes.TextElement) -> nodes.Element | None:
    """Lead a reference to the place where something is defined to the page where it is public.

    A name that exists but has no page stays plain; one that does not exist is an error.
    """
    target = re.sub(r"^mb\b", "meanbounds", str(node.get("reftarget", "")))
    if node.get("refdomain") != "py" or not target.startswith("meanbounds."):
        return None
    domain, public = env.domains.python_domain, PUBLIC.get(target, target)
    found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, content)
    return content if found is None and exists(target) else found


def exists(path: str) -> bool:
    """Whether there is something of this name that is not public, such as a module or a type of an argument."""
    try:
        resolve_name(path)
    except (ImportError, AttributeError):
        return False
    return True


def mend_lines(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """A colon after the name of a parameter, instead of two hyphens; a page that a docstring names becomes a link."""
    del app, what, name, value, options
    lines[:] = [re.sub(r"(\*\*[^*]+\*\*) -- ", r"\1: ", line) for line in lines]
    lines[:] = [re.sub(r"(?<![\w/`])docs/(\w+)\.md", r":doc:`\1.md </\1>`", line) for line in lines]


def whole_options(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """Keep each option of a command on one line: a browser would break it after a hyphen."""
    del app, page, template, doctree

    def kept(block: re.Match[str]) -> str:
        return re.sub(r"(?<=\s)--?[\w-]+", r'<span class="whole">\g<0></span>', block[0])

    if "body" in context:
        blocks = r'<div class="highlight-console .*?</pre>'
        context["body"] = re.sub(blocks, kept, context["body"], flags=re.DOTALL)


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put the one file of MathJax that is used beside the site's own."""
    if error is None:
        files = metadata.files("sphinx-mathjax-offline") or []
        (source,) = (file for file in files if file.name == "tex-svg.js")
        target = Path(app.outdir, "_static", mathjax_path)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(str(source.locate()), target)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # short names of types show as they are written
    app.connect("missing-reference", to_public_name)
    app.connect("autodoc-process-docstring", mend_lines, priority=600)  # after napoleon
    app.connect("html-page-context", whole_options)
    app.connect("build-finished", copy_mathjax)
