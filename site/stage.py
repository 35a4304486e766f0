"""Lays out what Sphinx reads: README.md, docs/ and all that they link to, in the folders of the tree, so that links hold.

    stage.py ROOT TO

A link to a header leads to its page of the reference, one to another file to a page with its text, one to a folder to its
README.md or to a list of its files.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
from html import unescape

PARTS = (("Use", ("docs/guide", "docs/fencing", "docs/guarantees", "docs/errors", "docs/python", "docs/choosing", "docs/comparison",
                  "docs/operating", "docs/moving", "docs/upgrades", "docs/glossary")),
         ("Stores", ("docs/stores/README",)),
         ("Reference", ("reference/index", "cli/holdfast.1")),
         ("Project", ("CHANGELOG", "SECURITY", "CONTRIBUTING", "docs/architecture", "docs/adr/README", "docs/evidence",
                      "bench/results/README")))
LANGUAGES = {".cpp": "c++", ".hpp": "c++", ".h": "c", ".c": "c", ".sql": "sql", ".lua": "lua", ".py": "python", ".sh": "bash",
             ".json": "json", ".yml": "yaml", ".cmake": "cmake", ".service": "ini", ".conf": "ini"}
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")


class stage:
    def __init__(self, root, to):
        self.root, self.to = root, to
        self.done = {}  # path in the tree: the page that shows it
        self.waiting = []

    def page_of(self, path):
        """The page that shows a file or a folder; it is laid out later."""
        if path not in self.done:
            self.done[path] = self.place(path)
            self.waiting.append(path)
        return self.done[path]

    def place(self, path):
        name = path.name
        if path == pathlib.PurePath("README.md"):
            return "index.md"
        if path.parent == pathlib.PurePath("include/holdfast") and name not in ("holdfast.hpp", "export.hpp"):
            return f"reference/{name}.rst"
        if path == pathlib.PurePath("include/holdfast"):
            return "reference/index.rst"
        if (self.root / path).is_dir():
            return self.page_of(path / "README.md") if (self.root / path / "README.md").exists() else f"{path}/files.rst"
        if path.suffix in (".md", ".svg", ".png"):
            return str(path)
        return f"{path}.rst"

    def write(self, page, text):
        (self.to / page).parent.mkdir(parents=True, exist_ok=True)
        (self.to / page).write_text(text)

    def relative(self, page, of):
        return os.path.relpath(page, pathlib.PurePath(of).parent)

    def document(self, path, page):
        def target(match):
            to, anchor = match.group(1), match.group(2) or ""
            if re.match(r"\w+:", to):
                return match.group(0)
            there = pathlib.PurePath(os.path.normpath(path.parent / to))
            if not (self.root / there).exists():
                sys.exit(f"{path}: the link {to} leads nowhere")
            return self.relative(self.page_of(there), page) + anchor

        parts = re.split(r"(^ *```.*?^ *```$)", (self.root / path).read_text(), flags=re.M | re.S)
        text = "".join(part if number % 2 else LINK.sub(target, part) for number, part in enumerate(parts))
        for image in re.findall(r'<img src="([^"]+)"', text):
            self.page_of(pathlib.PurePath(os.path.normpath(path.parent / image)))
        self.write(page, ("" if self.is_listed(path, page) else "---\norphan: true\n---\n") + text +
                   self.contents(path, page))

    def is_listed(self, path, page):
        return (page == "index.md" or any(page.removesuffix(".md") in pages for _, pages in PARTS)
                or path.name != "README.md" and (self.root / path.parent / "README.md").exists()
                and len(path.parts) > 1)

    def contents(self, path, page):
        """What the side of each page shows. A page that no list names is found by links alone."""
        if page == "index.md":
            return "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"
                           for title, pages in PARTS)
        if path.name == "README.md" and len(path.parts) > 1:
            others = sorted(each.stem for each in (self.root / path.parent).glob("*.md") if each.name != "README.md")
            return "\n```{toctree}\n:hidden:\n\n" + "\n".join(others) + "\n```\n" if others else ""
        return ""

    def source(self, path, page):
        language = LANGUAGES.get(path.suffix, "text")
        if language == "text" and (self.root / path).open("rb").read(2) == b"#!":
            language = "bash"
        title = str(path)
        lines = "".join(f"   {line}".rstrip() + "\n" for line in (self.root / path).read_text().split("\n"))
        self.write(page, f":orphan:\n:nosearch:\n\n{title}\n{'=' * len(title)}\n\n.. code-block:: {language}\n\n{lines}")

    def manual(self, path, page):
        """As mandoc makes HTML of it. The search reads no HTML, so that its words stand there once more, unseen."""
        html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", self.root / path], capture_output=True, text=True,
                              check=True).stdout
        html = re.sub(r"<table class=\"(?:head|foot)\">.*?</table>", "", html, flags=re.S)
        html = re.sub(r"<(/?)h([12])\b", lambda match: f"<{match[1]}h{int(match[2]) + 1}", html)
        words = re.sub(r"([\\*`|_])", r"\\\1", re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))).strip()
        title = f"The command {path.stem}"
        indented = "".join(f"   {line}\n" for line in html.split("\n"))
        self.write(page, f"{title}\n{'=' * len(title)}\n\n.. raw:: html\n\n{indented}\n.. container:: search-text\n\n   {words}\n")

    def folder(self, path, page):
        said = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "."], cwd=self.root / path,
                              capture_output=True, text=True, check=True).stdout.split("\n")
        lines = [f"- :doc:`{each} </{self.page_of(path / each).removesuffix('.rst').removesuffix('.md')}>`"
                 for each in sorted(said) if each and "/" not in each and self.place(path / each).endswith((".md", ".rst"))]
        title = f"{path}/"
        self.write(page, f":orphan:\n:nosearch:\n\n{title}\n{'=' * len(title)}\n\n" + "\n".join(lines) + "\n")

    def lay_out(self, path):
        page = self.done[path]
        if page.startswith("reference/") or (self.root / path).is_dir() and not page.endswith("files.rst"):
            return
        if (self.root / path).is_dir():
            self.folder(path, page)
        elif path.suffix == ".md":
            self.document(path, page)
        elif path.suffix in (".svg", ".png"):
            (self.to / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / path, self.to / page)
        elif path.suffix == ".1":
            self.manual(path, page)
        else:
            self.source(path, page)

    def all(self):
        for each in ("README.md", "CONTRIBUTING.md", *sorted(
                str(p.relative_to(self.root)) for folder in ("docs", "bench/results") for p in
                (self.root / folder).rglob("*.md"))):
            self.page_of(pathlib.PurePath(each))
        self.page_of(pathlib.PurePath("cli/holdfast.1"))
        while self.waiting:
            self.lay_out(self.waiting.pop())
        headers = sorted(each.stem for each in (self.to / "reference").glob("*.rst") if each.stem != "index")
        self.write("reference/index.rst", "Headers\n=======\n\nEach header has a page. ``<holdfast/holdfast.hpp>`` includes all of "
                   "C++ but ``<holdfast/async.hpp>``.\n\n.. toctree::\n   :maxdepth: 1\n\n" +
                   "".join(f"   {each}\n" for each in headers))


stage(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])).all()
