"""How Sphinx builds the book, out of the folder that `python -m tools.book` puts together."""

from __future__ import annotations

from sphinx.pycode import ModuleAnalyzer

import regard
from tools.book_docstrings import as_rst

project = "Regard"
author = "the Regard project"
version = release = regard.__version__
html_title = "Regard"
project_copyright = "the Regard project, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["scratch"]
myst_enable_extensions = ["attrs_inline", "attrs_block", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"
smartquotes = False  # a docstring's quotes are often those of code
highlight_language = "text"
pygments_style = "tango"
pygments_dark_style = "github-dark"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # which a browser fetches, and of files on a disk it fetches none
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-background-primary": "#fbf9f5",
        "color-background-secondary": "#f4f0e8",
        "color-background-hover": "#ece6da",
        "color-background-border": "#e2dbcd",
        "color-foreground-primary": "#1c1a17",
        "color-foreground-secondary": "#5f594f",
        "color-foreground-muted": "#6b655c",
        "color-foreground-border": "#8d8576",
        "color-brand-primary": "#1f5f96",
        "color-brand-content": "#1f5f96",
        "color-brand-visited": "#6a3d96",
        "color-code-background": "#f4f0e8",
    },
    "dark_css_variables": {
        "color-background-primary": "#191714",
        "color-background-secondary": "#211e1a",
        "color-background-hover": "#2b2722",
        "color-background-border": "#38332c",
        "color-foreground-primary": "#ece7de",
        "color-foreground-secondary": "#c4bcae",
        "color-foreground-muted": "#a59d90",
        "color-foreground-border": "#7d756a",
        "color-brand-primary": "#7fbcec",
        "color-brand-content": "#7fbcec",
        "color-brand-visited": "#c3a2ec",
        "color-code-background": "#211e1a",
    },
}


def rewrite_docstring(app, what, name, what_it_is, options, lines) -> None:  # type: ignore[no-untyped-def]
    """Docstrings are plain text; Sphinx asks here before it reads them as reStructuredText."""
    lines[:] = as_rst(lines)


def show_overloads_once() -> None:
    """The pages give the signature that says of all overloads what may be given; Sphinx would list each of them."""
    analyze = ModuleAnalyzer.analyze

    def analyze_without(self: ModuleAnalyzer) -> None:
        analyze(self)
        self.overloads = {}

    ModuleAnalyzer.analyze = analyze_without  # type: ignore[method-assign]


def setup(app) -> None:  # type: ignore[no-untyped-def]
    show_overloads_once()
    app.connect("autodoc-process-docstring", rewrite_docstring)
