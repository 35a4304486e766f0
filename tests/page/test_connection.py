#!/usr/bin/env python3
"""A server that ends, hangs or comes back, and a store that does: the page says so, and goes on by itself."""

import shutil
import signal
import subprocess
import unittest

from dashboard import LIVE, PageTest, end, eventually, main, row

LOST = "!document.querySelector('#lost').hidden && document.querySelector('#connection').dataset.state === 'lost'"


class Connection(PageTest):
    def setUp(self):
        super().setUp()
        self.store.hold("before")
        self.server = self.serve()
        self.tab = self.open(self.server)
        self.tab.wait(row("before"))
        self.tab.evaluate("window.sameDocument = true")

    def assert_recovers(self):
        self.tab.wait(LIVE)
        self.tab.wait("document.querySelector('#lost').hidden")
        self.tab.wait(row("meanwhile"))
        self.assertTrue(self.tab.evaluate("window.sameDocument"))
        # A connection that fails is told to the console by the browser itself; no script may add to that.
        self.assertEqual([each for each in self.tab.problems if not each.startswith("network error")], [])

    def test_a_server_that_is_started_again(self):
        self.server.stop()
        self.tab.wait(LOST)
        self.assertIn("It reconnects by itself", self.tab.text("#lost"))
        self.assertTrue(self.tab.evaluate(f"Boolean({row('before')})"), "what was known stays on the page")
        self.store.hold("meanwhile")
        self.server.start_again()
        self.assert_recovers()

    def test_a_server_that_hangs(self):
        self.server.process.send_signal(signal.SIGSTOP)
        self.tab.wait(LOST)
        self.store.hold("meanwhile")
        self.server.process.send_signal(signal.SIGCONT)
        self.assert_recovers()

    def test_ages_stand_still_while_nobody_knows(self):
        self.server.stop()
        self.tab.wait(LOST)
        held = f"({row('before')}).querySelector('.held').textContent"
        self.tab.wait("Number.parseInt(document.querySelector('#lost-for').textContent.slice(4)) >= 1")
        stopped_at = self.tab.evaluate(held)
        self.tab.wait("Number.parseInt(document.querySelector('#lost-for').textContent.slice(4)) >= 4")
        self.assertEqual(self.tab.evaluate(held), stopped_at)


@unittest.skipUnless(shutil.which("redis-server"), "needs redis-server")
class OutageOfTheStore(PageTest):
    def start_redis(self):
        socket = self.store.folder / "redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", self.store.folder]
        redis = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.addCleanup(end, redis)
        eventually(socket.exists, "the socket of redis-server")
        return redis

    def test_a_store_that_does_not_answer_is_told_apart_from_a_server_that_does_not(self):
        redis = self.start_redis()
        self.store.url = f"unix:{self.store.folder / 'redis.sock'}?failover_guard=0s"
        tab = self.open(self.serve())
        self.store.hold("before", "--ttl", "10m")
        tab.wait(row("before"))
        end(redis)
        tab.wait("!document.querySelector('#store-error').hidden")
        self.assertIn("The store does not answer", tab.text("#store-error"))
        self.assertEqual(tab.text("#connection"), "Store does not answer")
        self.assertTrue(tab.evaluate("document.querySelector('#lost').hidden"))
        self.start_redis()
        tab.wait(LIVE)
        tab.wait("document.querySelector('#store-error').hidden")
        self.store.hold("after", "--ttl", "10m")
        tab.wait(row("after"))
        self.assert_quiet(tab)


if __name__ == "__main__":
    main()
