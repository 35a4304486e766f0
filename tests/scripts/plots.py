#!/usr/bin/env python3
"""What the programs of bench write from figures: tables in their pages; plots that are whole, named and free of a background."""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import compare_plots  # noqa: E402
import figures  # noqa: E402
import plot  # noqa: E402

WORDS = {"crash": "one holder", "failover": "one holder", "needs": "a disk & <care>"}
FIGURES = {
    "rounds": 3, "length_s": 3, "ttl_s": 5, "date": "2026-11-01", "machine": "x86_64", "cores": 2,
    "disk_write_p50_us": 136.2, "disk_write_p99_us": 290.0, "stores": [
        {"store": "SQLite", "writes": "with the system", **WORDS, "pair_p50_us": 13.1, "pair_p90_us": 20.0,
         "pair_p99_us": 47.4, "pair_p999_us": 220.5, "pairs_per_s": 72358.0, "handover_p50_us": 102.0, "killed_s": 4.9,
         "ended_s": 0.011, "handovers_per_s": {"2": 9000.5, "8": 8800.0, "32": 8000.0, "128": 7000.0}},
        {"store": "ZooKeeper", "writes": "on the disk", **WORDS, "pair_p50_us": 681.0, "pair_p90_us": 900.0,
         "pair_p99_us": 3000.0, "pair_p999_us": 12000.0, "pairs_per_s": 8476.0, "handover_p50_us": 626.0, "killed_s": 5.1,
         "ended_s": 0.002, "handovers_per_s": {"2": 1500.0, "8": 1490.0, "32": 1480.0, "128": 1470.0}},
        {"store": "MariaDB", "writes": "on the disk", **WORDS, "problem": "no | /usr/sbin/mariadbd"},
    ]}
SVG = "{http://www.w3.org/2000/svg}"
PAGE = "before\n<!-- bench/compare writes from here -->\nold\n<!-- to here -->\nafter\n"


def texts(svg):
    return [each.text for each in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}text")]


def hints(svg):
    return [each.text for each in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}title")]


class Plots(unittest.TestCase):
    drawings = compare_plots.drawn(FIGURES)

    def test_all_are_drawn(self):
        self.assertEqual(list(self.drawings), list(compare_plots.PLOTS))

    def test_each_has_a_title_a_name_for_readers_and_no_background(self):
        for name, svg in self.drawings.items():
            with self.subTest(name):
                picture = xml.etree.ElementTree.fromstring(svg)
                self.assertEqual(picture.get("role"), "img")
                self.assertEqual(picture.get("aria-label"), texts(svg)[0])
                width, height = (float(each) for each in picture.get("viewBox").split()[2:])
                for each in picture.iter(f"{SVG}rect"):
                    self.assertLess(float(each.get("width")) * float(each.get("height")), width * height / 10)
                self.assertNotRegex(svg, r"#fff\b|#000\b|white|black|<script|href")

    def test_all_lies_within_the_picture(self):
        for name, svg in self.drawings.items():
            picture = xml.etree.ElementTree.fromstring(svg)
            width, height = (float(each) for each in picture.get("viewBox").split()[2:])
            for each in picture.iter():
                for at, most in (("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("y1", height),
                                 ("y2", height), ("cy", height)):
                    if each.get(at) is not None:
                        with self.subTest(name, tag=each.tag, attribute=at):
                            self.assertTrue(0 <= float(each.get(at)) <= most, each.get(at))

    def test_latencies_have_each_store_and_share_and_units(self):
        svg = self.drawings["stores-latency.svg"]
        self.assertTrue({"p50", "p90", "p99", "p99.9", "SQLite, with the system", "13 µs", "220 µs", "12 ms"} <= {*texts(svg)},
                        texts(svg))
        self.assertIn("ZooKeeper, on the disk, p99: 3 ms", hints(svg))
        self.assertNotIn("MariaDB", svg)

    def test_lines_have_their_axes_and_all_points(self):
        svg = self.drawings["stores-waiters.svg"]
        self.assertTrue({"grants a second", "contenders in two processes, on one client each", "2", "8", "32", "128", "1 000", "10 000"}
                        <= {*texts(svg)}, texts(svg))
        self.assertEqual(len(hints(svg)), 8)
        self.assertIn("ZooKeeper, on the disk, 128: 1,470", hints(svg))
        dashes = [each.get("stroke-dasharray") for each in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}polyline")]
        self.assertEqual(len(dashes), len({*dashes}))

    def test_recoveries_are_in_seconds_and_name_the_ttl(self):
        svg = self.drawings["stores-recovery.svg"]
        self.assertIn("ttl of 5 s", texts(svg)[0])
        self.assertIn("ZooKeeper, on the disk, holder killed (SIGKILL): 5.1 s", hints(svg))
        self.assertIn("SQLite, with the system, holder asked to end (SIGTERM): 11 ms", hints(svg))

    def test_an_axis_has_the_right_place_for_a_value(self):
        svg = plot.ranges("t", {"a": {"s": 10.0}, "b": {"s": 1000.0}, "c": {"s": 100.0}}, ["s"])
        marks = [float(each.get("cx")) for each in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}circle")][1:]
        self.assertTrue(math.isclose(marks[2], (marks[0] + marks[1]) / 2, abs_tol=0.2), marks)

    def test_figures_stand_beside_their_targets(self):
        table = figures.Table("Redis")
        table.heading("server and client on a core each")
        table.add("lock + unlock, p50", "90 us")
        table.judge("  / raw", 1.2, "1.20", most=0.8)
        table.judge("in flight", 1.1, "1.10", least=0.55)
        self.assertEqual(table.shares, {"server and client on a core each: lock + unlock, p50 / raw": 1.2 / 0.8,
                                        "server and client on a core each: in flight": 0.5})
        svg = plot.shares("t", {"Redis": table.shares})
        self.assertIn("Redis, server and client on a core each: in flight: 0.5 of the target", hints(svg))
        x_of = {text: float(each.get("x1")) for text, each in zip(["0.1 x", "1", "10 x"], [
            each for each in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}line")])}
        met = float(next(xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}circle")).get("cx"))
        self.assertTrue(x_of["0.1 x"] < met < x_of["1"], "what is met stands before the line")
        self.assertEqual(len(list(xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}path"))), 1, "one was missed")

    def test_what_stands_before_a_colon_is_a_heading_and_no_label_begins_outside_of_the_picture(self):
        names = [f"servers on one core, clients on another: hand-over between 2 processes, {what}"
                 for what in ("p50", "p50 carried out there, in scripts too")]
        texts = list(xml.etree.ElementTree.fromstring(plot.shares("t", {"Redis": dict.fromkeys(names, 0.5)}))
                     .iter(f"{SVG}text"))
        self.assertEqual([each.text for each in texts].count("servers on one core, clients on another"), 1)
        labels = [each for each in texts if each.get("text-anchor") == "end"]
        self.assertEqual([each.text for each in labels], [name.split(": ")[1] for name in names])
        widest = 6.3  # pixels a letter, on the average of these, in a browser
        for each in labels:
            self.assertGreater(float(each.get("x")) - widest * len(each.text), 0, each.text)

    def test_labels_keep_apart_and_in_order(self):
        self.assertEqual(plot.apart([10, 10, 50, 12], 15), [10, 25, 55, 40])

    def test_figures_of_an_older_run_draw_what_they_have(self):
        old = FIGURES | {"stores": [{key: row[key] for key in (*WORDS, "store", "writes", "pair_p50_us", "pair_p99_us",
                                                               "pairs_per_s", "handover_p50_us")}
                                    for row in FIGURES["stores"][:2]]}
        self.assertEqual(list(compare_plots.drawn(old)), ["stores-latency.svg"])


class Page(unittest.TestCase):
    def written(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "page.md"
        self.results = self.folder / "results.md"
        self.page.write_text(PAGE)
        self.results.write_text(PAGE)
        figures = self.folder / "figures.json"
        figures.write_text(json.dumps(FIGURES))
        return subprocess.run([sys.executable, BENCH / "compare", "--figures", figures, "--output", self.page, "--results",
                               self.results, *arguments], capture_output=True, text=True)

    def test_pages_and_plots_are_written_from_figures(self):
        ended = self.written()
        self.assertEqual(ended.returncode, 1, "a store was not measured")
        self.assertIn("MariaDB, writes on the disk: no", ended.stderr)
        text, results = self.page.read_text(), self.results.read_text()
        for each in (text, results):
            self.assertTrue(each.startswith("before\n") and each.endswith("<!-- to here -->\nafter\n"))
            self.assertNotIn("\nold\n", each)
            self.assertIn("2026-11-01", each)
        self.assertIn("| 13 µs / 47 µs", text)
        self.assertIn("medians of 3 rounds of 3 s.\nForcing 4 KiB to the disk took 136 µs", results)
        self.assertIn("**not measured: no \\| …**", text)
        for name, svg in Plots.drawings.items():
            self.assertEqual((self.folder / name).read_text(), svg)
            self.assertRegex(results, rf"!\[.{{30,}}\]\({re.escape(name)}\)")
        self.assertNotIn("![", text)

    def test_figures_are_printed_and_nothing_is_written(self):
        ended = self.written("--json")
        self.assertEqual(json.loads(ended.stdout), FIGURES)
        self.assertEqual([self.page.read_text(), self.results.read_text()], [PAGE, PAGE])
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["figures.json", "page.md", "results.md"])


PAIR = {"p50_us": 43.0, "p99_us": 1349.0, "client_us": 88.0, "server_us": 86.0}
HANDOFF = PAIR | {"handovers": 300, "duration_s": 3}
REDIS = {"date": "2026-11-01", "machine": "x86_64", "cores": 2, "loads": [1.0], "missing": {},
         "ttl_ms": {"caught_up": 12000, "held_back": 30000},
         "groups": {"server": {"costs": {"Holdfast": {"pair": [PAIR], "handoff": [HANDOFF]}}, "caught_up": [],
                               "held_back": []}}}
CELLS = {"1": [PAIR | {"per_s": 4000.0, "errors": 0}]}
REDLOCK = {"date": "2026-11-01", "machine": "x86_64", "cores": 2, "loads": [1.0], "missing": {}, "rounds": 1,
           "quick": False, "regime": "servers on one core, clients on another",
           "lengths": {"pair_s": 3, "contended_s": 5, "limit_s": 15},
           "floors": {"pair": [PAIR | {"per_s": 20000.0}], "hop": [PAIR]}, "one_server": {"Holdfast, one server": CELLS},
           "cells": {"up": {"Holdfast": CELLS}}}


class Results(unittest.TestCase):
    """The pages of bench/results: a program finds its place in its page, and leaves the rest of it alone."""

    def written(self, program, figures, *more):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        before = (BENCH / "results" / f"{program.partition('_')[2]}.md").read_text()
        page, read = self.folder / "page.md", self.folder / "figures.json"
        page.write_text(before)
        read.write_text(json.dumps(figures))
        ended = subprocess.run([sys.executable, BENCH / program, "--figures", read, "--output", page, *more],
                               capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        after = page.read_text()
        begin, end = f"<!-- bench/{program} writes from here -->\n", "<!-- to here -->\n"
        self.assertEqual((after.partition(begin)[0], after.partition(end)[2]),
                         (before.partition(begin)[0], before.partition(end)[2]))
        self.assertIn("Measured on 2026-11-01", after)
        return after

    def test_one_server_sentinel_and_cluster(self):
        self.assertIn("| one server | Holdfast | 43 (43..43)", self.written("compare_redis", REDIS))

    def test_redlock_with_its_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder) / "redlock.svg"
            text = self.written("compare_redlock", REDLOCK, "--plot", drawn)
            self.assertTrue(drawn.read_text().startswith("<svg"))
        self.assertIn("| all five up | Holdfast ", text)
        self.assertIn("](redlock.svg)", text)


if __name__ == "__main__":
    unittest.main()
