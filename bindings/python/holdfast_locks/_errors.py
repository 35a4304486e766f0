"""The exceptions, one for each code of the library."""

from __future__ import annotations

from typing import ClassVar

from ._native import lib

__all__ = [
    "Cancelled",
    "Closed",
    "CorruptStore",
    "Exhausted",
    "ForeignStore",
    "HoldfastError",
    "InvalidArgument",
    "InvalidName",
    "InvalidURL",
    "LeaseLost",
    "NotOwner",
    "PermissionDenied",
    "Timeout",
    "Unavailable",
    "UnknownOutcome",
    "WrongType",
]  # fmt: skip


class HoldfastError(Exception):
    """Base of all errors of the library.

    Its text names the operation, the lock, the store and the cause, and no password.
    """

    code: ClassVar[int] = 0
    """The number in ``enum holdfast_error`` of <holdfast/holdfast.h>."""


class Timeout(HoldfastError, TimeoutError):
    """The wait passed while another held the name. Only a store that answers brings it about."""

    code = lib.HOLDFAST_ERR_TIMEOUT


class LeaseLost(HoldfastError):
    """The lease ended before its holder released it: stop the work, and acquire anew before going on."""

    code = lib.HOLDFAST_ERR_LOST


class NotOwner(HoldfastError, RuntimeError):
    """This lease, or lock object, holds nothing: the program releases or renews twice."""

    code = lib.HOLDFAST_ERR_NOT_OWNER


class Unavailable(HoldfastError, ConnectionError):
    """The store cannot be reached, or answers that it cannot serve now."""

    code = lib.HOLDFAST_ERR_UNAVAILABLE


class UnknownOutcome(HoldfastError):
    """The request may have been carried out; the store does not answer. A claim is withdrawn by itself."""

    code = lib.HOLDFAST_ERR_UNKNOWN_OUTCOME


class InvalidName(HoldfastError, ValueError):
    """A name is 1 to 512 bytes of UTF-8 without control characters."""

    code = lib.HOLDFAST_ERR_INVALID_NAME


class InvalidArgument(HoldfastError, ValueError):
    """An option, a limit or a count that the call, the store or the type of lock does not take."""

    code = lib.HOLDFAST_ERR_INVALID_ARGUMENT


class InvalidURL(HoldfastError, ValueError):
    """A store URL that cannot be read; unknown schemes and options too."""

    code = lib.HOLDFAST_ERR_INVALID_URL


class WrongType(HoldfastError):
    """The name is in use as another kind of lock, or with another capacity."""

    code = lib.HOLDFAST_ERR_WRONG_TYPE


class ForeignStore(HoldfastError):
    """The file, table or key there is not Holdfast's; it is left untouched."""

    code = lib.HOLDFAST_ERR_FOREIGN_STORE


class CorruptStore(HoldfastError):
    """The store's file or answer is damaged."""

    code = lib.HOLDFAST_ERR_CORRUPT_STORE


class PermissionDenied(HoldfastError, PermissionError):
    """The store or the file system refuses this user."""

    code = lib.HOLDFAST_ERR_PERMISSION_DENIED


class Exhausted(HoldfastError):
    """Out of memory, descriptors, threads or disk."""

    code = lib.HOLDFAST_ERR_EXHAUSTED


class Cancelled(HoldfastError):
    """The wait was ended from outside."""

    code = lib.HOLDFAST_ERR_CANCELLED


class Closed(HoldfastError):
    """The client was closed, or belongs to the parent of this process: open one in this process."""

    code = lib.HOLDFAST_ERR_CLOSED


def error_of(code: int, text: str) -> HoldfastError:
    """The exception of a code that a function of C has returned."""
    for each in HoldfastError.__subclasses__():
        if each.code == code:
            return each(text)
    return HoldfastError(text)
