#!/usr/bin/env python3
"""Whoever may take a lock chooses its name and label. Neither becomes markup, nor disguises another text."""

import json
import os
import subprocess
from urllib.parse import quote

from browser import LIMIT
from dashboard import COMMAND, PageTest, main, row, tell

MARKUP = "<img src=x onerror=\"window.injected = 1\">"
CLOSING = "</script><script>window.injected = 1</script><!--"
ENTITY = "&lt;b&gt;&quot;' onmouseover='window.injected = 1"
TEMPLATE = "${window.injected = 1}{{constructor}}"
TURNED = "invoice\u202egpj.exe"
HIDDEN = "pay\u200bments\ufeff\u3164\u2800"
HEBREW = "מנעול/שלי"
LONG = "x" * 255
LONGEST = "é" * 256  # 512 bytes
PATH = "../../api/status?a=b#c%2f%00"
PROTOTYPE = "__proto__"
HERE = "."
ABOVE = ".."
MARK = "="
MARKED = "=.."

# How the page has to show them.
SHOWN = {MARKUP: MARKUP, CLOSING: CLOSING, ENTITY: ENTITY, TEMPLATE: TEMPLATE, TURNED: "invoice\\u{202e}gpj.exe",
         HIDDEN: "pay\\u{200b}ments\\u{feff}\\u{3164}\\u{2800}", HEBREW: HEBREW,
         LONG: LONG, LONGEST: LONGEST, PATH: PATH, PROTOTYPE: PROTOTYPE, HERE: HERE, ABOVE: ABOVE,
         MARK: MARK, MARKED: MARKED}


class Hostile(PageTest):
    def assert_clean(self, tab):
        self.assertIsNone(tab.evaluate("window.injected ?? null"))
        self.assertEqual(tab.evaluate("document.querySelectorAll('main img, main script, main b, main iframe').length"), 0)
        self.assertEqual(tab.evaluate("[...document.querySelectorAll('main *')].flatMap((each) => each.getAttributeNames())"
                                      ".filter((name) => name.startsWith('on'))"), [])
        self.assert_quiet(tab)

    def test_names_and_labels_are_text_wherever_they_stand(self):
        for name in SHOWN:
            self.store.hold(name, "--label", MARKUP[:120])
        self.store.wait_for(MARKUP, "--label", CLOSING)
        tab = self.open(self.serve())
        for name, shown in SHOWN.items():
            tab.wait(row(shown))
        self.assert_clean(tab)
        for name, shown in SHOWN.items():
            with self.subTest(name=shown):
                tab.evaluate(f"location.hash = {json.dumps('#/lock/' + quote(name, safe=''))}")
                tab.wait(f"document.querySelector('#detail h2')?.textContent === {json.dumps(shown)}")
                tab.wait("document.querySelector('.chain .node') && document.querySelector('#detail .cards')")
                self.assertEqual(tab.text("#detail .cards .label"), MARKUP[:120])
                self.assertTrue(tab.evaluate("document.querySelector('#detail .problem').hidden"))
                self.assertLessEqual(tab.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
                self.assert_clean(tab)

    def lock_up(self, name):
        """Two processes that wait for each other. The second has the lock of this name, which was granted last."""
        script = 'read line\nexec "$1" run "$2" "--and=$3" --store "$4" -- cat'
        first = self.store.hold("b", program="first", script=script, arguments=(COMMAND, "zz", name, self.store.url))
        # The command takes a name with a dash only so.
        script = 'read line\nexec "$1" run "$2" --store "$3" -- cat'
        second = self.store.hold("+a", f"--and={name}", program="second", script=script,
                                 arguments=(COMMAND, "b", self.store.url))
        for process in (first, second):
            tell(process)

    def test_the_command_that_ends_a_deadlock_takes_no_name_for_an_option(self):
        self.lock_up("--store=redis://it's.evil")
        tab = self.open(self.serve(), "#/deadlocks")
        tab.wait("document.querySelector('.deadlock pre')")
        command = tab.text(".deadlock pre")
        self.assertRegex(command, r"^holdfast release --force --token \d+ --store 'sqlite:/[^']+/locks\.db'"
                                  r" -- '--store=redis://it'\\''s\.evil'$")
        # Pasted into a shell elsewhere, it ends the deadlock.
        where = {**os.environ, "PATH": f"{os.path.dirname(COMMAND)}:/usr/bin:/bin"}
        subprocess.run(["sh", "-c", command], check=True, cwd="/", env=where,
                       timeout=LIMIT, capture_output=True)
        tab.wait("document.querySelector('.verdict')?.dataset.kind === 'good'")
        self.assert_clean(tab)

    def test_no_command_is_shown_with_a_name_that_does_not_show_as_it_is(self):
        self.lock_up(TURNED)
        tab = self.open(self.serve(), "#/deadlocks")
        tab.wait("document.querySelector('.deadlock .members')")
        text = tab.text(".deadlock")
        self.assertIn(f": that of {SHOWN[TURNED]}, token ", text)
        self.assertIn("No command for it can be pasted", text)
        self.assertFalse(tab.evaluate("document.querySelector('.deadlock pre') !== null"))
        self.assert_clean(tab)

    def test_the_browser_itself_refuses_markup_from_text_code_in_attributes_and_foreign_resources(self):
        tab = self.open(self.serve())
        for attempt in ("document.body.insertAdjacentHTML('beforeend', '<b>')",
                        "document.body.setAttribute('onclick', 'window.injected = 1')",
                        "document.createElement('script').textContent = 'window.injected = 1'"):
            with self.subTest(attempt=attempt):
                script = f"(() => {{ try {{ {attempt}; return 'taken'; }} catch (error) {{ return error.name; }} }})()"
                self.assertEqual(tab.evaluate(script), "TypeError")
        tab.problems.clear()
        directive = tab.evaluate("""new Promise((resolve) => {
            document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
            const image = document.createElement('img');
            image.src = 'http://127.0.0.1:1/foreign';
            document.body.append(image);
        })""")
        self.assertEqual(directive, "img-src")
        self.assertIn("Content Security Policy", tab.problems[0])


if __name__ == "__main__":
    main()
