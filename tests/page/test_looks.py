#!/usr/bin/env python3
"""The dashboard on a phone, in the light and in the dark, and for eyes that need contrast or calm."""

from dashboard import PageTest, main, row

# Of each text that can be seen: its contrast with the ground that is painted below it, as WCAG 2 has it.
CONTRASTS = """(() => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
        .getContext('2d', {willReadFrequently: true});
    const parse = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], ground) => [r, g, b].map((value, i) => value * a + ground[i] * (1 - a));
    const luminance = (colour) => {
        const [r, g, b] = colour.map((value) => value / 255)
            .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (element) => {
        const layers = [];
        const box = element.closest('g.node')?.querySelector('rect');
        if (box) layers.push(parse(getComputedStyle(box).fill));
        for (let each = element; each; each = each.parentElement) layers.push(parse(getComputedStyle(each).backgroundColor));
        return layers.reduceRight((ground, layer) => over(layer, ground), [255, 255, 255]);
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || element.closest('.unseen, script, noscript, title')) continue;
        if (!element.checkVisibility({visibilityProperty: true})) continue;
        const style = getComputedStyle(element);
        const ground = groundOf(element);
        const ink = luminance(over(parse(element instanceof SVGElement ? style.fill : style.color), ground));
        const [light, dark] = [ink, luminance(ground)].sort((a, b) => b - a);
        found.push({text: walker.currentNode.data.trim().slice(0, 40), contrast: (light + 0.05) / (dark + 0.05)});
    }
    return found;
})()"""


class Looks(PageTest):
    def setUp(self):
        super().setUp()
        self.store.hold("orders/import", "--label", "nightly", program="importer")
        self.store.wait_for("orders/import", program="reporter")
        self.store.hold("a-name-without-any-place-to-break-" + "x" * 200, "--label", "y" * 200)
        self.server = self.serve("--allow-release", "--secret-file", str(self.secret()))

    def secret(self):
        path = self.store.folder / "secret"
        path.touch(0o600)
        path.write_text("s" * 40 + "\n")
        return path

    def views(self, tab):
        """Goes through all that the page can show."""
        tab.wait(row("orders/import"))
        yield "list"
        tab.evaluate("location.hash = '#/lock/orders%2Fimport'")
        tab.wait("document.querySelector('.chain .node') && document.querySelector('#detail .cards')")
        tab.evaluate("document.querySelector('#detail details').open = true")
        yield "lock"
        tab.evaluate("document.querySelector('#detail .buttons .danger').click()")
        tab.wait("document.querySelector('#action').open")
        yield "question"
        tab.evaluate("document.querySelector('#action').close()")
        tab.evaluate("location.hash = '#/lock/a-name-without-any-place-to-break-' + 'x'.repeat(200)")
        tab.wait("document.querySelector('#detail h2').textContent.startsWith('a-name')")
        tab.wait("document.querySelector('.chain .node.root')")
        yield "long name"
        tab.evaluate("location.hash = '#/deadlocks'")
        tab.wait("document.querySelector('#view-deadlocks .verdict')")
        yield "deadlocks"
        tab.evaluate("location.hash = '#/doctor'")
        tab.wait("document.querySelector('#view-doctor .verdict')")
        tab.evaluate("document.querySelectorAll('#view-doctor details').forEach((each) => each.open = true)")
        yield "doctor"
        tab.evaluate("location.hash = '#/'")
        tab.evaluate("document.querySelector('#keys').showModal()")
        yield "keys"

    def test_a_phone_scrolls_in_one_direction(self):
        tab = self.open(self.server, width=360, height=740, phone=True)
        for view in self.views(tab):
            with self.subTest(view=view):
                self.assertEqual(tab.evaluate("document.documentElement.scrollWidth"), 360)
                wide = tab.evaluate("""[...document.querySelectorAll('body *')].filter((each) => each.checkVisibility()
                    && getComputedStyle(each).overflowX === 'auto' && !each.closest('.wide, pre')
                    && each.scrollWidth > each.clientWidth).map((each) => each.className || each.id)""")
                self.assertEqual(wide, [])
                out = tab.evaluate("""[...document.querySelectorAll('button, a, input, select, h1, h2')].filter((each) => {
                    const box = each.getBoundingClientRect();
                    return each.checkVisibility({visibilityProperty: true}) && box.width > 1
                        && (box.left < 0 || box.right > 360.5) && !each.closest('.wide, .cell');
                }).map((each) => each.textContent)""")
                self.assertEqual(out, [])
        self.assert_quiet(tab)

    def test_every_column_has_room_at_every_width(self):
        tab = self.open(self.server, "#/")
        tab.wait(row("orders/import"))
        for path in ("#/", "#/lock/orders%2Fimport"):
            tab.evaluate(f"location.hash = '{path}'")
            for width in range(340, 1700, 40):
                with self.subTest(path=path, width=width):
                    tab.viewport(width, 800)
                    tab.drawn()
                    cut = tab.evaluate("""(() => {
                        const end = document.querySelector('#grid').getBoundingClientRect().right;
                        return [...document.querySelectorAll('.cell')].filter((each) => each.checkVisibility()
                            && each.getBoundingClientRect().right > end).map((each) => each.className);
                    })()""")
                    self.assertEqual(cut, [])

    def test_a_row_is_opened_by_a_tap(self):
        tab = self.open(self.server, width=360, height=740, phone=True)
        tab.wait(row("orders/import"))
        x, y = tab.evaluate(f"[({row('orders/import')}).getBoundingClientRect()].flatMap(({{x, y}}) => [x + 90, y + 30])")
        tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        tab.wait("document.querySelector('#detail h2')?.textContent === 'orders/import'")
        self.assertFalse(tab.evaluate("document.querySelector('#list').checkVisibility()"))
        self.assertEqual(tab.evaluate("document.activeElement.id"), "detail-title")
        tab.evaluate("history.back()")
        tab.wait("document.querySelector('#list').checkVisibility() && document.querySelector('#detail').hidden")

    def test_every_text_has_a_contrast_of_four_and_a_half(self):
        for scheme in ("light", "dark"):
            tab = self.open(self.server, dark=scheme == "dark")
            grounds = tab.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(grounds, "rgb(244, 246, 249)" if scheme == "light" else "rgb(15, 19, 25)")
            for view in self.views(tab):
                with self.subTest(scheme=scheme, view=view):
                    texts = tab.evaluate(CONTRASTS)
                    self.assertGreater(len(texts), 8)
                    self.assertEqual([each for each in texts if each["contrast"] < 4.5], [])

    def test_nothing_moves_for_those_who_asked_for_calm(self):
        tab = self.open(self.server)
        tab.wait(row("orders/import"))
        self.assertEqual(tab.evaluate("document.getAnimations().length"), 0)
        tab.media(reduced=False)
        tab.wait("document.getAnimations().length > 0")  # or the line above would have found none in any case


if __name__ == "__main__":
    main()
