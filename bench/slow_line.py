"""Servers at the end of a longer line than the loopback: bench/slow_line.cpp."""

import contextlib
import os
import subprocess


@contextlib.contextmanager
def behind(build, ports, delay_us, cpu):
    """The addresses that lead to those ports, with so long a delay each way."""
    line = subprocess.Popen([build / "bench" / "slow_line", str(delay_us), *map(str, ports)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    try:
        os.sched_setaffinity(line.pid, {cpu})
        yield [f"127.0.0.1:{port}" for port in line.stdout.readline().split()]
    finally:
        line.kill()
        line.communicate()
