"""An etcd for the measurement alone: a free port, a temporary folder, gone at the end."""

import contextlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from redis_server import free_port


class Server:
    def __init__(self, port):
        self.where = f"127.0.0.1:{port}"

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://{self.where}/health", timeout=1) as health:
                return b"true" in health.read()
        except (OSError, urllib.error.URLError):
            return False


@contextlib.contextmanager
def running(program, forced=False):
    """Unless `forced`, writes are not forced to the disk."""
    with tempfile.TemporaryDirectory(prefix="holdfast-etcd-") as folder:
        server, peer = Server(free_port()), f"http://127.0.0.1:{free_port()}"
        url = f"http://{server.where}"
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen([program, "--name", "bench", "--data-dir", f"{folder}/data",
                                        "--listen-client-urls", url, "--advertise-client-urls", url,
                                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                                        "--initial-cluster", f"bench={peer}", "--log-level", "error",
                                        f"--unsafe-no-fsync={'false' if forced else 'true'}"], stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while not server.answers():
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"etcd does not start:\n{open(f'{folder}/log').read()}")
                time.sleep(0.02)
            yield server
        finally:
            process.kill()  # nothing of it is kept
            process.wait()
