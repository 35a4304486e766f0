"""The examples of the documents run, line by line as they stand there."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

root = Path(__file__).parents[2]


def examples(page):
    return re.findall(r"^```python\n(.*?)^```", (root / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "bindings/python/README.md"])
def test_the_examples_of_a_page_run(page, tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE stock (sku PRIMARY KEY, units, fence bigint NOT NULL DEFAULT 0)")
        shop.execute("INSERT INTO stock VALUES (42, 3, 0)")
    found = examples(page)
    assert found
    program = "\n".join(found).replace("redis://localhost", f"sqlite:{tmp_path}/locks.db")
    environment = {**os.environ, "HOLDFAST_STORE": f"sqlite:{tmp_path}/locks.db"}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    if page == "README.md":
        with sqlite3.connect(tmp_path / "shop.db") as shop:
            assert shop.execute("SELECT units FROM stock").fetchall() == [(2,)]
