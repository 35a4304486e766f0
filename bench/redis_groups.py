"""Groups of Redis servers for the measurement alone: free ports, temporary folders, gone at the end.

`sentinels()`: a primary, two replicas, three Sentinels. `cluster()`: three primaries with a replica each. Both yield a
Group; `alone()` yields one of a single server, `quorum()` one of five that know nothing of each other.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from redis_server import SENT_BY_CLIENTS, answers

PRIMARY = "mymaster"  # the name that the Sentinels monitor
SLOTS = 16384
DOWN_AFTER_MS = 2000  # of the Sentinels, and the node timeout of the cluster
LOG_LINES = 5
# What servers, Sentinels and the benches themselves ask.
NOT_CALLED = ("info", "quit", "replconf", "psync")


def free_ports(count):
    """All at once, so that they differ."""
    with contextlib.ExitStack() as open_sockets:
        probes = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in probes:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in probes]


def ask(port, *words):
    """One command on a connection of its own; the reply as Python has it. An error is a RuntimeError."""
    command = b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in (str(each).encode() for each in words))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(command)
        return reply_of(connection.makefile("rb"))


def reply_of(stream):
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server closed the connection")
    kind, rest = line[:1], line[1:-2]
    if kind == b"-":
        raise RuntimeError(rest.decode())
    if kind == b"+":
        return rest.decode()
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2].decode()
    return None if rest == b"-1" else [reply_of(stream) for _ in range(int(rest))]


def key_slot(key):
    """Of a cluster: CRC16 of the key, or of what stands in its first braces."""
    begin = key.find("{")
    end = key.find("}", begin + 1)
    if begin >= 0 and end > begin + 1:
        key = key[begin + 1:end]
    crc = 0
    for byte in key.encode():
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc % SLOTS


def await_that(condition, otherwise, limit_s=30):
    deadline = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(OSError, RuntimeError):
            if condition():
                return
        if time.monotonic() > deadline:
            sys.exit(otherwise)
        time.sleep(0.05)


class Node:
    """One process."""

    def __init__(self, port, folder, options, *, sentinel=False):
        program = shutil.which("redis-server") or sys.exit("redis-server is not there; scripts/setup installs it")
        self.port = port
        self.where = f"127.0.0.1:{port}"
        self._stopped = False
        self._log = pathlib.Path(folder, "log")
        with self._log.open("w") as log:
            # A Sentinel has its settings in a file: it writes what it learns there.
            command = [program, f"{folder}/sentinel.conf", "--sentinel"] if sentinel else [
                program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly",
                "no", "--repl-diskless-sync-delay", "0", *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def await_answer(self):
        def answered():
            if self.process.poll() is not None:
                sys.exit("redis-server does not start:\n" + "\n".join(self._log.read_text().splitlines()[-LOG_LINES:]))
            return answers(self.port)
        await_that(answered, f"the server at {self.where} does not answer")

    def ask(self, *words):
        return ask(self.port, *words)

    @property
    def runs(self):
        return not self._stopped and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)
        self._stopped = number == signal.SIGSTOP

    def place(self, cpus):
        if self.process.poll() is None:
            os.sched_setaffinity(self.process.pid, cpus)

    def die(self):
        self.process.kill()
        self.process.wait()

    def info(self, section):
        return dict(line.split(":", 1) for line in self.ask("INFO", section).splitlines() if ":" in line)


class Group:
    """Servers, and where a name is."""

    def __init__(self, kind, url, nodes, others=()):
        self.kind = kind
        self.url = url  # without options
        self.nodes = nodes  # primaries first
        self.watching = list(others)  # the Sentinels
        self._all = [*nodes, *others]
        self._cpus = sorted(os.sched_getaffinity(0))
        self._sharded = kind == "cluster"

    @property
    def primaries(self):
        """Those that take writes from clients, and can answer."""
        if self.kind == "quorum":
            return [each for each in self.nodes if each.runs]
        return self.nodes[:3] if self._sharded else self.nodes[:1]

    def shard_of(self, key):
        return key_slot(key) * len(self.primaries) // SLOTS

    def owner_of(self, key):
        """Of the primaries there were at the start."""
        return self.primaries[self.shard_of(key)]

    def replicas_of(self, primary):
        if self._sharded:
            return [self.nodes[self.nodes.index(primary) + 3]]
        return self.nodes[1:]

    def commands(self):
        """That clients have sent to all primaries since they started; not what Sentinels send all the time."""
        return sum(calls for each in self.primaries for name, calls in counters(each)
                   if name.startswith(SENT_BY_CLIENTS) and name != "ping")

    def calls(self):
        """As of one server: those that clients have sent to the primaries, and those that scripts have called."""
        return sum(calls for each in self.primaries for name, calls in counters(each) if name not in NOT_CALLED)

    def regimes(self):
        """As of one server: where the servers and the clients run."""
        ways = {"servers and clients on one core": (self._cpus[-1], self._cpus[-1])}
        if len(self._cpus) > 1:
            ways["servers on one core, clients on another"] = (self._cpus[-1], self._cpus[0])
        return ways

    @contextlib.contextmanager
    def placed(self, servers_cpu, clients_cpu):
        for each in self._all:
            each.place({servers_cpu})
        os.sched_setaffinity(0, {clients_cpu})  # inherited by all that is started
        try:
            yield
        finally:
            os.sched_setaffinity(0, self._cpus)
            for each in self._all:
                each.place(self._cpus)


def counters(node):
    return [(name.removeprefix("cmdstat_"), int(value.split("calls=")[1].split(",")[0]))
            for name, value in node.info("commandstats").items() if "calls=" in value]


@contextlib.contextmanager
def folders():
    """Makes the processes, each in a folder of its own; ends those that were made."""
    with tempfile.TemporaryDirectory(prefix="holdfast-redis-") as folder:
        made = []

        def start(port, *options, sentinel=None):
            own = pathlib.Path(folder, str(port))
            own.mkdir()
            if sentinel:
                (own / "sentinel.conf").write_text(f"port {port}\nbind 127.0.0.1\ndir {own}\n{sentinel}")
            made.append(Node(port, str(own), options, sentinel=sentinel is not None))
            return made[-1]

        try:
            yield start
        finally:
            for each in made:
                if each.process.poll() is None:
                    each.signal(signal.SIGCONT)
                    each.process.kill()
            for each in made:
                each.process.wait()


@contextlib.contextmanager
def alone():
    with folders() as start:
        node = start(free_ports(1)[0])
        node.await_answer()
        yield Group("server", f"redis://{node.where}", [node])


@contextlib.contextmanager
def quorum(count=5):
    with folders() as start:
        nodes = [start(port) for port in free_ports(count)]
        for each in nodes:
            each.await_answer()
        yield Group("quorum", "redlock://" + ",".join(each.where for each in nodes), nodes)


@contextlib.contextmanager
def sentinels():
    ports = free_ports(6)
    with folders() as start:
        nodes = [start(ports[0])]
        nodes[0].await_answer()
        nodes += [start(port, "--replicaof", "127.0.0.1", str(ports[0])) for port in ports[1:3]]
        for each in nodes[1:]:
            await_that(lambda: each.info("replication")["master_link_status"] == "up", "a replica does not follow")
        settings = (f"sentinel monitor {PRIMARY} 127.0.0.1 {ports[0]} 2\n"
                    f"sentinel down-after-milliseconds {PRIMARY} {DOWN_AFTER_MS}\n"
                    f"sentinel failover-timeout {PRIMARY} 20000\n")
        watching = [start(port, sentinel=settings) for port in ports[3:]]
        for each in watching:
            each.await_answer()

        def know_all():
            known = [dict(zip(said[::2], said[1::2])) for said in (each.ask("SENTINEL", "MASTER", PRIMARY)
                                                                   for each in watching)]
            return all(said["num-slaves"] == "2" and said["num-other-sentinels"] == "2" for said in known)

        await_that(know_all, "the Sentinels do not know each other and the replicas")
        hosts = ",".join(each.where for each in watching)
        yield Group("sentinel", f"redis+sentinel://{hosts}/{PRIMARY}", nodes, watching)


@contextlib.contextmanager
def cluster():
    ports = free_ports(12)
    buses = ports[6:]
    with folders() as start:
        nodes = [start(port, "--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-announce-ip", "127.0.0.1",
                       "--cluster-node-timeout", str(DOWN_AFTER_MS), "--cluster-allow-replica-migration", "no")
                 for port, bus in zip(ports, buses)]
        for n, each in enumerate(nodes):
            each.await_answer()
            each.ask("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
            if n < 3:  # the first slot of a shard is the one that Group.shard_of says
                each.ask("CLUSTER", "ADDSLOTSRANGE", -(-n * SLOTS // 3), -(-(n + 1) * SLOTS // 3) - 1)

        def meet():
            for n, each in enumerate(nodes):
                known = each.ask("CLUSTER", "NODES")
                for other, bus in zip(nodes[n + 1:], buses[n + 1:]):
                    if f":{other.port}@" not in known:
                        each.ask("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
            return all(said.count("connected") - said.count("disconnected") == 6 and "handshake" not in said
                       for said in (each.ask("CLUSTER", "NODES") for each in nodes))

        await_that(meet, "the nodes of the cluster do not know each other")
        ids = [each.ask("CLUSTER", "MYID") for each in nodes]

        def follow():
            for n in range(3, 6):
                nodes[n].ask("CLUSTER", "REPLICATE", ids[n - 3])
            return all(each.info("replication")["master_link_status"] == "up" for each in nodes[3:])

        await_that(follow, "the replicas of the cluster do not follow")
        await_that(lambda: all("cluster_state:ok" in each.ask("CLUSTER", "INFO") for each in nodes),
                   "the cluster is not ready")
        await_that(lambda: all(each.ask("CLUSTER", "NODES").count("slave") == 3 for each in nodes),
                   "the nodes do not know the replicas")
        yield Group("cluster", "redis+cluster://" + ",".join(each.where for each in nodes), nodes)


GROUPS = {"server": alone, "sentinel": sentinels, "cluster": cluster}
