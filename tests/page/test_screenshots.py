#!/usr/bin/env python3
"""Takes the pictures of docs/operating.md from a store with real holders and waiters.

    tests/page/test_screenshots.py [--screenshots DIR]

Without DIR it only looks whether they can be taken, are small, and show both colour schemes.
"""

import argparse
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from dashboard import PageTest, cell, granted, main, row, tell

MOST_BYTES = 150_000
FOLDER = None


def on_host(name):
    """What gives a command another name of its host, or nothing where the system forbids that."""
    prefix = ["unshare", "--map-root-user", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', name]
    works = shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    return prefix if works else []


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def packed(data):
    """The same PNG, compressed as well as zlib can."""
    pixels = zlib.compress(zlib.decompress(b"".join(body for kind, body in chunks(data) if kind == b"IDAT")), 9)
    parts = [(kind, body) for kind, body in chunks(data) if kind == b"IHDR"] + [(b"IDAT", pixels), (b"IEND", b"")]
    return data[:8] + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                               for kind, body in parts)


class Screenshots(PageTest):
    def fill(self):
        """An ordinary night of a few services."""
        hold, wait_for = self.hold, self.wait_for
        hold("web-1", "stock/reindex", "--label", "shard 3", program="reindex")
        wait_for("web-2", "stock/reindex", "--label", "shard 3", program="reindex")
        for host in ("web-1", "web-2", "web-3"):
            hold(host, "images/convert", "--permits", "1/4", "--label", "thumbnails", program="convert")
        hold("db-1", "ledger/2026-11", "--label", "month end", program="closing")
        hold("web-2", "catalogue", "--shared", program="search")
        hold("web-3", "catalogue", "--shared", program="search")
        hold("app-1", "leader/scheduler", program="scheduler")
        hold("app-2", "mail/outbox", "--label", "eu", program="mailer")
        hold("app-1", "reports/daily", program="reporter")
        hold("app-1", "backup/nightly", program="backup")
        for host, name, program in (("app-1", "sessions/expired", "sweeper"), ("app-2", "prices", "price-feed"),
                                    ("web-1", "search/segments", "compact"), ("db-1", "schema", "migrate")):
            hold(host, name, program=program)
        self.store.prefix = on_host("app-2")
        billing = self.store.hold_and_later_wait("billing/invoices", "ledger/2026-11", program="billing")
        wait_for("web-1", "billing/invoices", "--label", "checkout", program="payments")
        wait_for("web-2", "billing/invoices", "--label", "checkout", program="payments")
        wait_for("web-3", "billing/invoices", "--label", "refunds", program="payments")
        tell(billing)

    def hold(self, host, name, *options, program):
        self.store.prefix = on_host(host)
        return self.store.hold(name, *options, program=program)

    def wait_for(self, host, name, *options, program):
        self.store.prefix = on_host(host)
        return self.store.wait_for(name, *options, program=program)

    def hand_over(self, tab):
        """Of one name, several in turn; each is seen by the page before the next."""
        labels = {"web-1": "eu", "web-2": "us", "web-3": "asia"}
        hosts = ["web-1", "web-2", "web-1", "web-3", "web-2", "web-1", "web-3", "web-2"]
        queue = [self.hold(hosts[0], "orders/import", "--label", labels[hosts[0]], program="importer")]
        for host in hosts[1:]:
            queue.append(self.wait_for(host, "orders/import", "--label", labels[host], program="importer"))
        for left in range(len(hosts) - 1, 3, -1):
            tab.wait(cell("orders/import", "waiters") + f" === '{left}'")
            queue.pop(0).stdin.close()
            granted(queue[0])
        tab.wait(cell("orders/import", "waiters") + " === '3'")

    def take(self, tab, name):
        tab.evaluate("document.activeElement.blur()")
        tab.drawn()
        path = self.pictures / name
        tab.screenshot(path)
        path.write_bytes(packed(path.read_bytes()))
        size = path.stat().st_size
        print(f"{name}: {size} bytes")
        self.assertLess(size, MOST_BYTES)
        self.assertGreater(size, 10_000, "a picture of nothing")
        self.assert_quiet(tab)

    def test_the_pictures_of_the_documents(self):
        with tempfile.TemporaryDirectory(prefix="holdfast-page-") as folder:
            self.pictures = pathlib.Path(FOLDER or folder)
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.fill()
            server = self.serve()
            light = self.open(server, width=1200, height=720)
            light.wait(row("billing/invoices"))
            self.hand_over(light)
            # Each wait has been looked at.
            text = "row.querySelector('.{}').textContent".format
            light.wait("[...document.querySelectorAll('.rows .row')].every((row) => "
                       f"{text('waiters')} === '–' || {text('wait')} !== '–')")
            self.take(light, "dashboard-light.png")

            dark = self.open(server, "#/lock/billing%2Finvoices", width=1200, height=720, dark=True)
            dark.wait("document.querySelectorAll('.chain .node').length === 4 && document.querySelector('.timeline .bar')")
            self.take(dark, "dashboard-dark.png")
            self.assertLess(int(dark.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")), 40)

            phone = self.open(server, "#/lock/orders%2Fimport", width=390, height=844, phone=True)
            phone.wait("document.querySelectorAll('.timeline .bar').length >= 5")
            self.take(phone, "dashboard-phone.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--screenshots", metavar="DIR", help="leave the pictures there")
    given, rest = options.parse_known_args()
    FOLDER = given.screenshots
    main(argv=[sys.argv[0], *rest])
