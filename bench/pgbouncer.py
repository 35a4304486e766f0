"""A PgBouncer for the measurement alone, which pools transactions: a free port, a temporary folder, gone at the end."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import postgresql_server
from redis_server import free_port


def is_there():
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is not None


@contextlib.contextmanager
def before(server):
    """The URL of the store through it."""
    user = postgresql_server.as_whom()
    with tempfile.TemporaryDirectory(prefix="holdfast-pgbouncer-") as folder:
        if user:
            os.chown(folder, user["user"], user["group"])
        port = free_port()
        with open(f"{folder}/pgbouncer.ini", "w") as settings:
            settings.write(f"[databases]\nholdfast = host=127.0.0.1 port={server.port} user=holdfast\n[pgbouncer]\n"
                           f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
                           "pool_mode = transaction\n")
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(["pgbouncer", f"{folder}/pgbouncer.ini"], cwd=folder, stdout=log, stderr=log, **user)
        try:
            deadline = time.monotonic() + 10
            while not server.answers(port):
                if time.monotonic() > deadline or process.poll() is not None:
                    sys.exit(f"PgBouncer does not answer: {open(f'{folder}/log').read()}")
                time.sleep(0.05)
            yield f"postgresql://holdfast@127.0.0.1:{port}/holdfast"
        finally:
            process.kill()
            process.wait()
