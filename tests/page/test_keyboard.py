#!/usr/bin/env python3
"""The dashboard without a pointer: keys, focus, roles."""

from dashboard import PageTest, main, row

FOCUSED = "document.activeElement"
SELECTED = "document.querySelector('.rows [aria-selected=true] .name')?.textContent"


class Keyboard(PageTest):
    def setUp(self):
        super().setUp()
        for name in ("a", "b", "c", "d"):
            self.store.hold(name)
        self.tab = self.open(self.serve())
        self.tab.wait(row("d"))

    def is_selected(self, name):
        self.tab.wait(f"{SELECTED} === '{name}'")
        # Screen readers follow this.
        self.tab.wait("document.getElementById(document.querySelector('#grid').getAttribute('aria-activedescendant'))"
                      f"?.querySelector('.name').textContent === '{name}'")

    def test_a_walk_through_the_list(self):
        tab = self.tab
        tab.press("j")
        self.is_selected("a")
        tab.press("j")
        tab.press("ArrowDown")
        self.is_selected("c")
        tab.press("k")
        self.is_selected("b")
        tab.press("End")
        self.is_selected("d")
        tab.press("Home")
        self.is_selected("a")
        tab.press("Enter")
        tab.wait("document.querySelector('#detail h2')?.textContent === 'a'")
        self.assertEqual(tab.evaluate("location.hash"), "#/lock/a")
        tab.press("j")  # beside the list, the panel follows
        tab.wait("document.querySelector('#detail h2')?.textContent === 'b'")
        tab.press("Escape")
        tab.wait("document.querySelector('#detail').hidden")
        self.assertEqual(tab.evaluate("location.hash"), "#/")
        self.assertEqual(tab.evaluate(f"{FOCUSED}.id"), "grid")
        tab.press("/")
        self.assertEqual(tab.evaluate(f"{FOCUSED}.id"), "filter")
        tab.type("j")  # a letter, not a key
        tab.wait("!document.querySelector('#empty').hidden")
        tab.press("Escape")
        tab.wait("document.querySelectorAll('.rows .row').length === 4")
        self.assertEqual(tab.evaluate(f"{FOCUSED}.id"), "grid")
        tab.press("?")
        tab.wait("document.querySelector('#keys').open")
        tab.press("Escape")
        tab.wait("!document.querySelector('#keys').open")
        self.assert_quiet(tab)

    def test_every_stop_of_the_tab_key_shows_where_it_is(self):
        tab = self.tab
        tab.evaluate("location.hash = '#/lock/a'")
        tab.wait("document.querySelector('#detail .cards')")
        tab.evaluate("document.activeElement.blur()")
        names = []
        while True:
            tab.press("Tab")
            stop = tab.evaluate(f"""(() => {{
                const element = {FOCUSED};
                const marked = [element, ...element.querySelectorAll('[aria-selected=true], rect')];
                const styles = marked.map((each) => getComputedStyle(each));
                return {{name: element.id || element.textContent.trim() || element.tagName,
                    is_body: element === document.body,
                    shows: styles.some((style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
                        || parseFloat(style.strokeWidth) > 2)}};
            }})()""")
            if stop["is_body"] or stop["name"] in names:
                break
            names.append(stop["name"])
            self.assertTrue(stop["shows"], f"the focus on {stop['name']} cannot be seen")
        for wanted in ("Locks", "Deadlocks", "Doctor", "filter", "Waiting", "grid", "Close"):
            self.assertIn(wanted, names)

    def test_the_table_says_what_it_is(self):
        tab = self.tab
        self.assertEqual(tab.evaluate("document.querySelector('#grid').getAttribute('aria-rowcount')"), "5")
        nodes = tab.send("Accessibility.getFullAXTree")["nodes"]
        roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
        self.assertIn(("grid", "Locks"), roles)
        headers = [name for role, name in roles if role == "columnheader"]
        self.assertEqual(headers[:3], ["State", "Name", "Held by"])
        self.assertEqual(len([1 for role, _ in roles if role == "row"]), 5)
        self.assertIn(("searchbox", "Filter by name, holder or label"), roles)
        self.assertTrue(any(role == "navigation" for role, _ in roles))
        controls = ("button", "link", "textbox", "combobox", "image", "img")
        unnamed = [role for role, name in roles if role in controls and not name.strip()]
        self.assertEqual(unnamed, [], "controls and pictures have names")


if __name__ == "__main__":
    main()
