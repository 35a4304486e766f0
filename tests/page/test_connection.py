#!/usr/bin/env python3
"""A server that ends, hangs or comes back, and a store that does: the page says so, and goes on by itself."""

import signal
import socket
import subprocess
import unittest

from dashboard import LIVE, PageTest, cell, end, eventually, main, row

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


class NoStreamLeft(PageTest):
    def test_a_page_that_gets_no_stream_says_so_and_shows_the_locks_all_the_same(self):
        self.store.hold("held")
        server = self.serve()
        host, port = server.url.removeprefix("http://").split(":")
        for _ in range(32):
            other = socket.create_connection((host, int(port)))
            self.addCleanup(other.close)
            other.sendall(f"GET /api/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            self.assertIn(b" 200 ", other.recv(64))
        tab = self.browser.open()
        self.addCleanup(tab.close)
        tab.load(f"{server.url}/#/")
        tab.wait("document.querySelector('#connection').dataset.state === 'polled'")
        self.assertIn("too many streams of events are open", tab.text("#lost-text"))
        tab.wait(row("held"))
        self.assertEqual(tab.text("[data-tile=held] .value"), "1")


# Answers that the test holds back: `held` has those of a path, and `let(path)` gives them. Short pauses are none.
HOLD_BACK = """(() => {
    const real = {fetch: window.fetch.bind(window), setTimeout: window.setTimeout.bind(window)};
    window.held = {};
    window.fetch = async (path, options) => {
        const kind = String(path).match(/^\\/api\\/(?:why|locks)\\/=[^\\/]*/)?.[0];
        if (kind === undefined || String(path).endsWith('/timeline')) return real.fetch(path, options);
        await new Promise((go_on, give_up) => {
            (window.held[kind] ??= []).push(go_on);
            options.signal.addEventListener('abort', () => give_up(options.signal.reason));
        });
        return real.fetch(path, options);
    };
    window.let = (kind) => window.held[kind].forEach((go_on) => go_on());
    window.setTimeout = (call, pause) => real.setTimeout(call, pause < 1000 ? 0 : pause);
})()"""
LOCK = "/api/locks/=before"


class SlowAnswers(PageTest):
    def setUp(self):
        super().setUp()
        self.store.hold("before")
        self.tab = self.open(self.serve())
        self.tab.wait(row("before"))
        self.tab.evaluate(HOLD_BACK)
        self.tab.evaluate("location.hash = '#/lock/before'")
        self.tab.wait(f"held['{LOCK}'] && held['/api/why/=before']")

    def test_about_the_chain_keep_nobody_from_the_holders(self):
        self.tab.evaluate(f"window.let('{LOCK}')")
        self.tab.wait("document.querySelector('#detail .cards .program')")
        self.assertIn("Reading the queues", self.tab.text("#detail .drawing"))
        self.tab.evaluate("window.let('/api/why/=before')")
        self.tab.wait("document.querySelectorAll('.chain .node').length === 2")
        self.assert_quiet(self.tab)

    def test_are_not_given_up_for_newer_ones(self):
        self.store.wait_for("before")
        self.tab.wait(f"{cell('before', 'waiters')} === '1'")
        # Whatever was to be asked because of this change has been asked now.
        self.tab.evaluate("new Promise((next) => setTimeout(() => setTimeout(next, 0), 0))")
        self.assertEqual(self.tab.evaluate(f"held['{LOCK}'].length"), 1)
        self.tab.evaluate(f"window.let('{LOCK}')")
        self.tab.wait("document.querySelector('#detail .cards .program')")
        # And asked again afterwards, for the change.
        self.tab.wait(f"held['{LOCK}'].length === 2")
        self.assert_quiet(self.tab)


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
