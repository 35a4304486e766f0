"""Clients of a majority of servers: Holdfast, and the libraries that could be had; each runs a cell of the tables."""

import json
import os
import shutil
import subprocess
import time

import redlock_sections
import redis_clients
from figures import tell
from redis_figures import foreign_libraries
from redis_groups import counters
from redis_server import SENT_BY_CLIENTS
from redlock_sections import Failure

WARM_UP_PAIRS = 1000  # of `holdfast bench pair`
SECTIONS_LEAST = 100
PAIRS_MOST = 10_000_000
START_S = 30  # for connecting to servers of which one is silent, and for ending


class Client:
    """`sent` is what its commands begin with, where scripts call commands as well."""

    def __init__(self, name, sent):
        self.name = name
        self.sent = sent

    def commands(self, servers):
        """That clients have sent to them."""
        return sum(calls for each in servers for name, calls in counters(each) if name.startswith(self.sent))

    def cell(self, group, hosts, contenders, length_s, limit_s):
        """The figures of one run; `group.primaries` count the commands. What goes wrong is told in them."""
        servers = group.primaries
        before = self.commands(servers)
        try:
            found = self.measured(hosts, contenders, length_s, limit_s)
        except Failure as problem:
            return {"sections": 0, "failed": str(problem)}
        sections = found.pop("sections_all")
        sent = self.commands(servers) - before
        # Of few sections it would be the commands of connecting.
        return found | {"commands": sent / sections / len(servers) if sections >= SECTIONS_LEAST else None}


class Holdfast(Client):
    def __init__(self, build, name="Holdfast", scheme="redlock", options="?restart_guard=0"):
        super().__init__(name, SENT_BY_CLIENTS)
        self._command = build / "cli" / "holdfast"
        self._url = scheme + "://{}" + options  # the servers have just started

    def measured(self, hosts, contenders, length_s, limit_s):
        if contenders == 1:
            run = self._bench(hosts, limit_s, "pair", "--count", PAIRS_MOST, "--duration", f"{length_s}s")
            sections = run["sections"] = run["count"]
            return run | {"sections_all": sections + WARM_UP_PAIRS, "errors": 0, "limit_s": limit_s}
        run = self._bench(hosts, limit_s, "handoff", "--processes", 2, "--concurrency", contenders // 2, "--one-client",
                          "--duration", f"{length_s}s")
        run["sections"] = run["grants"]
        return run | {"sections_all": run["grants"] + contenders, "errors": 0,
                      "handovers_per_s": run["handovers"] / run["duration_s"]}

    def _bench(self, hosts, limit_s, *arguments):
        command = [self._command, "bench", *arguments, "--json", "--store", self._url.format(",".join(hosts))]
        try:
            ran = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                                 timeout=limit_s + START_S)
        except subprocess.TimeoutExpired:
            raise Failure("it did not end in time") from None
        if ran.returncode != 0:
            raise Failure((ran.stderr.strip() or f"status {ran.returncode}").splitlines()[-1])
        return json.loads(ran.stdout)


class Foreign(Client):
    def __init__(self, name, command, sent):
        super().__init__(name, sent)
        self._command = command

    def measured(self, hosts, contenders, length_s, limit_s):
        name = f"bench-{os.getpid()}-{time.monotonic_ns()}"  # a cell that was ended may have left its own locked
        return redlock_sections.figures(self._command, hosts, name, contenders, length_s, limit_s)


def rslock(to):
    """Cargo fetches it in the version that bench/libraries/rslock names, and leaves its lock file in the build folder."""
    tell("Cargo fetches and builds rslock", always=True)
    source = to / "rslock"
    shutil.copytree(redis_clients.folder / "rslock", source, dirs_exist_ok=True)
    redis_clients.run("cargo", "build", "--release", "--manifest-path", source / "Cargo.toml")
    return [source / "target" / "release" / "rslock_bench"]


def node_redlock(to):
    if "redlock" not in (found := foreign_libraries()):
        raise OSError("Node.js or its package is not there; scripts/setup installs them")
    return found["redlock"]


def pottery(to):
    python, driver = "/usr/bin/python3", redis_clients.folder / "pottery_bench.py"  # apt's redis-py is for that one
    redis_clients.run(python, driver, "--version")
    return [python, driver]


def clients(build):
    """Those that could be had, Holdfast first; and of the others why not. Kept in the build folder."""
    found, missing = [Holdfast(build)], {}
    # What the libraries' scripts call, their clients do not send, but for SET.
    redsync = {"redsync": ["redsync"], "redsync, `WithFailFast`": ["redsync-failfast"]}
    for names, make in ((redsync, redis_clients.go_redis), ({"rslock": []}, rslock),
                        ({"node-redlock": []}, node_redlock), ({"pottery": []}, pottery)):
        sent = SENT_BY_CLIENTS if make is node_redlock else (*SENT_BY_CLIENTS, "set")
        try:
            command = make(build / "bench" / "libraries")
        except (OSError, subprocess.SubprocessError) as problem:
            missing |= dict.fromkeys(names, redis_clients.cause_of(problem))
        else:
            found += [Foreign(name, [*command, *kind], sent) for name, kind in names.items()]
    return found, missing
