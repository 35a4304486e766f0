"""The package as it is distributed: a wheel with the library inside, and one for a library that is installed.

HOLDFAST_BUILD names a build folder of Holdfast. Both are installed by pip into environments of their own, where the
examples of the documents run, and the tests of locks.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

tests = Path(__file__).parent
root = tests.parents[1]
modules = root / ".deps/python_package"


def run(*command, **environment):
    done = subprocess.run(
        [str(each) for each in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def built(package, folder, *options, **environment):
    """The wheel that pip builds, by the modules that scripts/setup has brought."""
    pip = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]
    run(*pip, "-w", folder, *options, package, PYTHONPATH=str(modules), **environment)
    (wheel,) = Path(folder).glob("*.whl")
    return wheel


def environment_with(tmp_path, wheel, *options):
    """The Python of an empty environment into which pip has installed the wheel."""
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--disable-pip-version-check", *options, wheel, PYTHONPATH="")
    return python


NO_CLIENT = """
import holdfast_locks
for url, package in (("postgresql://127.0.0.1:1/x", "libpq5"), ("mysql://127.0.0.1:1/x", "libmariadb3")):
    try:
        holdfast_locks.Client(url)
    except holdfast_locks.Unavailable as refused:
        assert f"install {package}" in str(refused), refused
    else:
        raise AssertionError(url)
"""


def empty_clients(folder):
    """A folder with clients of databases that cannot be loaded."""
    folder.mkdir()
    for file in ("libpq.so.5", "libmariadb.so.3"):
        (folder / file).touch()
    return folder


def check(tmp_path, stores, **environment):
    """Runs the documents' examples and the tests of locks with the installed package."""
    python = tmp_path / "venv/bin/python"
    (modules,) = tmp_path.glob("venv/lib/*/site-packages")
    (modules / "debian.pth").write_text("/usr/lib/python3/dist-packages")  # pytest; behind what is installed
    files = [tests / f"test_{each}.py" for each in ("documents", "locks", "aio")]
    settings = {"PYTHONPATH": "", "HOLDFAST_PYTHON_STORES": stores, "PYTHONDONTWRITEBYTECODE": "1"}
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, **settings, **environment)


def test_a_wheel_with_the_library_inside(tmp_path):
    settings = [f"--config-settings=build-dir={tmp_path}/tree", "--config-settings=cmake.define.CMAKE_UNITY_BUILD=ON"]
    wheel = built(root / "bindings/python", tmp_path / "built", *settings)
    repair = [sys.executable, "-m", "auditwheel", "repair", "-w", tmp_path / "wheel", wheel]
    run(*repair, PYTHONPATH=str(modules), PATH=f"{modules}/bin:{os.environ['PATH']}")
    (wheel,) = (tmp_path / "wheel").glob("holdfast_locks-*-cp311-abi3-manylinux_*.whl")
    python = environment_with(tmp_path, wheel)
    (module,) = tmp_path.glob("venv/lib/*/site-packages/holdfast_locks/_native.abi3.so")
    symbols = run("nm", "-D", "--defined-only", module)
    assert [line.split()[2] for line in symbols.splitlines()] == ["PyInit__native"]
    undefined = run("nm", "-D", "--undefined-only", module)
    assert not re.search(r" (PQ|mysql_|mariadb_)", undefined)  # the linker would not say so of a module
    run(python, "-c", "import holdfast_locks.aio", PYTHONPATH="")  # with what pip has installed alone
    run(python, "-c", NO_CLIENT, PYTHONPATH="", LD_LIBRARY_PATH=str(empty_clients(tmp_path / "empty")))
    check(tmp_path, "sqlite redis zookeeper postgresql mariadb")


def test_a_source_distribution_beside_an_installed_library(tmp_path):
    run("cmake", "--install", os.environ["HOLDFAST_BUILD"], "--prefix", tmp_path / "prefix")
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    archive = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        cwd=root / "bindings/python",
        env={**os.environ, "PYTHONPATH": str(modules)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.split()[-1]
    wheel = built(tmp_path / archive, tmp_path / "built", CMAKE_PREFIX_PATH=str(tmp_path / "prefix"))
    environment_with(tmp_path, wheel, "--no-deps", "--no-index")  # cffi is Debian's
    check(tmp_path, "sqlite redis", LD_LIBRARY_PATH=str(tmp_path / "prefix/lib"))
