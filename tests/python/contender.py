"""As contender.cpp, by Python.

    contender.py FACE URL NAME WITNESS mutex|election MILLISECONDS

FACE: threads, aio, redis-py, kazoo, command. The URL of redis-py and kazoo is that of their own client.
"""

import asyncio
import os
import subprocess
import sys
import time

import holdfast_locks
from holdfast_locks import aio
from witness import OVERLAPS, Witness

LAST_TOKEN = 24
face, url, name, file, kind, milliseconds = sys.argv[1:]
place = Witness(file)
end = time.monotonic() + int(milliseconds) / 1000
turns = 0
elsewhere = 0.005  # seconds of work between turns: the queue is empty at times


def visit(token):
    if place.get(LAST_TOKEN) >= token:
        place.put(OVERLAPS, place.get(OVERLAPS) + 1)
    place.put(LAST_TOKEN, token)
    place.visit()


def to_come():
    return turns < 3 or time.monotonic() < end


def visit_while_held(lock):
    global turns
    while to_come():
        with lock:
            place.visit()
        turns += 1
        time.sleep(elsewhere)


def threads():
    global turns
    with holdfast_locks.Client(url) as locks:
        while to_come():
            with locks.election(name).campaign("threads") if kind == "election" else locks.mutex(name).acquire() as lease:
                visit(lease.token)
            turns += 1
            time.sleep(elsewhere)


async def tasks():
    global turns
    async with aio.Client(url) as locks:
        while to_come():
            held = locks.election(name).campaign("aio") if kind == "election" else locks.mutex(name).acquire()
            async with held as lease:
                visit(lease.token)
            turns += 1
            await asyncio.sleep(elsewhere)


def command():
    global turns
    visit = f"echo visit {file} | {os.environ['HOLDFAST_TEST_ACTOR']}"
    verb = ["elect", "--once"] if kind == "election" else ["run"]
    while to_come():
        holdfast = [os.environ["HOLDFAST_COMMAND"], *verb, name, "--store", url, "--", "sh", "-c", visit]
        subprocess.run(holdfast, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        turns += 1


if face == "threads":
    threads()
elif face == "aio":
    asyncio.run(tasks())
elif face == "command":
    command()
elif face == "redis-py":
    import redis

    visit_while_held(redis.Redis.from_url(url).lock(name, timeout=30, sleep=0.01))
elif face == "kazoo":
    from kazoo.client import KazooClient

    client = KazooClient(url)
    client.start(timeout=60)
    visit_while_held(client.Election(name, "kazoo").lock if kind == "election" else client.Lock(name, "kazoo"))
    client.stop()
print(turns)
