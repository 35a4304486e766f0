"""What the package says of itself: types, texts, versions."""

import inspect
import os
import pickle
import pydoc
import subprocess
import sys
import tomllib
from pathlib import Path

import holdfast_locks
import pytest
from holdfast_locks import aio

root = Path(__file__).parents[2]
package = root / "bindings/python"


def test_the_types_are_strict(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", package / "holdfast_locks", "typed.py"],
        cwd=Path(__file__).parent,
        env={**os.environ, "MYPYPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def public(module):
    for name in module.__all__:
        value = getattr(module, name)
        yield name, value
        if inspect.isclass(value):
            for attribute, member in inspect.getmembers(value):
                if not attribute.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    yield f"{name}.{attribute}", member


@pytest.mark.parametrize("module", [holdfast_locks, aio])
def test_each_public_thing_has_a_text(module):
    assert [name for name, value in public(module) if not pydoc.getdoc(value)] == []


def test_the_version_is_that_of_the_library():
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert holdfast_locks.__version__ == project["version"] == (root / "VERSION").read_text().strip()


def test_each_error_of_the_library_has_a_class():
    lib = holdfast_locks._native.lib
    codes = {getattr(lib, name) for name in dir(lib) if name.startswith("HOLDFAST_ERR_")}
    assert codes == {each.code for each in holdfast_locks.HoldfastError.__subclasses__()} and len(codes) == 15


def test_a_loss_of_the_library_has_a_name():
    lib = holdfast_locks._native.lib
    names = {holdfast_locks._core.text_of(lib.holdfast_loss_text(loss)) for loss in range(1, 5)}
    assert names == set(holdfast_locks.Loss)


def test_the_licence_is_that_of_the_project():
    assert (package / "LICENSE").read_text() == (root / "LICENSE").read_text()


def test_an_error_crosses_to_another_process():
    error = pickle.loads(pickle.dumps(holdfast_locks.Timeout("others held it")))
    assert (type(error), str(error), type(error).__module__) == (holdfast_locks.Timeout, "others held it", "holdfast_locks")
