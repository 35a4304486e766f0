#!/usr/bin/env python3
"""The documentation site.

    tests/release/site.py reference        Doxygen reads the headers without a warning, and each public function has an entry
    tests/release/site.py whole LIBRARY    scripts/site builds it; each function that the headers declare and the library
                                           exports has an anchor; no link is dead; in a browser it is searched, and is dark
                                           for those who have it so

It needs Doxygen and Sphinx, and `whole` a Chromium: scripts/setup installs them.
"""
import hashlib
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "build/site"
sys.dont_write_bytecode = True
sys.path += [str(ROOT / "tests/tree"), str(ROOT / "tests/page")]
import browser  # noqa: E402
import declarations  # noqa: E402


def public_functions():
    """(header, scope, name) of each; the members of detail/locks.hpp are those of the lock types."""
    found = []
    for header in [*sorted((ROOT / "include/holdfast").glob("*.h*")), ROOT / "include/holdfast/detail/locks.hpp"]:
        for each in declarations.declarations(header.read_text()):
            shared = header.parent.name == "detail"
            if (each.kind == "function" and each.is_public and "std" not in each.scope and each.words[-1:] != ["delete"]
                    and ("detail" in each.scope) == shared and not each.name.startswith("operator")
                    and "~" not in each.name):
                found.append((header.name, each.scope, each.name))
    return found


class reference(unittest.TestCase):
    def test_each_function_has_an_entry(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = (ROOT / "site/Doxyfile").read_text() + f"INPUT = include/holdfast\nOUTPUT_DIRECTORY = {folder}\n"
            read = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            self.assertEqual((read.returncode, read.stdout), (0, ""))
            subprocess.run([sys.executable, "-B", ROOT / "site/reference.py", f"{folder}/xml", ROOT / "include/holdfast",
                            f"{folder}/pages"], check=True)
            entries = {}
            for page in pathlib.Path(folder, "pages").glob("*.rst"):
                signatures = re.findall(r"^ *\.\. (?:cpp|c):function:: ((?:.*\n)(?: {20,}\S.*\n)*)", page.read_text(), flags=re.M)
                entries[page.stem] = set(re.findall(r"(\w+) ?\(", "".join(signatures)))
        functions = public_functions()
        self.assertGreater(len(functions), 200)
        everywhere = set().union(*entries.values())
        missing = [f"{header}: {name}" for header, _, name in functions
                   if name not in (everywhere if header == "locks.hpp" else entries[header])]
        self.assertEqual(missing, [])


class page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.resources, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors |= {of[each] for each in ("id", "name") if of.get(each)}
        if tag == "a" and of.get("href"):
            self.links.append(of["href"])
        elif tag == "link" and of.get("rel") not in ("next", "prev", "index", "search") and of.get("href"):
            self.resources.append(of["href"])
        elif of.get("src"):
            self.resources.append(of["src"])


class whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = subprocess.run([ROOT / "scripts/site"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if built.returncode:
            raise AssertionError(built.stdout)
        cls.pages = {each.relative_to(SITE): page(each.read_text()) for each in SITE.rglob("*.html")}
        lines = zlib.decompress((SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode().splitlines()
        cls.objects = {}  # {(domain, name): the file, the anchor}
        for line in lines:
            name, kind, _, place, _ = re.fullmatch(r"(.+?) (\S+:\S+) (-?\d+) (\S*) (.*)", line).groups()
            file, _, anchor = place.partition("#")
            cls.objects.setdefault((kind.split(":")[0], name), []).append((file, anchor.replace("$", name)))
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def anchored(self, domain, name):
        places = self.objects.get((domain, name), [])
        return bool(places) and all(anchor in self.pages[pathlib.PurePath(urllib.parse.unquote(file))].anchors
                                    for file, anchor in places)

    def test_each_declared_function_has_an_anchor(self):
        of_locks = {name.rpartition("::")[2] for domain, name in self.objects if domain == "cpp"}
        missing = []
        for header, scope, name in public_functions():
            if header == "locks.hpp":
                there = name in of_locks
            else:
                there = self.anchored("c" if header == "holdfast.h" else "cpp", "::".join(filter(None, (*scope, name))))
            if not there:
                missing.append(f"{header}: {'::'.join(filter(None, (*scope, name)))}")
        self.assertEqual(missing, [])

    def test_each_exported_function_has_an_anchor(self):
        names = subprocess.run(["nm", "-D", "-C", "--defined-only", "--without-symbol-versions", LIBRARY],
                               stdout=subprocess.PIPE, text=True, check=True).stdout
        exported = {(("cpp" if "::" in name else "c"), name) for name in
                    re.findall(r"^\w+ [TW] (holdfast(?:::(?!detail)\w+)*(?:::\w+|_\w+))(?:\[abi:\w+\])?(?:\(|@|$)", names, flags=re.M)}
        self.assertGreater(len(exported), 100)
        private = {"::".join((*each.scope, each.name)) for header in (ROOT / "include/holdfast").glob("*.hpp")
                   for each in declarations.declarations(header.read_text()) if not each.is_public}
        missing = sorted(name for domain, name in exported if name not in private and not self.anchored(domain, name))
        self.assertEqual(missing, [])

    def test_no_link_is_dead(self):
        dead, count = [], 0
        for name, each in self.pages.items():
            for link in each.links + each.resources:
                if re.match(r"\w+:", link):
                    continue
                count += 1
                to, _, anchor = link.partition("#")
                there = pathlib.PurePath(os.path.normpath(name.parent / urllib.parse.unquote(to.partition("?")[0]))) if to else name
                if not (SITE / there).is_file():
                    dead.append(f"{name}: {link}")
                elif anchor and there in self.pages and urllib.parse.unquote(anchor) not in self.pages[there].anchors:
                    dead.append(f"{name}: {link}: no such anchor")
        self.assertGreater(count, 5000)
        self.assertEqual(sorted(set(dead)), [])

    def test_two_builds_are_equal(self):
        def digests():
            return {each.relative_to(SITE): hashlib.sha256(each.read_bytes()).hexdigest()
                    for each in SITE.rglob("*") if each.is_file()}

        before = digests()
        subprocess.run([ROOT / "scripts/site"], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(digests(), before)

    def test_nothing_comes_from_another_host(self):
        self.assertEqual([(str(name), each) for name, found in self.pages.items() for each in found.resources
                          if re.match(r"(https?:)?//", each)], [])
        for each in SITE.rglob("*.css"):
            self.assertNotRegex(each.read_text(), r"(url\(|@import )[\"']?(https?:)?/", each)

    def look(self, address, dark=False, width=1440):
        tab = self.browser.open(width=width, dark=dark)
        self.addCleanup(tab.close)
        tab.load(f"{SITE.as_uri()}/{address}")
        self.addCleanup(lambda: self.assertEqual([each for each in tab.requests if not each.startswith(("file:", "data:"))], []))
        self.addCleanup(lambda: self.assertEqual([each for each in tab.problems if not each.startswith("log:")], []))
        return tab

    def test_a_search_finds_a_function(self):
        tab = self.look("index.html")
        tab.evaluate("document.querySelector('input[name=q]').focus()")
        tab.type("try_acquire_for")
        tab.press("Enter")
        wanted = "a[href*='reference/mutex.hpp.html#'][href*='try_acquire_for']"
        tab.wait(f"document.querySelector(\"ul.search {wanted}\")")
        tab.click(f"ul.search {wanted}")
        tab.wait("location.pathname.endsWith('/reference/mutex.hpp.html') && document.readyState === 'complete'")
        self.assertIn("try_acquire_for(const std::chrono::duration",
                      tab.evaluate("document.getElementById(decodeURIComponent(location.hash.slice(1))).innerText"))

    def test_a_search_finds_an_option_of_the_command(self):
        tab = self.look("search.html?q=also-flock")
        tab.wait("document.querySelector(\"ul.search a[href*='cli/holdfast.1.html']\")")

    def test_it_is_as_dark_as_its_reader_likes(self):
        brightness = """(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g);
                                 return (+r + +g + +b) / 765; })()"""
        light, dark = self.look("docs/guide.html"), self.look("docs/guide.html", dark=True)
        self.assertGreater(light.evaluate(brightness), 0.9)
        self.assertLess(dark.evaluate(brightness), 0.2)
        for _ in range(3):  # light, dark, as the system has it
            if light.evaluate("document.body.dataset.theme") == "dark":
                break
            light.evaluate("[...document.querySelectorAll('.theme-toggle')].find((each) => each.offsetParent).click()")
        self.assertLess(light.evaluate(brightness), 0.2)

    def test_no_page_is_wider_than_a_phone(self):
        for address in ("index.html", "docs/guide.html", "docs/guarantees.html", "reference/mutex.hpp.html",
                        "reference/holdfast.h.html", "cli/holdfast.1.html"):
            tab = self.look(address, width=360)
            self.assertLessEqual(tab.evaluate("document.documentElement.scrollWidth"), 360, address)


if __name__ == "__main__":
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    if part == "whole" and len(sys.argv) == 3:
        LIBRARY = sys.argv[2]
    elif part != "reference":
        sys.exit(__doc__)
    unittest.main(argv=[sys.argv[0], part])
