"""A PostgreSQL for the measurement alone: a free port, a temporary folder, gone at the end."""

import contextlib
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import tempfile
import time

from redis_server import free_port


def programs():
    """Of the newest server that is installed."""
    found = [path.parent for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return max(found, key=lambda path: float(path.parent.name), default=None) or \
        sys.exit("PostgreSQL is not there; scripts/setup installs it")


def as_whom():
    """The arguments of subprocess for a user: the server refuses to be root's."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    def __init__(self, port, folder):
        self._folder = folder
        self._port = self.port = port
        self.where = self.url = f"postgresql://holdfast@127.0.0.1:{port}/holdfast"

    def ask(self, sql, database="holdfast"):
        """As the superuser."""
        run = subprocess.run([programs() / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self._folder, "-p",
                              str(self._port), "-U", "postgres", "-d", database, "-c", sql],
                             capture_output=True, text=True, timeout=60)
        if run.returncode != 0:
            sys.exit(f"{sql}: {run.stderr}")
        return run.stdout.strip()

    def answers(self, port):
        """Whether it can be reached through this port of the loopback."""
        return subprocess.run([programs() / "psql", "-XAtq", "-h", "127.0.0.1", "-p", str(port), "-U", "holdfast",
                               "-d", "holdfast", "-c", "SELECT 1"], capture_output=True, timeout=60).returncode == 0

    def statements(self, apart_from="pg_stat_statements"):
        """That clients have sent since it was started for `counting`, apart from those that the expression matches."""
        return int(self.ask(f"SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query !~ '{apart_from}'"))

    def force_commits(self, forced):
        self.ask(f"ALTER SYSTEM SET fsync = {'on' if forced else 'off'}")
        self.ask("SELECT pg_reload_conf()")
        deadline = time.monotonic() + 10
        while self.ask("SHOW fsync") != ("on" if forced else "off"):
            if time.monotonic() > deadline:
                sys.exit("PostgreSQL does not take its new settings")


def made(folder):
    run = subprocess.run([programs() / "initdb", "--pgdata", f"{folder}/data", "--username=postgres", "--auth=trust",
                          "--encoding=UTF8", "--no-locale"], cwd=folder, capture_output=True, text=True, timeout=120,
                         **as_whom())
    if run.returncode != 0:
        sys.exit(f"initdb failed:\n{run.stdout}{run.stderr}")


@contextlib.contextmanager
def running(forced=True, counting=False):
    """With the settings that it comes with, which force commits to the disk; or else not. With `counting` it counts
    statements, which slows it a little."""
    with tempfile.TemporaryDirectory(prefix="holdfast-postgresql-") as folder:
        if as_whom():
            os.chown(folder, as_whom()["user"], as_whom()["group"])
        made(folder)
        port = free_port()
        arguments = [programs() / "postgres", "-D", f"{folder}/data", "-p", str(port), "-k", folder, "-h", "127.0.0.1"]
        if counting:
            arguments += ["-c", "shared_preload_libraries=pg_stat_statements"]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(arguments, cwd=folder, stdout=log, stderr=log, **as_whom())
        server = Server(port, folder)
        try:
            deadline = time.monotonic() + 30
            ready = [programs() / "pg_isready", "-q", "-h", folder, "-p", str(port)]
            while subprocess.run(ready).returncode != 0:
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"PostgreSQL does not start:\n{open(f'{folder}/log').read()}")
                time.sleep(0.02)
            server.ask("CREATE ROLE holdfast LOGIN", "postgres")
            server.ask("CREATE DATABASE holdfast OWNER holdfast", "postgres")
            if not forced:
                server.force_commits(False)
            if counting:
                server.ask("CREATE EXTENSION pg_stat_statements")
            yield server
        finally:
            process.send_signal(signal.SIGQUIT)  # at once; nothing of it is kept
            process.wait()
