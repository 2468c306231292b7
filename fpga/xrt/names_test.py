#!/usr/bin/env python3
"""What the pages and files for a card name is there: registers in stopbit_mac.xdc, ports of the kernel in alveo.md."""

import pathlib
import re
import unittest
import xml.etree.ElementTree as tree

HERE = pathlib.Path(__file__).parent
RTL = HERE.parent / "rtl"
CELL = re.compile(r"NAME =~ ([\w/]+)_reg\*")
NESTED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
PORT = re.compile(r"\bstopbit_decoder_1\.(\w+)")


def module(name):
    """The text of a module, without comments."""
    path, = RTL.glob(f"*/{name}.sv")
    return re.sub(r"//[^\n]*", "", path.read_text())


def instances(text):
    """The modules of a module's instances, by their names."""
    return {name: of for of, name in re.findall(rf"\b(stopbit_\w+)\s*(?:#\s*\({NESTED}\)\s*)?(\w+)\s*\(\s*\.", text)}


def is_register(top, path):
    """Whether a cell `instance/.../register` is below the module."""
    *parts, register = path.split("/")
    text = module(top)
    for part in parts:
        within = instances(text)
        if part not in within:
            return False
        text = module(within[part])
    return re.search(rf"\b{register}\s*<=", text) is not None


class Names(unittest.TestCase):
    def test_cells_of_the_constraints_are_registers(self):
        cells = CELL.findall((HERE / "stopbit_mac.xdc").read_text())
        self.assertGreaterEqual(len(cells), 16)
        for cell in cells:
            self.assertTrue(is_register("stopbit_mac_input", cell), cell)

    def test_what_is_no_register_is_seen(self):
        for cell in ("fifo/write_gray", "fifo/no_such/first_q", "no_such/first_q", "figures/turn"):
            self.assertFalse(is_register("stopbit_mac_input", cell), cell)

    def test_ports_of_the_link_recipes_are_the_kernels(self):
        ports = {port.get("name") for port in tree.parse(HERE.parent / "kernel/generated/kernel.xml").iter("port")}
        named = PORT.findall((HERE / "alveo.md").read_text())
        self.assertGreaterEqual(len(named), 4)
        for port in named:
            self.assertIn(port, ports)


if __name__ == "__main__":
    unittest.main()
