# Sphinx's settings for the documentation site; scripts/site calls it.
import pathlib

from sphinx.domains.c import CDomain
from sphinx.domains.cpp import CPPDomain

project = "Holdfast"
copyright = "The Holdfast authors"
version = release = (pathlib.Path(__file__).parent.parent / "VERSION").read_text().strip()
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as forges make them
myst_enable_extensions = ["html_image"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
html_theme = "furo"  # light and dark, as the reader's system has it, and without anything from another host
html_title = f"Holdfast {version}"
html_static_path = ["static"]
html_css_files, html_js_files = ["holdfast.css"], ["holdfast.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "native"
smartquotes = False  # options begin with --
add_function_parentheses = False
toc_object_entries_show_parents = "hide"
suppress_warnings = ["misc.highlighting_failure"]  # an ellipsis in a snippet


class cpp_domain(CPPDomain):
    """Parameters would be most of what a search for a function shows."""

    def get_objects(self):
        for each in super().get_objects():
            yield (*each[:5], -1) if "Param" in each[2] else each


class c_domain(CDomain):
    def get_objects(self):
        for each in super().get_objects():
            yield (*each[:5], -1) if "Param" in each[2] else each


def setup(app):
    app.add_domain(cpp_domain, override=True)
    app.add_domain(c_domain, override=True)
