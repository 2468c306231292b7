#!/usr/bin/env python3
"""Longest paths of small netlists, made by hand, and the table's rules."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from timing import gate, measure, paths  # noqa: E402


def cell(kind, outputs=(), **connections):
    return {"type": kind, "connections": connections,
            "port_directions": {port: "output" if port in outputs else "input" for port in connections}}


def netlist(cells, inputs=None, outputs=None):
    ports = {name: {"direction": "input", "bits": bits} for name, bits in (inputs or {}).items()}
    ports |= {name: {"direction": "output", "bits": bits} for name, bits in (outputs or {}).items()}
    names = {f"n{bit}": {"bits": [bit]} for made in cells.values()
             for bits in made["connections"].values() for bit in bits if isinstance(bit, int)}
    return paths.Netlist({"cells": cells, "ports": ports, "netnames": names})


def flip_flop(data, out):
    return cell("FDRE", ("Q",), C=[1], CE=["1"], R=["0"], D=[data], Q=[out])


def lut(out, *sources):
    return cell(f"LUT{len(sources)}", ("O",), O=[out], **{f"I{at}": [source] for at, source in enumerate(sources)})


class Paths(unittest.TestCase):
    def test_count_luts_between_registers(self):
        longest, levels = netlist({"a": flip_flop(20, 10), "x": lut(11, 10), "y": lut(12, 11, 10), "b": flip_flop(12, 13)},
                                  {"clk": [1], "in": [20]}).longest()
        path = longest["register", "register"]
        self.assertEqual((path.levels, path.begin, path.end), (2, "n10", "n13"))
        self.assertEqual(levels["register", "register"], 2)
        # Clock to output, two LUTs, nets of fan-out 2, 1 and 1, set-up.
        self.assertAlmostEqual(path.ns, 0.08 + (0.2 + 0.0715) + 0.1 + 0.2 + 0.1 + 0.2 + 0.04)
        self.assertEqual([step[0] for step in path.steps], ["n10", "n11", "n12"])

    def test_tell_ports_from_registers(self):
        longest, _ = netlist({"x": lut(11, 2, 3), "a": flip_flop(11, 10), "y": lut(12, 10), "z": lut(13, 2)},
                             {"clk": [1], "in": [2, 3]}, {"out": [12], "through": [13]}).longest()
        self.assertEqual({key: path.levels for key, path in longest.items()},
                         {("port", "register"): 1, ("register", "port"): 1, ("port", "port"): 1})

    def test_go_along_a_carry_chain_and_not_against_it(self):
        carry = cell("CARRY4", ("CO", "O"), CI=["0"], CYINIT=["0"], DI=["0"] * 4, S=[10, "0", "0", 14],
                     CO=[30, 31, 32, 33], O=[40, 41, 42, 43])
        longest, _ = netlist({"low": flip_flop(20, 10), "high": flip_flop(40, 14), "c": carry},
                             {"clk": [1], "in": [20]}, {"sum": [43]}).longest()
        # The lowest bit of the sum depends on nothing above it, the highest one on all below.
        self.assertEqual([step[0] for step in longest["register", "register"].steps], ["n10", "n40"])
        self.assertEqual(longest["register", "port"].levels, 0)
        self.assertIn(longest["register", "port"].begin, ("n10", "n14"))

    def test_take_a_read_of_lut_ram_as_a_level_and_its_write_as_an_end(self):
        ram = cell("RAM32M", ("DOA",), WCLK=[1], ADDRA=[10, "0", "0", "0", "0"], DIA=[11, "0"], DOA=[12, 13])
        longest, _ = netlist({"a": flip_flop(20, 10), "r": ram, "x": lut(14, 12), "b": flip_flop(14, 11)},
                             {"clk": [1], "in": [20]}).longest()
        self.assertEqual(longest["register", "register"].levels, 2)

    def test_begin_slowly_at_block_ram(self):
        ram = cell("RAMB36E2", ("DOUTADOUT",), CLKARDCLK=[1], ADDRARDADDR=[10], DOUTADOUT=[12])
        longest, _ = netlist({"r": ram, "a": flip_flop(12, 10)}, {"clk": [1]}).longest()
        self.assertAlmostEqual(longest["register", "register"].ns, 0.9 + 0.2 + 0.04)

    def test_cut_loops(self):
        longest, _ = netlist({"x": lut(11, 12, 10), "y": lut(12, 11), "a": flip_flop(12, 10)}, {"clk": [1]}).longest()
        self.assertEqual(longest["register", "register"].levels, 2)

    def test_name_cells_that_they_do_not_know(self):
        made = netlist({"x": cell("MYSTERY", ("O",), I=[10], O=[11]), "a": flip_flop(11, 10)}, {"clk": [1]})
        made.longest()
        self.assertEqual(made.unknown, {"MYSTERY"})

    def test_estimate_a_clock(self):
        self.assertAlmostEqual(paths.Path(8.9, 14, "", "", []).mhz(0.45), 249.7, places=1)


class Table(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.real, gate.TABLE = gate.TABLE, pathlib.Path(self.folder.name) / "rows.md"
        self.addCleanup(setattr, gate, "TABLE", self.real)

    @staticmethod
    def row(ns=5.0, levels=9, **values):
        figures = [(ns, levels), (1.0, 2), None, None]
        return gate.Row("stopbit_fifo", "Width=8", gate.digest("stopbit_fifo"), figures, "`a` to `b`", **values)

    def test_is_read_as_it_was_written(self):
        row = self.row(reason="because")
        gate.write_table({row.key: row})
        self.assertEqual(gate.read_table(), {row.key: row})

    def test_notices_rtl_that_has_changed_and_rows_that_are_missing_or_left_over(self):
        row = self.row()
        row.digest = "000000000000"
        wrong = gate.out_of_date({row.key: row}, [("stopbit_fifo", "Width=8"), ("stopbit_skid", "")])
        self.assertEqual(wrong, ["stopbit_fifo Width=8: its RTL has changed since its row was measured",
                                 "stopbit_skid: has no row"])
        self.assertEqual(gate.out_of_date({row.key: row}, []), ["stopbit_fifo Width=8: is in the table, but not measured any more"])

    def test_lets_paths_shrink_and_notices_growth_in_time_or_levels(self):
        self.assertEqual(gate.growth(self.row(), self.row(ns=4.0, levels=8)), [])
        self.assertEqual(len(gate.growth(self.row(), self.row(ns=5.1))), 1)
        self.assertEqual(len(gate.growth(self.row(), self.row(levels=10))), 1)
        without = self.row()
        without.figures = [None, *without.figures[1:]]
        self.assertEqual(len(gate.growth(without, self.row())), 1)
        self.assertEqual(gate.growth(self.row(), without), [])

    def test_does_not_see_comments(self):
        self.assertEqual(gate.digest("stopbit_fifo"), gate.digest("stopbit_fifo"))
        text = (gate.rtl.RTL / "prim/stopbit_skid.sv").read_text()
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "prim"
            copy.mkdir()
            real, gate.rtl.RTL = gate.rtl.RTL, pathlib.Path(folder)
            try:
                (copy / "stopbit_skid.sv").write_text("// another comment\n" + text)
                commented = gate.digest("stopbit_skid")
                (copy / "stopbit_skid.sv").write_text(text.replace("valid_o", "valid_p"))
                changed = gate.digest("stopbit_skid")
            finally:
                gate.rtl.RTL = real
        self.assertEqual(commented, gate.digest("stopbit_skid"))
        self.assertNotEqual(changed, commented)

    def test_measures_modules_that_there_are(self):
        names = {path.stem for path in gate.rtl.sources()}
        self.assertEqual([module for module, _ in measure.MODULES if module not in names], [])


if __name__ == "__main__":
    unittest.main()
