"""A ZooKeeper for the measurement alone: a free port, a temporary folder, gone at the end."""

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from redis_server import free_port

JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"


class Server:
    def __init__(self, port):
        self._port = port
        self.where = f"127.0.0.1:{port}"
        self.url = f"zk://{self.where}"

    def ask(self, command):
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=10) as connection:
                connection.sendall(command.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError:
            return ""

    def packets(self):
        """That clients have sent it and it has sent them, since it started."""
        said = self.ask("mntr")
        return sum(int(re.search(rf"zk_packets_{way}\t(\d+)", said).group(1)) for way in ("received", "sent"))


@contextlib.contextmanager
def running(forced=False):
    """Unless `forced`, writes are not forced to the disk: its time would be the same for everybody, and hide theirs."""
    program = shutil.which("java") or sys.exit("java is not there; scripts/setup installs it")
    with tempfile.TemporaryDirectory(prefix="holdfast-zookeeper-") as folder:
        server = Server(free_port())
        with open(f"{folder}/zoo.cfg", "w") as settings:
            settings.write(f"dataDir={folder}/data\nclientPort={server.where.split(':')[1]}\n"
                           "clientPortAddress=127.0.0.1\ntickTime=2000\nmaxClientCnxns=0\n"
                           "admin.enableServer=false\n4lw.commands.whitelist=*\n")
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen([program, "-Xmx1g", "-XX:-UsePerfData",
                                        f"-Dzookeeper.forceSync={'yes' if forced else 'no'}",
                                        "-Dzookeeper.jmx.log4j.disable=true",
                                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", JARS,
                                        "org.apache.zookeeper.server.quorum.QuorumPeerMain", f"{folder}/zoo.cfg"],
                                       stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while "Mode: " not in server.ask("srvr"):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"ZooKeeper does not start:\n{open(f'{folder}/log').read()}")
                time.sleep(0.02)
            yield server
        finally:
            process.kill()  # nothing of it is kept
            process.wait()
