#!/usr/bin/env python3
"""Descriptions of the kernel that make no sense: each is refused, with the file and the register in the message."""
import pathlib
import sys
import tempfile
import unittest

FPGA = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FPGA))
sys.path.insert(0, str(FPGA / "kernel"))

import generate  # noqa: E402
from registers import description  # noqa: E402

BASE = """
kernel = { name = "k", vendor = "v", version = "1.0", window_bytes = 256, interface_version = 3 }
port = []
[[register]]
name = "id"
offset = 0x10
bits = 32
kind = "constant"
value = "interface_version"
about = "."
"""


def register(**changes):
    entry = {"name": "x", "offset": 0x20, "bits": 32, "kind": "read", "about": ".", **changes}
    lines = [f"{key} = {value if isinstance(value, str) and value[:1] in '[{' else repr(value)}"
             for key, value in entry.items() if value is not None]
    return "[[register]]\n" + "\n".join(lines).replace("True", "true") + "\n"


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "registers.toml"
        path.write_text(text)
        return generate.Description(path)


class Kernel(unittest.TestCase):
    def refuses(self, text, *parts):
        with self.assertRaises(description.Mistake) as caught:
            read(text)
        for part in ("registers.toml: ", *parts):
            self.assertIn(part, str(caught.exception))

    def test_takes_what_makes_sense(self):
        made = read(BASE + register(bits=64, kind="write", width=40))
        self.assertEqual([(r.name, address) for r, _, address in made.all()], [("id", 0x10), ("x", 0x20)])
        self.assertEqual(made.registers[0].value, 3)

    def test_refuses_a_register_that_makes_no_sense(self):
        for changes, part in (
                ({"name": "X y"}, "lower-case words"),
                ({"name": "id"}, "its name is taken"),
                ({"name": None}, "name None"),
                ({"offset": None}, "has no offset"),
                ({"about": None}, "has no about"),
                ({"offset": 0x22}, "not a multiple of its 4 bytes"),
                ({"offset": 0x24, "bits": 64}, "not a multiple of its 8 bytes"),
                ({"offset": 0x10}, "belongs to register id, too"),
                ({"offset": 0x0c}, "outside of the window"),
                ({"offset": 0x100}, "outside of the window"),
                ({"offset": "here"}, "offset is 'here'"),
                ({"bits": 16}, "bits is 16, must be one of 32, 64"),
                ({"kind": "counter"}, "kind is 'counter', must be one of constant, read, write, command, sticky"),
                ({"kind": "sticky", "bits": 64}, "a sticky register has 32 bits"),
                ({"width": 33}, "width is 33"),
                ({"width": 0}, "width is 0"),
                ({"widht": 3}, "'widht' is not known here"),
                ({"value": 3}, "'value' is not known here"),
                ({"width": 4, "fields": '[{ name = "f", bit = 4, about = "." }]'}, "its fields need 5 bits, it has 4"),
                ({"fields": '[{ name = "f", bit = 32, about = "." }]'}, "field f: bit is 32"),
                ({"fields": '[{ name = "f", bit = 30, width = 3, about = "." }]'}, "field f: width is 3"),
                ({"fields": '[{ name = "f", about = "." }]'}, "field f: has no bit"),
                ({"fields": '[{ name = "f", bit = 1, abuot = "." }]'}, "'abuot' is not known here"),
                ({"fields": '[{ name = "f", bit = 1, width = 2, about = "." }, { name = "g", bit = 2, about = "." }]'},
                 "field g: its bits belong to another field"),
                ({"fields": '[{ name = "f", bit = 1, about = "." }, { name = "f", bit = 2, about = "." }]'},
                 "same name")):
            with self.subTest(**changes):
                name = changes.get("name", "x")
                where = f"register {name}" if name and " " not in name else "register"
                self.refuses(BASE + register(**changes), part, where)

    def test_refuses_groups_that_do_not_fit(self):
        group = '[[group]]\nname = "g"\noffset = 0x40\nstride = 8\ncount = 2\n'
        inner = register(offset=0).replace("[[register]]", "[[group.register]]")
        self.assertEqual([a for _, _, a in read(BASE + group + inner).all()], [0x10, 0x40, 0x48])
        beyond = register(offset=8).replace("[[register]]", "[[group.register]]")
        self.refuses(BASE + group + beyond, "group g", "stride")
        self.refuses(BASE + group.replace("0x40", "0xfc") + inner, "register g_x", "outside of the window")
        self.refuses(BASE + group.replace("stride = 8\n", "") + inner, "group g", "has no stride")

    def test_refuses_files_that_are_no_description(self):
        self.refuses("[[register", "Expected")
        self.refuses("", "has no kernel")


if __name__ == "__main__":
    unittest.main()
