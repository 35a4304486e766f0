"""What the tests of the page share: a store with real holders and waiters, `holdfast serve` on it, and a browser."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from browser import LIMIT, Browser

COMMAND = str(pathlib.Path(os.environ.get("HOLDFAST_COMMAND", "/usr/bin/holdfast")).resolve())

LIVE = "document.querySelector('#connection').dataset.state === 'live'"


def eventually(condition, subject):
    """For what happens outside of the browser."""
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {LIMIT} s: {subject}")
        time.sleep(0.02)
    return value


def end(process, number=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)  # if it is stopped
    try:
        process.wait(LIMIT)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


class Store:
    """A store in a file of its own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.url = "sqlite:locks.db"  # all run in the folder
        self.processes = []
        self.prefix = []  # what starts the command

    def run(self, *arguments, check=True):
        return subprocess.run([COMMAND, *arguments, "--store", self.url], check=check, capture_output=True, text=True,
                              timeout=LIMIT, cwd=self.folder)

    def show(self, name):
        return json.loads(self.run("show", name, "--json").stdout)

    def start(self, name, *options, program="worker", script="exec cat >/dev/null", arguments=()):
        """Starts a process that holds the name until its input ends. Says so by a line."""
        path = self.folder / program
        text = f"#!/bin/sh\necho granted\n{script}\n"
        if not path.exists():
            path.write_text(text)
            path.chmod(0o755)
        elif path.read_text() != text:  # and it may run
            raise AssertionError(f"{program} is another script already")
        command = [*self.prefix, COMMAND, "run", name, *options, "--store", self.url, "--", path, *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.processes.append(process)
        return process

    def hold(self, name, *options, **how):
        process = self.start(name, *options, **how)
        granted(process)
        return process

    def hold_and_later_wait(self, name, other, program):
        """A holder that waits for another name, too, once it is given a line."""
        script = 'read line\nexec "$1" run "$2" --store "$3" -- cat'
        return self.hold(name, program=program, script=script, arguments=(COMMAND, other, self.url))

    def wait_for(self, name, *options, **how):
        """A process in the queue."""
        before = len(self.show(name)["waiters"])
        process = self.start(name, *options, **how)
        eventually(lambda: len(self.show(name)["waiters"]) > before, f"a waiter for {name}")
        return process

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            end(process)


def granted(process):
    line = process.stdout.readline()
    if line != "granted\n":
        raise AssertionError(f"no lock, but {line!r}")


def tell(process):
    process.stdin.write("go on\n")
    process.stdin.flush()


class Server:
    """`holdfast serve`, on a port that is free."""

    def __init__(self, store, *options):
        self._store = store
        self._options = options
        self.log = open(store.folder / "serve.log", "w+")
        self.process = None
        self.url = None
        self.start("127.0.0.1:0")

    def start(self, address):
        self.process = subprocess.Popen([COMMAND, "serve", "--listen", address, "--store", self._store.url, *self._options],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=self._store.folder)
        line = self.process.stdout.readline()
        if not line.startswith("listening on http://"):
            self.log.seek(0)
            raise AssertionError(f"holdfast serve says {line!r} and {self.log.read()!r}")
        self.url = line.split()[-1].rstrip("/")

    def stop(self):
        end(self.process)

    def start_again(self):
        """Where browsers look for it."""
        self.start(self.url.removeprefix("http://"))

    def close(self):
        self.stop()
        self.log.close()


class PageTest(unittest.TestCase):
    """A browser for each class; a store, a server and tabs for each case."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-page-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.store = Store(folder.name)
        self.addCleanup(self.store.close)

    def serve(self, *options):
        server = Server(self.store, *options)
        self.addCleanup(server.close)
        return server

    def open(self, server, path="#/", **options):
        """A tab that shows what the server has."""
        phone = options.pop("phone", False)
        tab = self.browser.open(**options)
        self.addCleanup(tab.close)
        if phone:
            tab.viewport(options["width"], options["height"], phone=True)
        tab.load(f"{server.url}/{path}")
        tab.wait(LIVE)
        return tab

    def assert_quiet(self, tab):
        self.assertEqual(tab.problems, [], "the console has to stay empty")


def rows(tab):
    """The names that the table shows, from top to bottom."""
    return tab.evaluate("[...document.querySelectorAll('.rows .row')].map((row) => row.querySelector('.name').textContent)")


def row(name):
    """The expression of a row, or of nothing."""
    return (f"[...document.querySelectorAll('.rows .row')].find((row) => row.querySelector('.name').textContent"
            f" === {json.dumps(name)})")


def cell(name, column):
    return f"({row(name)})?.querySelector('.{column}').textContent"


def main(**options):
    unittest.main(verbosity=2, **options)
