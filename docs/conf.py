"""Settings of Sphinx for `make docs`. Nothing is fetched, neither while the site is built nor while it is read."""

import shutil
from importlib import metadata
from pathlib import Path

from sphinx.application import Sphinx

import meanbounds

project, author, release = "meanbounds", "The meanbounds developers", meanbounds.__version__
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx.ext.mathjax"]
exclude_patterns = ["src", "tests", "paper"]  # files that pages link to
default_role, highlight_language, smartquotes = "py:obj", "text", False
add_module_names, toc_object_entries_show_parents = False, "hide"
myst_enable_extensions, myst_heading_anchors = ["dollarmath", "html_image"], 4
autodoc_typehints, autodoc_preserve_defaults, autodoc_member_order = "none", True, "bysource"
napoleon_google_docstring, napoleon_attr_annotations = False, False
napoleon_custom_sections = [("Attributes", "params_style")]  # one text may be about several
python_maximum_signature_line_length = 80
mathjax_path, mathjax_options = "tex-svg.js", {"defer": "defer"}

html_theme, html_title = "pydata_sphinx_theme", "meanbounds"
html_copy_source, html_show_sourcelink = False, False
html_show_search_summary = False  # it would fetch pages, which browsers refuse for files
html_theme_options = {"logo": {"text": "meanbounds"}, "navbar_end": ["theme-switcher"], "footer_end": []}
html_theme_options |= {"secondary_sidebar_items": ["page-toc"], "footer_start": ["copyright"], "show_toc_level": 2}
html_theme_options |= {"header_links_before_dropdown": 5}
html_context, html_css_files, html_sidebars = {"default_mode": "auto"}, ["site.css"], {"**": []}
STYLE = """
.bd-article table:not(.field-list) { display: block; max-width: 100%; overflow-x: auto; }
mjx-container[display="true"] { max-width: 100%; overflow-x: auto; overflow-y: hidden; }
.bd-article code, .bd-article dt.sig, .bd-article h1, .bd-article h2 { overflow-wrap: anywhere; }
.bd-article img { height: auto; max-width: 100%; }
html { --pst-font-size-h1: 2rem; --pst-font-size-h2: 1.6rem; --pst-font-size-h3: 1.3rem; }
"""


def finish(app: Sphinx, error: Exception | None) -> None:
    """Put the style, and the one file of MathJax that is used, beside the site's own files."""
    if error is None:
        static = Path(app.outdir, "_static")
        (static / "site.css").write_text(STYLE, encoding="utf-8")
        (source,) = (file for file in metadata.files("sphinx-mathjax-offline") or [] if file.name == mathjax_path)
        shutil.copyfile(str(source.locate()), static / mathjax_path)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", finish)
