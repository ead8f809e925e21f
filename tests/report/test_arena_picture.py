"""The picture of a plan: well-formed, complete, safe against names; what it leaves out when there is no room."""

import re
from xml.etree import ElementTree

from tflm_cy.report import Block, arena_page, arena_picture
from tflm_cy.report.arena_picture import live_bytes

SVG = "{http://www.w3.org/2000/svg}"


def block(label, first, last, offset, size, writer="ADD", **fields):
    return Block((label,), first, last, offset, size, writer, f"tensor {label}\n{size} bytes", **fields)


STEPS = ["graph input", "0 ADD", "1 ADD", "2 MUL"]
BLOCKS = [block("x", 0, 1, 0, 4096, ""), block("a", 1, 2, 4096, 8192), block("y", 2, 3, 0, 4096, "MUL")]


def picture(blocks=BLOCKS, **fields):
    text = arena_picture("model", STEPS, blocks, **fields)
    return text, ElementTree.fromstring(text)


def test_a_rectangle_with_a_hint_per_block():
    _, root = picture()
    groups = [g for g in root.iter(f"{SVG}g") if g.get("class") == "block"]
    assert [g.find(f"{SVG}title").text for g in groups] == [
        *("tensor x\n4096 bytes", "tensor a\n8192 bytes", "tensor y\n4096 bytes")
    ]
    heights = [float(g.find(f"{SVG}rect").get("height")) for g in groups]
    assert abs(heights[1] - 2 * heights[0]) < 0.2
    texts = [t.text for t in root.iter(f"{SVG}text")]
    assert {"x", "a", "y", "0 ADD", "2 MUL", "peak", "head 12,288", "ADD, MUL", "graph input"} <= set(texts)


def test_the_peak_and_the_bound():
    assert live_bytes(STEPS, BLOCKS) == [4096, 12288, 12288, 4096]
    text, _ = picture(lower_bound=8192)
    assert "lower bound 8,192" in text
    assert "lower bound" not in picture(lower_bound=12288)[0]


def test_shared_bytes_are_hatched():
    assert "fill='url(#overlap)'" not in picture()[0]
    over = [BLOCKS[0], block("a", 1, 2, 2048, 8192)]
    text, root = picture(over)
    [hatch] = [r for r in root.iter(f"{SVG}rect") if r.get("fill") == "url(#overlap)" and float(r.get("height")) > 20]
    assert "shared by two" in text and hatch is not None


def test_names_cannot_escape():
    evil = block("</text><script>alert(1)</script>\x1b[2J\udc80", 0, 3, 0, 65536)
    text, root = picture([evil])
    assert "<script" not in text and root.tag == f"{SVG}svg"
    text.encode()
    page = arena_page("<b>", ["<i>"], text, [("<u>", (["<p>"], [["<q>"]]))], ("s", "a < b"))
    assert not re.search("<(b|i|u|p|q)>", page) and "a &lt; b" in page


def test_the_first_label_that_fits():
    narrow = Block(("a very long name that does not fit anywhere " * 9, "short"), 1, 1, 0, 4096, "ADD", "")
    texts = [t.text for t in picture([narrow])[1].iter(f"{SVG}text")]
    assert "short" in texts and not any("very long" in (t or "") for t in texts)
    flat = [block("x", 0, 3, 0, 1 << 20), block("hidden", 1, 1, 1 << 20, 16)]
    assert "hidden" not in [t.text for t in picture(flat)[1].iter(f"{SVG}text")]


def test_nothing_to_show():
    ElementTree.fromstring(arena_picture("empty", [], []))


def test_many_steps_keep_their_names():
    steps = [f"{k} ADD" for k in range(300)]
    root = ElementTree.fromstring(arena_picture("long", steps, [block("x", 0, 299, 0, 64)]))
    assert float(root.get("width")) > 3000
    assert sum((t.text or "").endswith(" ADD") for t in root.iter(f"{SVG}text")) == 300
