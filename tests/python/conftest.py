"""Stores for the tests: those that HOLDFAST_PYTHON_STORES names, each started once."""

import importlib
import itertools
import os
import sys
from pathlib import Path

import holdfast_locks
import pytest

root = Path(__file__).parents[2]
sys.path += [str(root / "bench"), str(root / "tests/interop")]  # servers; the witness
stores = os.environ.get("HOLDFAST_PYTHON_STORES", "sqlite redis").split()
names = itertools.count()


@pytest.fixture(scope="session")
def servers():
    started = {}
    with __import__("contextlib").ExitStack() as stack:

        def server(store):
            if store not in started:
                started[store] = stack.enter_context(importlib.import_module(f"{store}_server").running())
            return started[store]

        yield server


@pytest.fixture(params=stores)
def url(request, tmp_path, servers):
    return f"sqlite:{tmp_path}/locks.db" if request.param == "sqlite" else servers(request.param).url


@pytest.fixture
def name(request):
    """Of a lock that no other test has."""
    return f"{request.node.originalname}/{next(names)}"


@pytest.fixture
def locks(url):
    with holdfast_locks.Client(url, ttl=10) as client:
        yield client


@pytest.fixture
def others(url):
    """Another client of the same store."""
    with holdfast_locks.Client(url, ttl=10) as client:
        yield client
