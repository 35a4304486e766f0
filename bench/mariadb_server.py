"""A MariaDB for the measurement alone: a free port, a temporary folder, gone at the end."""

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

from redis_server import free_port

USER, PASSWORD, DATABASE = "holdfast", "secret", "holdfast"


def as_whom():
    """The arguments of subprocess for a user: the server refuses to be root's."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("mysql") or known["nobody"]  # the packages of a server alone bring no user
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    def __init__(self, port, folder):
        self._folder = folder
        self.where = f"{folder}/mysql.sock"
        self.url = f"mariadb://{USER}:{PASSWORD}@127.0.0.1:{port}/{DATABASE}"

    def ask(self, sql):
        """As the superuser."""
        run = subprocess.run(["mariadb", "--no-defaults", "-NB", "-S", self.where, "-u", "root", "-e", sql],
                             capture_output=True, text=True, timeout=60)
        if run.returncode != 0:
            sys.exit(f"{sql}: {run.stderr}")
        return run.stdout.strip()

    def calls(self):
        """Of our procedures, and of whatever else clients have prepared, since it was started."""
        status = self.ask("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")
        return int(re.search(r"(\d+)$", status).group(1))

    @contextlib.contextmanager
    def logging(self):
        """Meanwhile it keeps a log of all that it is sent, which costs it something: for counting, not for times."""
        self.ask("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = 1")
        yield
        self.ask("SET GLOBAL general_log = 0")

    def logged_calls(self, apart_from):
        """As above, since it was told to log, apart from those whose text matches."""
        return int(self.ask("SELECT count(*) FROM mysql.general_log WHERE command_type = 'Execute' "
                            f"AND argument NOT REGEXP '{apart_from}'"))

    def force_commits(self, forced):
        self.ask(f"SET GLOBAL innodb_flush_log_at_trx_commit = {1 if forced else 2}")


def made(folder):
    run = subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--skip-test-db",
                          "--auth-root-authentication-method=normal"], cwd=folder, capture_output=True, text=True,
                         timeout=120, **as_whom())
    if run.returncode != 0:
        sys.exit(f"mariadb-install-db failed:\n{run.stdout}{run.stderr}")


@contextlib.contextmanager
def running(forced=True):
    """With the settings that it comes with, which force commits to the disk; or else with the system."""
    if shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        sys.exit("MariaDB is not there; scripts/setup installs it")
    with tempfile.TemporaryDirectory(prefix="holdfast-mariadb-") as folder:
        if as_whom():
            os.chown(folder, as_whom()["user"], as_whom()["group"])
        made(folder)
        port = free_port()
        server = Server(port, folder)
        arguments = [shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin"), "--no-defaults",
                 f"--datadir={folder}/data", f"--tmpdir={folder}", f"--port={port}",
                 "--bind-address=127.0.0.1", f"--socket={server.where}",
                 f"--innodb-flush-log-at-trx-commit={1 if forced else 2}"]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(arguments, cwd=folder, stdout=log, stderr=log, **as_whom())
        try:
            deadline = time.monotonic() + 30
            ready = ["mariadb", "--no-defaults", "-S", server.where, "-u", "root", "-e", "SELECT 1"]
            while subprocess.run(ready, capture_output=True).returncode != 0:
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"MariaDB does not start:\n{open(f'{folder}/log').read()}")
                time.sleep(0.05)
            server.ask(f"CREATE DATABASE {DATABASE}; CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'; "
                       f"CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}'; "
                       f"GRANT ALL ON {DATABASE}.* TO {USER}@'%'; GRANT ALL ON {DATABASE}.* TO {USER}@localhost")
            yield server
        finally:
            process.kill()  # nothing of it is kept
            process.wait()
