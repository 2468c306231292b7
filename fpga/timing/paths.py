"""Longest combinational paths of a netlist that yosys mapped for UltraScale+ (`synth_xilinx -family xcup`, `write_json`).

The delays are a rough model, not silicon: a LUT 0.10 ns, a net 0.20 ns and 0.07 ns more each time its fan-out doubles, a
block RAM's output 0.9 ns, carry chains by their cells. Levels count LUTs and reads of LUT RAM. `MHz` turns the model's ns
into an estimate by a factor: 0.45 is that of a small core with published results (3.35 ns of the model, 1.5 ns placed on
xcvu3p-2), 0.65 is a cautious one.
"""

import dataclasses
import math
import re

REGISTER, PORT = "register", "port"
FACTORS = (0.45, 0.65)

LUT, NET, NET_DOUBLED = 0.10, 0.20, 0.0715
CARRY_IN, CARRY_SELECT, CARRY_OUT = 0.02, 0.12, 0.06
MUX, LUT_RAM_READ = 0.07, 0.15
CLOCK_TO_OUT = {"RAMB": 0.90, "DSP": 1.2, "SRL": 0.3, "URAM": 1.2}
SETUP_RAM, SETUP = 0.25, 0.04
CLOCKS = {"C", "CLK", "WCLK", "CLKA", "CLKB", "CLKARDCLK", "CLKBWRCLK"}


@dataclasses.dataclass
class Path:
    """From where to where, and the nets between, each with its time in ns, level and fan-out."""
    ns: float
    levels: int
    begin: str
    end: str
    steps: list

    def mhz(self, factor):
        return 1000 / (self.ns * factor) if self.ns else math.inf


def is_flip_flop(kind):
    return re.fullmatch(r"FD[A-Z]+", kind) is not None


def is_lut_ram(kind):
    return kind.startswith("RAM") and not kind.startswith("RAMB")


def is_state(kind):
    return is_flip_flop(kind) or kind.startswith(("RAMB", "SRL", "DSP", "URAM")) or is_lut_ram(kind)


class Netlist:
    """One flat module. Bits are yosys' numbers of nets."""

    def __init__(self, module):
        self.cells = module["cells"]
        self.names = names_of(module["netnames"])
        self.in_ports = {bit: name for name, port in module["ports"].items() if port["direction"] == "input"
                         for bit in port["bits"]}
        self.out_ports = [(bit, name) for name, port in module["ports"].items() if port["direction"] == "output"
                          for bit in port["bits"] if isinstance(bit, int)]
        self.fan_out = {}
        self.driver = {}  # bit: cell, its port, place in the port
        self.unknown = set()
        for name, cell in self.cells.items():
            for port, direction in cell["port_directions"].items():
                for place, bit in enumerate(cell["connections"].get(port, [])):
                    if not isinstance(bit, int):
                        continue
                    if direction == "input":
                        self.fan_out[bit] = self.fan_out.get(bit, 0) + 1
                    else:
                        self.driver[bit] = name, port, place

    def net_delay(self, bit):
        return NET + NET_DOUBLED * math.log2(max(1, self.fan_out.get(bit, 1)))

    def inputs(self, cell, ports=None):
        """The cell's input bits, with their ports and places in them."""
        for port, direction in cell["port_directions"].items():
            if direction == "input" and port not in CLOCKS and (ports is None or re.match(ports, port)):
                for place, bit in enumerate(cell["connections"].get(port, [])):
                    if isinstance(bit, int):
                        yield bit, port, place

    def arcs(self, bit):
        """What the bit depends on within its cell: (bit, delay with the net to it, levels). None: it begins there."""
        if bit in self.in_ports or bit not in self.driver:
            return None
        name, out, place = self.driver[bit]
        cell = self.cells[name]
        kind = cell["type"]
        if is_lut_ram(kind):
            read = r"DPRA|ADDR|A\d*$"
            # With a constant address nothing is chosen: the path begins at what is stored.
            return [(source, self.net_delay(source) + LUT_RAM_READ, 1) for source, _, _ in self.inputs(cell, read)] or None
        if is_state(kind):
            return None
        if kind.startswith("CARRY"):
            return [arc for source, port, at in self.inputs(cell)
                    for arc in self.carry_arc(source, port, at, out, place)]
        if kind.startswith("MUXF"):
            return [(source, MUX + (self.net_delay(source) if port == "S" else 0), 0)
                    for source, port, _ in self.inputs(cell)]
        if not re.fullmatch(r"LUT\d|INV|BUFG|BUF", kind):
            self.unknown.add(kind)
        return [(source, self.net_delay(source) + LUT, 1) for source, _, _ in self.inputs(cell)]

    @staticmethod
    def carry_arc(source, port, at, out, place):
        to_sum = out == "O"
        if port in ("CI", "CYINIT", "CI_TOP"):
            yield source, CARRY_IN + (MUX if to_sum else 0), 0
        elif at < place or (at == place and (not to_sum or port == "S")):
            yield source, CARRY_SELECT + (CARRY_OUT if to_sum else 0), 0

    def begins(self, bit):
        """Where a path that begins at the bit comes from, and its delay there. None for constants."""
        if bit in self.in_ports:
            return PORT, 0.0
        if bit not in self.driver:
            return None
        kind = self.cells[self.driver[bit][0]]["type"]
        return REGISTER, next((ns for prefix, ns in CLOCK_TO_OUT.items() if kind.startswith(prefix)), 0.08)

    def arrivals(self, begin):
        """Latest time of each bit of paths that begin at registers, or at ports: ns, levels, the bit before."""
        at = {}
        for root in [bit for bit, _, _ in self.register_ends()] + [bit for bit, _ in self.out_ports]:
            todo = [root]
            open_bits = set()
            while todo:
                bit = todo[-1]
                if bit in at:
                    todo.pop()
                    continue
                arcs = self.arcs(bit)
                if arcs is None:
                    start = self.begins(bit)
                    at[bit] = (start[1], 0, None) if start and start[0] == begin else None
                    todo.pop()
                    continue
                # A bit that is open and met again is a loop of latches or LUTs, which is cut here.
                missing = [source for source, _, _ in arcs if source not in at and source not in open_bits]
                if missing and bit not in open_bits:
                    open_bits.add(bit)
                    todo += missing
                    continue
                at[bit] = max(((at[source][0] + delay, at[source][1] + level, source)
                               for source, delay, level in arcs if at.get(source)), default=None)
                open_bits.discard(bit)
                todo.pop()
        return at

    def register_ends(self):
        """Inputs of registers and memories: bit, the name of the register, time before the clock."""
        for name, cell in self.cells.items():
            kind = cell["type"]
            if not is_state(kind):
                continue
            outs = [bit for port, direction in cell["port_directions"].items() if direction != "input"
                    for bit in cell["connections"].get(port, []) if isinstance(bit, int)]
            own = self.names.get(outs[0], name) if outs else name
            setup = SETUP_RAM if kind.startswith(("RAMB", "URAM")) else SETUP
            for bit, port, _ in self.inputs(cell):
                if is_lut_ram(kind) and port.startswith("DPRA"):
                    continue  # a read: its output is the end
                yield bit, own, setup

    def longest(self):
        """The longest path of each kind: {(begin, end): Path}, and the most levels of each: {(begin, end): levels}."""
        paths, levels = {}, {}
        for begin in (REGISTER, PORT):
            at = self.arrivals(begin)
            ends = [(bit, own, setup + self.net_delay(bit), REGISTER) for bit, own, setup in self.register_ends()]
            ends += [(bit, name, 0.0, PORT) for bit, name in self.out_ports]
            for bit, own, after, end in ends:
                if not at.get(bit):
                    continue
                ns, count, _ = at[bit]
                key = begin, end
                levels[key] = max(levels.get(key, 0), count)
                if key not in paths or ns + after > paths[key].ns:
                    paths[key] = Path(ns + after, count, "", own, [bit])
            for key in [key for key in paths if key[0] == begin]:
                self.fill(paths[key], at)
        return paths, levels

    def fill(self, path, at):
        bits = [path.steps[0]]
        while at[bits[-1]][2] is not None:
            bits.append(at[bits[-1]][2])
        path.steps = [(self.names.get(bit, f"net {bit}"), round(at[bit][0], 2), at[bit][1], self.fan_out.get(bit, 1))
                      for bit in reversed(bits)]
        path.begin = path.steps[0][0]


def names_of(netnames):
    """The shortest name of each bit that a person has given, else any."""
    names = {}
    for name, net in netnames.items():
        for place, bit in enumerate(net["bits"]):
            if isinstance(bit, int):
                mine = name if len(net["bits"]) == 1 else f"{name}[{place}]"
                if bit not in names or ("$" in mine, len(mine)) < ("$" in names[bit], len(names[bit])):
                    names[bit] = mine
    return names
