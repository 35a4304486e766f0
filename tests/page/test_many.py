#!/usr/bin/env python3
"""Ten thousand locks, held by real processes, a tenth of them with a queue: the page draws those that can be seen."""

import json
import sqlite3
import time

from dashboard import PageTest, main, row, rows

PROCESSES = 40
NAMES = 250  # a set has at most 256
TOTAL = PROCESSES * NAMES
QUEUES = 26  # of each process but the first, whose names are to be free when it ends
# Of so many queues the server looks at the first waiter with each reading.
LOOKS = 20

# Scrolls the list from its beginning to its end in so many steps. How many rows there are at most, and how many elements
# have been rows.
SCROLL = """(async () => {
    const list = document.querySelector('#list'), body = document.querySelector('.rows');
    const elements = new Set(body.children);
    const seen = new MutationObserver((records) => {
        for (const {addedNodes} of records) for (const node of addedNodes) elements.add(node);
    });
    seen.observe(body, {childList: true});
    const steps = 120;
    let most = 0;
    for (let i = 1; i <= steps; ++i) {
        list.scrollTop = list.scrollHeight * i / steps;
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        most = Math.max(most, body.children.length);
    }
    seen.disconnect();
    return {most, elements: elements.size};
})()"""

# The names of the rows in which something but a time is written from now on.
OBSERVE = """(() => {
    window.written = new Set();
    new MutationObserver((records) => {
        for (const {target} of records) {
            const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
            const row = element?.closest('.row');
            if (row && !element.closest('.held, .wait')) window.written.add(row.querySelector('.name').textContent);
        }
    }).observe(document.querySelector('.rows'), {subtree: true, childList: true, characterData: true, attributes: true});
})()"""


class Many(PageTest):
    def queue_up(self):
        """A waiter for a tenth of the names, written into the file: what waits there is no matter of the page."""
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        ttl = 3600 * 1_000_000
        metadata = json.dumps({"host": "elsewhere", "pid": 1, "program": "waiter"})
        which = "name >= 'many/01/' AND substr(name, -3) < ?"
        with sqlite3.connect(self.store.folder / "locks.db", timeout=60) as file:
            queued = file.execute(
                "INSERT INTO holdfast_locks_claims (name, token, owner, client, weight, ttl, expires, since, metadata)"
                " SELECT name, token + 1, randomblob(16), randomblob(16), 1 << 30, ?, ?, ?, ? FROM holdfast_locks"
                f" WHERE {which}", (ttl, now + ttl, now, metadata, f"{QUEUES:03d}")).rowcount
            file.execute(f"UPDATE holdfast_locks SET token = token + 1 WHERE {which}", (f"{QUEUES:03d}",))
        file.close()
        self.assertGreaterEqual(queued, TOTAL // 10)
        return queued

    def test_ten_thousand_locks(self):
        holders = []
        for process in range(PROCESSES):
            names = [f"many/{process:02d}/{i:03d}" for i in range(NAMES)]
            options = [word for name in names[1:] for word in ("--and", name)]
            # One after the other: together they would keep one another out of the file for longer than they bear.
            holders.append(self.store.hold(names[0], "--ttl", "10m", *options))
        queued = self.queue_up()
        tab = self.open(self.serve())
        tab.wait(f"document.querySelector('#count').textContent === '{TOTAL:,} locks'")
        tab.wait(row("many/01/000"))
        self.assertEqual(tab.text("[data-tile=waiting] .value"), f"{queued:,}")
        self.assertEqual(tab.evaluate("document.querySelector('#grid').getAttribute('aria-rowcount')"), str(TOTAL + 1))

        scrolled = tab.evaluate(SCROLL)
        self.assertLess(scrolled["most"], 100)
        self.assertLess(scrolled["elements"], 100, "elements are used again")
        tab.wait(row("many/39/249"))
        self.assertLess(tab.evaluate("document.querySelectorAll('*').length"), 2000)

        # What they show is in order, and each row is where its number says.
        shown = rows(tab)
        self.assertEqual(shown, sorted(shown))
        tab.press("Home")
        tab.wait(row("many/01/000"))
        self.assertEqual(rows(tab)[:3], ["many/01/000", "many/01/001", "many/01/002"])  # those with waiters first
        places = tab.evaluate("""(() => {
            const top = document.querySelector('.rows').getBoundingClientRect().top;
            return [...document.querySelectorAll('.rows .row')].map((row) => [Number(row.getAttribute('aria-rowindex')),
                Math.round((row.getBoundingClientRect().top - top) / row.offsetHeight)]);
        })()""")
        self.assertTrue(all(number == place + 2 for number, place in places), places)

        tab.press("/")
        tab.type("39/24")
        tab.wait("document.querySelector('#count').textContent === '10 of 10,000 locks'")
        tab.drawn()
        self.assertEqual(rows(tab), [f"many/39/{i}" for i in range(240, 250)])
        tab.press("Escape")

        # A change among so many is an event of that lock, and of those whose first waiter was looked at.
        seen = len(tab.stream)
        self.store.wait_for("many/20/010")
        tab.wait("document.querySelector('.rows .row .name').textContent === 'many/20/010'")
        changes = [json.loads(data)["changed"] for _, kind, data in tab.stream[seen:] if kind == "change"]
        self.assertIn("many/20/010", [lock["name"] for change in changes for lock in change])
        self.assertLessEqual(max(len(change) for change in changes), LOOKS + 1)
        self.assertEqual([kind for _, kind, _ in tab.stream[seen:] if kind == "snapshot"], [])

        # And where it moves no row, it writes into one.
        tab.click(".head .name button")
        tab.wait("document.querySelector('.rows .row .name').textContent === 'many/00/000'")
        tab.evaluate(OBSERVE)
        self.store.wait_for("many/00/005")
        tab.wait(f"({row('many/00/005')}).querySelector('.waiters').textContent === '1'")
        tab.drawn()
        self.assertEqual(tab.evaluate("[...written]"), ["many/00/005"])

        holders[0].stdin.close()  # of its names one has a waiter
        tab.wait(f"document.querySelector('#count').textContent === '{TOTAL - NAMES + 1:,} locks'")
        self.assert_quiet(tab)


if __name__ == "__main__":
    main()
