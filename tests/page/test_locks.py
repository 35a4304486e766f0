#!/usr/bin/env python3
"""The dashboard shows a real store: what is held, by whom, who waits in which order, and each change as it happens."""

import json
from urllib.parse import quote

from dashboard import PageTest, cell, granted, main, row, rows, tell


class Locks(PageTest):
    def test_loads_without_a_word_of_the_console_and_without_foreign_resources(self):
        self.store.hold("orders/import", "--label", "nightly", program="importer")
        self.store.wait_for("orders/import", program="reporter")
        server = self.serve()
        tab = self.open(server)
        tab.wait(row("orders/import"))
        self.assertIn("importer", tab.evaluate(cell("orders/import", "holder")))
        self.assertIn("nightly", tab.evaluate(cell("orders/import", "holder")))
        self.assertEqual(tab.evaluate(cell("orders/import", "waiters")), "1")
        self.assertEqual(tab.evaluate(cell("orders/import", "state")), "Waited for")
        self.assertEqual(tab.text("[data-tile=held] .value"), "1")
        self.assertEqual(tab.text("[data-tile=waiting] .value"), "1")
        foreign = [each for each in tab.requests if not each.startswith(server.url + "/")]
        self.assertEqual(foreign, [])
        self.assert_quiet(tab)

    def test_a_new_holder_appears_by_an_event_and_not_by_loading_again(self):
        tab = self.open(self.serve())
        tab.wait("!document.querySelector('#empty').hidden")
        tab.evaluate("window.sameDocument = true")
        seen = len(tab.stream)
        holder = self.store.hold("new", program="importer")
        tab.wait(row("new"))
        self.assertTrue(tab.evaluate("window.sameDocument"))
        changes = [json.loads(data) for _, kind, data in tab.stream[seen:] if kind == "change"]
        self.assertTrue(any(lock["name"] == "new" for change in changes for lock in change["changed"]))
        self.assertEqual(tab.evaluate("performance.getEntriesByType('navigation').length"), 1)

        holder.stdin.close()  # it ends, and its lock with it
        tab.wait(f"!({row('new')})")
        tab.wait("!document.querySelector('#empty').hidden")
        self.assert_quiet(tab)

    def test_ages_count_up_between_two_messages(self):
        self.store.hold("old")
        tab = self.open(self.serve())
        tab.wait(row("old"))
        count = "Number.parseInt(" + cell("old", "held") + ")"
        first = tab.evaluate(count)
        tab.wait(f"{count} >= {first + 2}")

    def test_a_lock_shows_its_queue_in_order_and_its_hand_over(self):
        first = self.store.hold("deploy", program="first")
        second = self.store.wait_for("deploy", "--label", "number two", program="second")
        self.store.wait_for("deploy", program="third")
        tab = self.open(self.serve(), "#/lock/deploy")
        programs = "[...document.querySelectorAll('.queue .program')].map((each) => each.textContent).join()"
        tab.wait(f"{programs} === 'holdfast run (second),holdfast run (third)'")
        self.assertEqual(tab.text("#detail .cards .program"), "holdfast run (first)")
        token = self.store.show("deploy")["holders"][0]["token"]
        self.assertIn(str(token), tab.text("#detail .cards .facts"))

        first.stdin.close()
        granted(second)
        tab.wait(f"{programs} === 'holdfast run (third)'")
        tab.wait("document.querySelector('#detail .cards .program').textContent === 'holdfast run (second)'")
        self.assertIn("number two", tab.text("#detail .cards .label"))
        tab.wait("document.querySelectorAll('.timeline .bar').length >= 2")
        self.assertEqual(tab.evaluate("document.querySelectorAll('.timeline .bar.now').length"), 1)
        table = "[...document.querySelectorAll('#detail table tbody tr')].map((line) => line.textContent)"
        lines = tab.evaluate(table)
        self.assertIn("second", lines[0])
        self.assertIn("holds it now", lines[0])
        self.assertIn("first", lines[1])
        self.assert_quiet(tab)

    def test_the_chain_leads_to_the_process_that_waits_for_nothing(self):
        self.store.hold("inner", program="root")
        middle = self.store.hold_and_later_wait("outer", "inner", program="middle")
        tab = self.open(self.serve(), "#/lock/outer")
        node = "[...document.querySelectorAll('.chain .node')].map((node) => node.textContent)"
        tab.wait(f"{node}.length === 2")
        tell(middle)
        tab.wait(f"{node}.length === 4")
        outer, holder, inner, root = tab.evaluate(node)
        self.assertIn("outer", outer)
        self.assertIn("(middle) on", holder)
        self.assertIn("inner", inner)
        self.assertIn("waits for it at place 1", inner)
        self.assertIn("(root) on", root)
        self.assertIn("waits for no lock of this store", root)
        tab.click(".chain a[href='#/lock/inner']")
        tab.wait("document.querySelector('#detail h2').textContent === 'inner'")
        self.assert_quiet(tab)

    def test_a_name_that_nobody_holds_is_free(self):
        tab = self.open(self.serve(), "#/lock/" + quote("no/such lock", safe=""))
        tab.wait("document.querySelector('#detail .summary').textContent === 'Nobody holds it, and nobody waits for it'")
        self.assertEqual(tab.text("#detail h2"), "no/such lock")
        self.assert_quiet(tab)

    def test_a_deadlock_is_drawn_as_a_ring_with_the_command_that_ends_it(self):
        tab = self.open(self.serve(), "#/deadlocks")
        tab.wait("document.querySelector('.verdict')?.dataset.kind === 'good'")
        pair = [self.store.hold_and_later_wait("account/1", "account/2", program="transfer"),
                self.store.hold_and_later_wait("account/2", "account/1", program="transfer")]
        for process in pair:
            tell(process)
        tab.wait("document.querySelector('.ring')")
        self.assertEqual(tab.evaluate("document.querySelector('.verdict').dataset.kind"), "broken")
        ring = tab.evaluate("document.querySelector('.ring').textContent")
        self.assertIn("waits for account/1, held by", ring)
        self.assertIn("waits for account/2, held by", ring)
        token = self.store.show("account/2")["holders"][0]["token"]
        tab.wait("document.querySelector('#deadlock-count').textContent === '1'")
        self.assertRegex(tab.text(".deadlock pre"),
                         rf"^holdfast release --force --token {token} --store 'sqlite:/.*' -- 'account/2'$")
        self.assert_quiet(tab)

    def test_doctors_findings_have_words_beside_their_colours(self):
        self.store.hold("some")
        tab = self.open(self.serve(), "#/doctor")
        tab.wait("document.querySelector('#view-doctor .verdict')")
        report = json.loads(self.store.run("doctor", "--json", check=False).stdout)
        chips = "[...document.querySelectorAll('#view-doctor .chip')].map((each) => each.textContent)"
        self.assertEqual(sorted(tab.evaluate(chips)), sorted(each["result"] for each in report["findings"]))
        tab.click("#view-doctor button")
        tab.wait("document.querySelector('#view-doctor button')?.disabled === false")
        self.assertEqual(sorted(tab.evaluate(chips)), sorted(each["result"] for each in report["findings"]))
        self.assert_quiet(tab)

    def test_tokens_keep_all_their_digits(self):
        tab = self.open(self.serve())
        text = '{"label": "\\"token\\":12345678901234567890", "token": 18446744073709551615, "holder_token":7, "age_s": 1.5}'
        self.assertEqual(tab.evaluate(f"import('/api.js').then(({{parse}}) => parse({json.dumps(text)}))"),
                         {"label": '"token":12345678901234567890', "token": "18446744073709551615", "holder_token": "7",
                          "age_s": 1.5})

    def test_sorts_and_filters(self):
        for name, options in (("alpha", []), ("beta", ["--label", "Special"]), ("gamma", [])):
            self.store.hold(name, *options)
        self.store.wait_for("gamma")
        tab = self.open(self.serve())
        tab.wait(cell("gamma", "waiters") + " === '1'")
        self.assertEqual(rows(tab), ["gamma", "alpha", "beta"])  # the most waited for first
        header = ".head .name"
        tab.click(f"{header} button")
        tab.wait(f"document.querySelector('{header}').ariaSort === 'ascending'")
        tab.wait("document.querySelector('.rows .row .name').textContent === 'alpha'")
        self.assertEqual(rows(tab), ["alpha", "beta", "gamma"])
        tab.click(f"{header} button")
        tab.wait("document.querySelector('.rows .row .name').textContent === 'gamma'")
        self.assertEqual(rows(tab), ["gamma", "beta", "alpha"])
        tab.press("/")
        tab.type("special")  # a label, in letters of another case
        tab.wait("document.querySelectorAll('.rows .row').length === 1")
        self.assertEqual(rows(tab), ["beta"])
        self.assertEqual(tab.text("#count"), "1 of 3 locks")
        self.assert_quiet(tab)


if __name__ == "__main__":
    main()
