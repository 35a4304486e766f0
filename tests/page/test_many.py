#!/usr/bin/env python3
"""Ten thousand locks, held by real processes: the page draws those that can be seen."""

from dashboard import PageTest, main, row, rows

PROCESSES = 40
NAMES = 250  # a set has at most 256
TOTAL = PROCESSES * NAMES

# The time between two pictures, or of two at once, while the list scrolls from its beginning to its end in so many steps.
SCROLL = """(async () => {
    const list = document.querySelector('#list');
    const steps = 120;
    const times = [];
    let last = performance.now(), most = 0;
    for (let i = 1; i <= steps; ++i) {
        list.scrollTop = list.scrollHeight * i / steps;
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
        most = Math.max(most, document.querySelectorAll('.rows .row').length);
    }
    times.sort((a, b) => a - b);
    return {middle: times[steps / 2], longest: times.at(-1), most};
})()"""


class Many(PageTest):
    def test_ten_thousand_locks(self):
        holders = []
        for process in range(PROCESSES):
            names = [f"many/{process:02d}/{i:03d}" for i in range(NAMES)]
            options = [word for name in names[1:] for word in ("--and", name)]
            # One after the other: together they would keep one another out of the file for longer than they bear.
            holders.append(self.store.hold(names[0], "--ttl", "10m", *options))
        tab = self.open(self.serve())
        tab.wait(f"document.querySelector('#count').textContent === '{TOTAL:,} locks'")
        tab.wait(row("many/00/000"))
        self.assertEqual(tab.evaluate("document.querySelector('#grid').getAttribute('aria-rowcount')"), str(TOTAL + 1))

        scrolled = tab.evaluate(SCROLL)
        print(f"two pictures while it scrolls: {scrolled['middle']:.0f} ms, at most {scrolled['longest']:.0f} ms; "
              f"rows at most: {scrolled['most']}")
        self.assertLess(scrolled["most"], 100)
        tab.wait(row("many/39/249"))
        self.assertLess(tab.evaluate("document.querySelectorAll('*').length"), 2000)

        # Elements are used again: what they show is in order, and each row is where its number says.
        shown = rows(tab)
        self.assertEqual(shown, sorted(shown))
        tab.press("Home")
        tab.wait(row("many/00/000"))
        self.assertEqual(rows(tab)[:3], ["many/00/000", "many/00/001", "many/00/002"])
        places = tab.evaluate("""(() => {
            const top = document.querySelector('.rows').getBoundingClientRect().top;
            return [...document.querySelectorAll('.rows .row')].map((row) => [Number(row.getAttribute('aria-rowindex')),
                Math.round((row.getBoundingClientRect().top - top) / row.offsetHeight)]);
        })()""")
        self.assertTrue(all(number == place + 2 for number, place in places), places)

        tab.press("/")
        tab.type("39/24")
        tab.wait("document.querySelector('#count').textContent === '10 of 10,000 locks'")
        self.assertEqual(rows(tab), [f"many/39/{i}" for i in range(240, 250)])
        tab.press("Escape")

        # A change among so many is an event of one lock.
        seen = len(tab.stream)
        self.store.wait_for("many/20/100")
        tab.wait("document.querySelector('.rows .row .name').textContent === 'many/20/100'")
        changes = [len(data) for _, kind, data in tab.stream[seen:] if kind == "change"]
        print(f"bytes of the changes: {changes}")
        self.assertTrue(changes and max(changes) < 10_000)
        self.assertEqual([kind for _, kind, _ in tab.stream[seen:] if kind == "snapshot"], [])

        holders[0].stdin.close()
        tab.wait(f"document.querySelector('#count').textContent === '{TOTAL - NAMES:,} locks'")
        self.assert_quiet(tab)


if __name__ == "__main__":
    main()
