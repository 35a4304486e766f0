#!/usr/bin/env python3
"""How soon a change is on the page. It depends on the machine, so only scripts/hunt runs this."""

import time

from dashboard import PageTest, main, row


class Delay(PageTest):
    def test_a_change_is_on_the_page_within_a_second(self):
        tab = self.open(self.serve())
        delays = []
        while len(delays) < 5 and min(delays, default=1) >= 1:  # other processes may keep the processors busy
            name = f"new{len(delays)}"
            self.store.hold(name)
            held = time.monotonic()
            tab.wait(row(name))
            delays.append(time.monotonic() - held)
        self.assertLess(min(delays), 1, f"seconds from the grant to the row: {delays}")


if __name__ == "__main__":
    main()
