"""Distributed locks, on the store you already run.

::

    with holdfast_locks.Client("redis://localhost") as locks:
        with locks.mutex("stock/sku-42").acquire(timeout=2) as lease:
            lease.token

A hold is a lease. It is renewed in the background, ends one ttl after its last renewal if the holder has crashed, and
tells the holder of its loss. Its fencing token, a number that grows with each grant, lets a resource refuse what a former
holder writes late. `holdfast_locks.aio` is the same for asyncio.
"""

from . import _errors
from ._core import Claim, Loss, Mode, Note, Options, State, text_of
from ._errors import *  # noqa: F403
from ._native import lib
from ._threads import Client, Election, Fence, Lease, Lock, Signal, Term, Watch

__all__ = [
    "Claim", "Client", "Election", "Fence", "Lease", "Lock", "Loss", "Mode", "Note", "Options", "Signal", "State", "Term",
    "Watch", *_errors.__all__,
]  # fmt: skip

for _name in __all__:
    globals()[_name].__module__ = __name__  # as people write it, in messages and in pickles

__version__ = text_of(lib.holdfast_version())
