"""One name, and everybody who may have it: C++, C, Python, the command, and other libraries' clients.

The witness is no lock: it loses counts when two are inside at once.
"""

import os
import struct
import subprocess
import sys
from pathlib import Path

import holdfast_locks
import pytest
from witness import COUNT, FRAGILE_COUNT, OVERLAPS

tests = Path(__file__).parent
SIZE = 56
MILLISECONDS = int(os.environ.get("HOLDFAST_CONTENTION_SECONDS", "4")) * 1000
contenders = os.environ.get("HOLDFAST_CONTENDERS", "")  # a folder


def contend(url, name, kind, file, foreign):
    """How often each was inside. `foreign`: a client, and the URL and the name that it has for the same."""
    file.write_bytes(bytes(SIZE))
    script = [sys.executable, tests / "contender.py"]
    commands = {
        "C++": [f"{contenders}/test_contender_cpp", url, name],
        "C": [f"{contenders}/test_contender_c", url, name],
        **{face: [*script, face, url, name] for face in ("threads", "aio", "command")},
        **{client: [*script, client, their_url, their_name] for client, their_url, their_name in foreign},
    }
    environment = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{tests.parent / 'interop'}"}
    crowd = {
        who: subprocess.Popen([*command, file, kind, str(MILLISECONDS)], stdout=subprocess.PIPE, text=True, env=environment)
        for who, command in commands.items()
    }
    seen = set()
    with holdfast_locks.Client(url) as locks:
        while kind == "election" and any(each.poll() is None for each in crowd.values()):
            seen |= {each.value for each in locks.election(name).participants()}
    turns = {who: int(process.communicate(timeout=120)[0]) for who, process in crowd.items()}
    print(turns)
    assert all(process.returncode == 0 for process in crowd.values())
    page = struct.unpack("<7q", file.read_bytes())
    total = sum(turns.values())
    assert page[OVERLAPS // 8] == 0
    assert (page[COUNT // 8], page[FRAGILE_COUNT // 8]) == (total, total)
    assert min(turns.values()) >= 3
    return seen


@pytest.mark.parametrize("kind", ["mutex", "election"])
def test_all_languages_on_redis(servers, tmp_path, kind):
    server = servers("redis")
    foreign = [("redis-py", f"redis://{server.where}", f"crowd/{kind}")] if kind == "mutex" else []
    seen = contend(f"{server.url}&prefix=", f"crowd/{kind}", kind, tmp_path / "witness", foreign)
    if kind == "election":
        assert seen >= {b"C++", b"C", b"threads", b"aio"}


@pytest.mark.parametrize("kind", ["mutex", "election"])
def test_all_languages_and_kazoo_on_zookeeper(servers, tmp_path, kind):
    server = servers("zookeeper")
    url = f"{server.url}/?layout=kazoo"
    contend(url, f"crowd-{kind}", kind, tmp_path / "witness", [("kazoo", server.where, f"/crowd-{kind}")])


def test_all_languages_on_sqlite(tmp_path):
    contend(f"sqlite:{tmp_path}/locks.db", "crowd", "mutex", tmp_path / "witness", [])
