"""What software and people get of a tree of register blocks: a C++ header, the wires for benches, and a page."""
from registers.text import camel, comment, cpp_constant, page_table
from registers.tree import BUS, bundle_fields, bundles

KINDS_OF_PAGE = {
    "constant": "never changes",
    "read": "what the unit says now",
    "kept": "what the unit last wrote, 0 after a reset",
    "write": "what the host last wrote, 0 after a reset; of 64 bits, the unit sees it when the upper half is written",
    "command": "done once, when it is written; reads as 0",
    "sticky": "set by the unit, cleared by writing 1",
    "counter": "counts events of the unit",
    "table": "a memory of the unit: what was last written",
}


def clock_name(block):
    return block.clock.path if block.clock else BUS


def header(tree, note, page_name):
    namespace = f"{tree.name}_registers"
    out = ["#pragma once", "", "#include <array>", "#include <cstdint>", "",
           '#include "host/device/register_list.hpp"', "",
           *comment(f"{tree.about} Byte offsets for programs; the page for people is {page_name}."), f"/// {note}",
           f"namespace stopbit::device::{namespace} {{"]
    for block in tree.all_blocks():
        out += ["", *comment(f"{block.about} Offsets are from its base."), f"namespace {block.path} {{",
                f"inline constexpr std::uint32_t kCount = {block.instances};"]
        bases = block.bases()
        if block.instances == 1:
            out.append(f"inline constexpr std::uint32_t kBase = 0x{bases[0]:X};")
        elif not block.parent or block.parent.instances == 1:
            out += ["constexpr std::uint32_t base(std::uint32_t index) {",
                    f"  return 0x{bases[0]:X} + index * 0x{block.bytes:X};", "}"]
        else:
            parent = block.parent.bases()
            out += ["constexpr std::uint32_t base(std::uint32_t index) {",
                    f"  return 0x{bases[0]:X} + index / {block.count} * 0x{parent[1] - parent[0]:X} + "
                    f"index % {block.count} * 0x{block.bytes:X};", "}"]
        for register in block.registers:
            out += cpp_constant(register)
            if register.kind == "constant":
                out.append(f"inline constexpr std::uint32_t k{camel(register.name)}Value = 0x{register.value:08X};")
            if register.kind == "table":
                out.append(f"inline constexpr std::uint32_t k{camel(register.name)}Words = {register.words};")
        out.append(f"}}  // namespace {block.path}")
    rows = [(block, index, base, register) for block in tree.leaves for index, base in enumerate(block.bases())
            for register in block.registers]
    out += ["", "// clang-format off",
            "/// Every register of every block, for programs that show or check all of them.",
            f"inline constexpr std::array<RegisterRow, {len(rows)}> kRegisters{{{{"]
    for block, index, base, register in rows:
        bits = (("saturates", register.saturates), ("snapshot", register.snapshot))
        flags = [f".{name} = true" for name, is_so in bits if is_so]
        flags += [f".clear = RegisterClear::{register.clear.capitalize()}"] if register.clear else []
        flags += [f".value = 0x{register.value:08X}"] if register.kind == "constant" else []
        flags += [f".words = {register.words}"] if register.words > 1 else []
        out.append(f'    {{.block = "{block.path}", .index = {index}, .name = "{register.name}", '
                   f".address = 0x{base + register.offset:04X}, "
                   f".bits = {register.bits}, .width = {register.width}, "
                   f".kind = RegisterKind::{register.kind.capitalize()}"
                   f"{''.join(', ' + flag for flag in flags)}}},")
    out += ["}};", "// clang-format on", "", f"}}  // namespace stopbit::device::{namespace}"]
    return "\n".join(out) + "\n"


def wires(tree, note):
    """A line for each register that a unit sees: where its bits are in the ports of the module."""
    out = ["#pragma once", "", "#include <array>", "#include <cstdint>", "", '#include "../register_wire.hpp"', "",
           *comment(f"Where the registers are in the ports of {tree.module}. {note}"),
           f"namespace stopbit::sim::{tree.name}_registers {{", ""]
    rows = []
    for block in tree.leaves:
        for suffix, _, direction, registers in bundles(block):
            members = bundle_fields(suffix, registers)
            size = sum(width for _, _, width in members)
            for index, base in enumerate(block.bases()):
                at = index * size + size
                places = {}
                for _, name, width in members:
                    at -= width
                    places[name] = (at, width)
                for register in registers:
                    low, width = places[register.name]
                    valid = places.get(f"{register.name}_valid", (0, 0))[0]
                    entry = places.get(f"{register.name}_index", (0, 0))
                    rows.append(f"    {{.address = 0x{base + register.offset:04X}, "
                                f".port = Port::{camel(block.path)}{camel(suffix)}, "
                                f".bundle = Bundle::{camel(suffix)}, .at = {low}, "
                                f".width = {width}, .valid = {valid}, "
                                f".index = {entry[0]}, .index_width = {entry[1]}}},")
    ports = [f"{camel(block.path)}{camel(suffix)}" for block in tree.leaves for suffix, *_ in bundles(block)]
    names = [f"{block.path}_{suffix}_{direction[0]}"
             for block in tree.leaves for suffix, _, direction, _ in bundles(block)]
    out += ["enum class Port : std::uint8_t {", *[f"  {port}," for port in ports], "};", "",
            "/// Gives `visit` each port of a model with its name.", "template <class Model, class Visit>",
            "void for_each_port(Model& model, Visit visit) {"]
    out += [f"  visit(Port::{port}, model.{name});" for port, name in zip(ports, names)]
    out += ["}", "", "// clang-format off",
            f"inline constexpr std::array<RegisterWire<Port>, {len(rows)}> kWires{{{{", *rows, "}};",
            "// clang-format on", "", f"}}  // namespace stopbit::sim::{tree.name}_registers"]
    return "\n".join(out) + "\n"


def page(tree, note):
    out = [f"# Registers of the {tree.name}", "", tree.about, note, "",
           "Words of 32 bits in a window of 64 KiB; of a 64-bit register the upper half is at offset + 4, and reading",
           "the lower half keeps the upper one for its read. An access is answered with an error (SLVERR), and does",
           "nothing, if there is no such register, if it writes to what is read only or to a part of a word, if its",
           "address is between words, or if the block is in reset. While a block's clock is stopped, an access to it",
           "is given up after a time limit, with an error.", "",
           "| kind | |", "|---|---|"]
    used = {register.kind for block in tree.leaves for register in block.registers}
    out += [f"| {kind} | {about} |" for kind, about in KINDS_OF_PAGE.items() if kind in used]
    out += ["", "| block | at | bytes | clock | |", "|---|---|---:|---|---|"]
    for block in tree.all_blocks():
        at = f"0x{block.bases()[0]:04x}"
        if block.instances > 1:
            at += f" + 0x{block.bytes:x} × i, i below {block.instances}"
        if block.parent and block.parent.instances > 1:
            at = f"0x{block.offset:x} + 0x{block.bytes:x} × i from its {block.parent.path}, i below {block.count}"
        clock = clock_name(block) + (", its own" if block.has_clock else "")
        out.append(f"| `{block.path}` | {at} | 0x{block.bytes:x} | {clock} | {block.about} |")
    for block in tree.leaves:
        out += ["", f"## {block.path}", "", f"{block.about} Offsets are from its base."]
        out += page_table(block.registers)
        details = [detail(register) for register in block.registers if register.kind == "counter"]
        if details:
            out += ["", "Counters: " + "; ".join(details) + "."]
    return "\n".join(out) + "\n"


def detail(register):
    end = "stays at its highest value" if register.saturates else "begins anew after its highest value"
    more = ", as of the last snapshot" if register.snapshot else ""
    if register.clear:
        more = f", cleared by a {register.clear}"
    return f"`{register.name}` ({register.width} bits) {end}{more}"
