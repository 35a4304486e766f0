#!/usr/bin/env python3
"""Buttons that change something: only where the server allows it, with its secret, and after a question."""

import json

from dashboard import PageTest, granted, main, row

SECRET = "correct-horse-battery-staple-0123456789"
BUTTONS = "document.querySelectorAll('#detail .buttons button').length"


class Release(PageTest):
    def setUp(self):
        super().setUp()
        self.first = self.store.hold("deploy", program="first")
        self.second = self.store.wait_for("deploy", program="second")

    def open_with_secret(self):
        path = self.store.folder / "secret"
        path.touch(0o600)
        path.write_text(SECRET + "\n")
        tab = self.open(self.serve("--allow-release", "--secret-file", str(path)), "#/lock/deploy")
        tab.wait(f"{BUTTONS} === 2")
        return tab

    def fill(self, tab, field, text):
        tab.evaluate(f"document.querySelector('#action [name={field}]').focus()")
        tab.type(text)

    def test_a_server_that_only_reads_has_no_buttons(self):
        tab = self.open(self.serve(), "#/lock/deploy")
        tab.wait("document.querySelector('#detail .cards')")
        self.assertEqual(tab.evaluate(BUTTONS), 0)

    def test_a_holder_is_asked(self):
        tab = self.open_with_secret()
        tab.click("#detail .buttons button:not(.danger)")
        tab.wait("document.querySelector('#action').open")
        self.fill(tab, "reason", "a <b>deploy</b> waits")
        self.fill(tab, "secret", SECRET)
        tab.press("Enter")
        tab.wait("!document.querySelector('#action').open")
        tab.wait("document.querySelector('#detail .note.asked')?.textContent.includes('a <b>deploy</b> waits')")
        tab.wait(f"({row('deploy')}).querySelector('.state').textContent === 'Release asked'")
        self.assertEqual(self.store.show("deploy")["holders"][0]["release_request"], "a <b>deploy</b> waits")
        self.assert_quiet(tab)

    def test_a_lock_is_taken_away_with_the_right_secret_and_a_tick_only(self):
        tab = self.open_with_secret()
        tab.click("#detail .buttons .danger")
        tab.wait("document.querySelector('#action').open")
        self.fill(tab, "secret", "wrong" * 8)
        tab.press("Enter")  # the box is not ticked
        self.assertTrue(tab.evaluate("document.querySelector('#action').open"))
        self.assertTrue(tab.evaluate("document.querySelector('#action .problem').hidden"))
        tab.click("#action [type=checkbox]")
        tab.click("#action .danger")
        tab.wait("!document.querySelector('#action .problem').hidden")
        self.assertEqual(tab.evaluate("document.querySelector('#action [name=secret]').value"), "")
        self.assertEqual(self.store.show("deploy")["holders"][0]["program"], "holdfast run (first)")

        self.fill(tab, "secret", SECRET)
        tab.click("#action .danger")
        tab.wait("!document.querySelector('#action').open")
        granted(self.second)
        tab.wait("document.querySelector('#detail .cards .program').textContent === 'holdfast run (second)'")
        # The secret is nowhere but in the page's memory.
        stored = json.dumps(tab.evaluate("[{...localStorage}, {...sessionStorage}, document.cookie, location.href]"))
        self.assertNotIn(SECRET, stored)
        self.assertNotIn(SECRET, tab.evaluate("document.documentElement.outerHTML"))
        self.assertFalse(any(SECRET in each for each in tab.requests))


if __name__ == "__main__":
    main()
