"""How long a waiter waits after its holder has died, or has been asked to end."""

import contextlib
import os
import signal
import subprocess
import time

TTL_S = 5
LIMIT_S = 60
NAME = "bench/recovery"


@contextlib.contextmanager
def running(holdfast, url, *command):
    """`holdfast run` of the name, in a process group of its own, which is gone at the end."""
    process = subprocess.Popen([holdfast, "run", "--store", url, "--ttl", f"{TTL_S}s", NAME, "--", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def await_waiter(holdfast, url):
    """Until the store has one."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        shown = subprocess.run([holdfast, "show", NAME, "--store", url, "--json"], capture_output=True, text=True)
        if shown.returncode == 0 and '"waiters":[{' in shown.stdout.replace(" ", ""):
            return
        time.sleep(0.02)
    raise TimeoutError(f"no waiter was seen within {LIMIT_S} s")


def after(holdfast, url, number):
    """Seconds from the signal to the holder until the waiter's command begins.

    SIGKILL goes to the holder and all that it has started: nothing of it releases. Its last renewal was up to a third of
    the ttl ago, so most stores take two thirds of the ttl to the whole of it.
    """
    with running(holdfast, url, "sh", "-c", "echo held; exec sleep 1000") as holder:
        if holder.stdout.readline() != "held\n":
            raise RuntimeError("the holder ended before it held the lock")
        with running(holdfast, url, "echo", "held") as waiter:
            await_waiter(holdfast, url)
            start = time.monotonic()
            if number == signal.SIGKILL:
                os.killpg(holder.pid, number)
            else:
                holder.send_signal(number)
            if waiter.stdout.readline() != "held\n":
                raise RuntimeError("the waiter ended without the lock")
            return time.monotonic() - start


def measure(holdfast, url):
    """Of each way to end, in seconds."""
    return {"killed_s": after(holdfast, url, signal.SIGKILL), "ended_s": after(holdfast, url, signal.SIGTERM)}
