#!/usr/bin/env python3
"""A lock that another library has set: the page shows what the store knows of it, and offers nothing that cannot be done."""

import subprocess
import unittest

from dashboard import PageTest, cell, end, eventually, main

NODES = "[...document.querySelectorAll('.chain .node')].map((node) => node.textContent)"
FACTS = "Object.fromEntries([...document.querySelectorAll('#detail .facts > div')].map((fact) =>" \
        " [fact.querySelector('dt').textContent, fact.querySelector('dd').textContent]))"


class ForeignLocks(PageTest):
    def setUp(self):
        super().setUp()
        self.socket = self.store.folder / "redis.sock"
        redis = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                                  "--dir", self.store.folder], stdout=subprocess.DEVNULL)
        self.addCleanup(end, redis)
        eventually(self.socket.exists, "the socket of redis-server")
        self.store.url = f"unix:{self.socket}?failover_guard=0s"
        self.ask("SET", "holdfast:x", "theirs")
        self.ask("SET", "holdfast:y", "theirs", "PX", "3600000")

    def ask(self, *words):
        subprocess.run(["redis-cli", "-s", self.socket, *words], check=True, stdout=subprocess.DEVNULL)

    def open_lock(self, name):
        path = self.store.folder / "secret"
        path.touch(0o600)
        path.write_text("correct-horse-battery-staple-0123456789\n")
        tab = self.open(self.serve("--allow-release", "--secret-file", str(path)), f"#/lock/{name}")
        tab.wait(f"{NODES}.length === 2 && document.querySelector('#detail .facts')")
        return tab

    def test_have_no_invented_figures_and_no_buttons(self):
        tab = self.open_lock("x")
        self.assertEqual(tab.evaluate(FACTS), {"held for": "–", "expires in": "does not expire", "mode": "exclusive",
                                               "token": "–"})
        self.assertEqual(tab.evaluate("document.querySelectorAll('#detail .buttons button').length"), 0)
        holder = tab.evaluate(NODES)[1]
        self.assertIn("a client of another library", holder)
        self.assertIn("holds it; does not expire", holder)
        self.assertNotIn("waits for no lock", holder)
        self.assertEqual(tab.evaluate(cell("x", "held")), "–")
        self.assertEqual(tab.text("[data-tile=hold] .value"), "–")
        self.assert_quiet(tab)

    def test_have_the_expiry_that_their_library_has_set(self):
        tab = self.open_lock("y")
        self.assertRegex(tab.evaluate(FACTS)["expires in"], r"^59m|^1h")
        self.assertRegex(tab.evaluate(NODES)[1], r"holds it; expires in (59m|1h)")
        self.assert_quiet(tab)


if __name__ == "__main__":
    main()
