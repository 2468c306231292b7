#!/usr/bin/env python3
"""Trees of register blocks: what they become; each mistake is refused with the file and the register or block."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from registers import description, tree_rtl, tree_text  # noqa: E402
from registers.tree import Tree  # noqa: E402

MAP = '[map]\nname = "m"\nabout = "Of a test."\n'
ROW = 'about = "."\n'


def block(name="b", level="block", extra="", offset=0, size=64):
    return f'[[{level}]]\nname = "{name}"\noffset = {offset}\nbytes = {size}\n{extra}{ROW}'


def register(name="r", level="block.register", extra="", offset=0, bits=32, kind="read"):
    return f'[[{level}]]\nname = "{name}"\noffset = {offset}\nbits = {bits}\nkind = "{kind}"\n{extra}{ROW}'


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "map.toml"
        path.write_text(text)
        return Tree(path)


class Trees(unittest.TestCase):
    def test_blocks_in_blocks_have_addresses_and_clocks(self):
        made = read(MAP + block("a", size=256) + register() +
                    block("l", offset=0x400, size=256, extra="count = 2\nown_clock = true\n") + register() +
                    block("p", "block.block", offset=0x40, size=32, extra="count = 3\n") +
                    register("x", "block.block.register") +
                    block("q", "block.block", offset=0xc0, size=32, extra="own_clock = true\n") +
                    register("y", "block.block.register"))
        blocks = {b.path: b for b in made.all_blocks()}
        self.assertEqual(blocks["l_p"].bases(), [0x440, 0x460, 0x480, 0x540, 0x560, 0x580])
        self.assertEqual(blocks["l_q"].bases(), [0x4c0, 0x5c0])
        self.assertIsNone(blocks["a"].clock)
        self.assertEqual(blocks["l_p"].clock.path, "l")
        self.assertEqual([blocks["l_p"].clock_index(i) for i in range(6)], [0, 0, 0, 1, 1, 1])
        self.assertEqual(blocks["l_q"].clock.path, "l_q")
        text = tree_rtl.whole(made, "")
        self.assertIn("stopbit_register_crossing clock_l_1", text)
        self.assertIn("stopbit_register_crossing clock_l_q_0", text)
        self.assertIn("index / 3 * 0x100 + index % 3 * 0x20", tree_text.header(made, "", ""))

    def test_words_do_not_change_the_revision_and_all_else_does(self):
        def revision(text):
            return read(text).roots[0].registers[0].value
        base = MAP + block() + register(kind="constant", extra='value = "revision"\n') + register("s", offset=4)
        self.assertEqual(revision(base), revision(base.replace('about = "."', 'about = "Other words."')))
        self.assertNotEqual(revision(base), revision(base.replace('name = "s"', 'name = "t"')))
        self.assertNotEqual(revision(base), revision(base.replace("offset = 4", "offset = 8")))

    def test_mistakes_are_refused(self):
        one = MAP + block()
        for text, *parts in (
                (MAP, "the file", "has no block"),
                (block() + register(), "the file", "has no map"),
                (one, "block b", "is empty"),
                (MAP + block(size=48) + register(), "block b", "power of two"),
                (MAP + block(offset=32) + register(), "block b", "not a multiple"),
                (MAP + block(offset=0x10000) + register(), "block b", "offset is 65536"),
                (MAP + block(extra="count = 2000\n") + register(), "block b", "count is 2000"),
                (MAP + block(offset=0xff80, extra="count = 3\n") + register(), "block b", "ends beyond"),
                (MAP + block(extra='own_clock = "yes"\n') + register(), "block b", "own_clock is 'yes'"),
                (MAP + block(extra="clock = 3\n") + register(), "block b", "'clock' is not known"),
                (MAP + block("switch") + register(), "block switch", "is a word of C++ or SystemVerilog"),
                (one + register("wire"), "register wire", "is a word of C++ or SystemVerilog"),
                (MAP + block("a") + register() + block("b", offset=32, size=32) + register(), "block b",
                 "belongs to block a"),
                (MAP + block("a") + register() + block("a", offset=64) + register(), "block a", "name"),
                (one + register(offset=64), "register r", "outside of block b"),
                (one + register() + register("s"), "register s", "belongs to block b: register r"),
                (one + register() + register(offset=4), "register r", "its name is taken"),
                (one + register(offset=32) + block("c", "block.block", offset=32, size=32) +
                 register(level="block.block.register"), "register r", "belongs to block b_c"),
                (one + register() + block("c", "block.block", offset=32, size=32, extra="count = 2\n") +
                 register(level="block.block.register"), "block b_c", "ends beyond the 0x40 bytes of block b"),
                (one + register(kind="counter", extra='clear = "never"\n'), "register r", "clear is 'never'"),
                (one + register(kind="counter", extra="width = 4\nstep = 5\n"), "register r", "steps of 5 bits"),
                (one + register(kind="counter", extra="snapshot = true\n"), "register r",
                 "needs one command with snapshot"),
                (one + register(kind="command", extra="snapshot = true\n"), "register r", "no counter with snapshot"),
                (one + register("c", kind="counter", extra='snapshot = true\nclear = "read"\n') +
                 register(kind="command", offset=4, extra="snapshot = true\n"), "register c", "cannot be cleared"),
                (one + register(extra="saturates = true\n"), "register r", "'saturates' is not known"),
                (one + register(kind="table"), "register r", "has no words"),
                (one + register(kind="table", extra="words = 3\n"), "register r", "power of two of words"),
                (one + register(kind="table", offset=4, extra="words = 4\n"), "register r", "multiple of its bytes"),
                (one + register(kind="kept", bits=64), "register r", "a kept register has 32 bits"),
                (one + register(bits=64, extra="width = 32\n"), "register r", "32 are enough"),
                (one + register(kind="constant", extra='value = "now"\n'), "register r", "value is 'now'"),
                (one + register(kind="command") + register("r_valid", kind="command", offset=4), "r_valid",
                 "needed for another")):
            with self.subTest(parts=parts):
                with self.assertRaises(description.Mistake) as caught:
                    read(text)
                for part in ("map.toml: ", *parts):
                    self.assertIn(part, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
