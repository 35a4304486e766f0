"""Mends what Debian's package of the theme furo has lost when it was made, in a site that Sphinx has written.

    finish.py SITE
"""
import pathlib
import re
import sys

NORMALIZE = pathlib.Path("/usr/share/javascript/normalize.css/normalize.min.css")

static = pathlib.Path(sys.argv[1]) / "_static"
style = static / "styles/furo.css"
text = style.read_text()
# It is taken from a folder of Debian's web servers.
text = re.sub(r"@import url\(/javascript/normalize\.css/[^)]*\);", lambda _: NORMALIZE.read_text(), text)
# The dark scheme is there, but not for readers whose system is dark.
if "prefers-color-scheme" not in text:
    dark = re.search(r'^  body\[data-theme="dark"\] \{(.*?)\}', text, flags=re.M | re.S)[1]
    text += ('\n@media not print { @media (prefers-color-scheme: dark) { body:not([data-theme="light"]) {' + dark + "} } }\n")
style.write_text(text)
# A module was not joined with the one that it imports, and is no module for the page.
script = static / "scripts/furo.js"
lines = script.read_text().split("\n")
if imported := re.fullmatch(r'import Gumshoe from "\./(.*)";', lines[0]):
    script.write_text((script.parent / imported[1]).read_text() + "\n".join(lines[1:]))
