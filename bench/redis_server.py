"""A Redis server for the measurement alone: a free port, a temporary folder, gone at the end."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False


# A server counts what scripts call like what clients send. Holdfast's scripts call none of these.
SENT_BY_CLIENTS = ("eval", "fcall", "subscribe", "ssubscribe", "ping", "unsubscribe", "sunsubscribe", "hello", "select",
                   "client", "script", "wait", "scan")


class Server:
    def __init__(self, port, process):
        self._port = port
        self.where = f"127.0.0.1:{port}"
        self.url = f"redis://{self.where}?failover_guard=0"  # it has just started
        self._process = process
        self._cpus = sorted(os.sched_getaffinity(0))

    def commands(self):
        """That clients have sent since it started."""
        return sum(calls for name, calls in self._counters() if name.startswith(SENT_BY_CLIENTS))

    def calls(self):
        """Commands carried out since it started: those that clients have sent, and those that scripts have called."""
        return sum(calls for name, calls in self._counters() if name not in ("info", "quit"))

    def _counters(self):
        """Of each command; this question comes to it as "info" and "quit"."""
        with socket.create_connection(("127.0.0.1", self._port), timeout=10) as connection:
            connection.sendall(b"INFO commandstats\r\nQUIT\r\n")
            said = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return [(name, int(calls)) for name, calls in re.findall(r"cmdstat_(\S+?):calls=(\d+)", said)]

    def regimes(self):
        """Where server and clients run: a name for each way, and how to get there.

        A message between two processes takes several times as long when it wakes another core, and left alone the
        scheduler has it now this way, now that. A ratio says something only where both sides were placed alike.
        """
        ways = {"server and clients on one core": (self._cpus[-1], self._cpus[-1])}
        if len(self._cpus) > 1:
            ways["server on one core, clients on another"] = (self._cpus[-1], self._cpus[0])
        return ways

    @contextlib.contextmanager
    def placed(self, server_cpu, clients_cpu):
        os.sched_setaffinity(self._process.pid, {server_cpu})
        os.sched_setaffinity(0, {clients_cpu})  # inherited by all that is started
        try:
            yield
        finally:
            os.sched_setaffinity(0, self._cpus)
            os.sched_setaffinity(self._process.pid, self._cpus)


@contextlib.contextmanager
def running(forced=False):
    """With `forced`, each write is on the disk before its reply; without, nothing is kept."""
    program = shutil.which("redis-server") or sys.exit("redis-server is not there; scripts/setup installs it")
    with tempfile.TemporaryDirectory(prefix="holdfast-redis-") as folder:
        port = free_port()
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen([program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                                        "--save", "", "--appendonly", "yes" if forced else "no", "--appendfsync",
                                        "always"], stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 10
            while not answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"redis-server does not start:\n{open(f'{folder}/log').read()}")
                time.sleep(0.02)
            yield Server(port, process)
        finally:
            process.terminate()
            process.wait()
