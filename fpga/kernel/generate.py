#!/usr/bin/env python3
"""Makes everything that knows the kernel's registers from registers.toml.

usage: generate.py [--check]

Writes the files named in OUTPUTS, which are kept in the repository; with --check says which are not current (exit 1).
"""
import pathlib
import sys
from xml.sax.saxutils import quoteattr

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(FOLDER.parent))

from registers import description, text  # noqa: E402
from registers.systemverilog import member, pulsed_member, read_lines, written_bits  # noqa: E402
from registers.text import camel  # noqa: E402

KINDS = ("constant", "read", "write", "command", "sticky")
ADDRESS_BITS = 16
FIRST_PLACE = 0x10  # below are the registers that XRT expects of other kernels


class Description:
    def __init__(self, path):
        self.source = description.Source(path)
        data = self.source.data
        self.source.need(data, "the file", ["kernel", "port", "register"])
        self.kernel = data["kernel"]
        self.ports = data["port"]
        self.registers = [description.Register(self.source, entry, kinds=KINDS) for entry in data["register"]]
        self.groups = data.get("group", [])
        for group in self.groups:
            self.source.name_of(group, "group")
            self.source.need(group, f"group {group['name']}", ["offset", "stride", "count", "register"])
            group["registers"] = [description.Register(self.source, entry, group=group, kinds=KINDS)
                                  for entry in group["register"]]
        for register in self.registers:
            if register.kind == "constant" and isinstance(register.value, str):
                register.value = self.kernel[register.value]
        description.check_names(self.source, self.registers + [r for g in self.groups for r in g["registers"]])
        for group in self.groups:
            if max(r.offset + r.bytes for r in group["registers"]) > group["stride"]:
                raise self.source.mistake(f"group {group['name']}", "is longer than its stride")
        placed = [(register, address) for register, _, address in self.all()]
        description.check_places(self.source, placed, FIRST_PLACE, self.kernel["window_bytes"], "the window")

    def all(self):
        """Every register of every instance: (register, group index or None, address)."""
        for register in self.registers:
            yield register, None, register.offset
        for group in self.groups:
            for index in range(group["count"]):
                for register in group["registers"]:
                    yield register, index, group["offset"] + index * group["stride"] + register.offset

    def argument(self, full_name):
        for register, index, address in self.all():
            if register.full_name == full_name and not index:
                return register, address
        raise self.source.mistake("port", f"there is no register {full_name}")


NOTE = "Made by fpga/kernel/generate.py from registers.toml: change that."


def lists(d, kind):
    """Members of a struct: registers of the kind, and groups that have some."""
    own = [r for r in d.registers if r.kind == kind]
    grouped = [(g, [r for r in g["registers"] if r.kind == kind]) for g in d.groups]
    return own, [(g, rs) for g, rs in grouped if rs]


def sv_package(d):
    out = [f"/// The kernel's registers. {NOTE}", "package stopbit_registers_pkg;"]
    for group in d.groups:
        out.append(f"  localparam int unsigned {camel(group['name'])}s = {group['count']};")
    out.append("")
    for register, index, address in d.all():
        if index:
            continue
        out.append(f"  localparam logic [{ADDRESS_BITS - 1}:0] REG_{register.full_name.upper()} = 16'h{address:04X};")
    out.append("")
    for register in d.registers + [r for g in d.groups for r in g["registers"]]:
        for field in register.fields:
            out.append(f"  localparam int unsigned {camel(register.full_name)}{camel(field['name'])}Bit = {field['bit']};")
    out.append("")
    for kind, name, about in (("write", "written", "What the host has written."),
                              ("command", "command", "What the host writes in this cycle; `_valid` says that it does."),
                              ("read", "shown", "What the hardware says."),
                              ("sticky", "raised", "Bits that the hardware sets.")):
        own, grouped = lists(d, kind)

        make = pulsed_member if kind == "command" else member
        for group, registers in grouped:
            out += [f"  /// {about} Of one {group['name']}.", "  typedef struct packed {",
                    *[make(r) for r in registers], f"  }} {group['name']}_{name}_t;", ""]
        out += [f"  /// {about}", "  typedef struct packed {", *[make(r) for r in own],
                *[f"    {g['name']}_{name}_t [{camel(g['name'])}s-1:0] {g['name']};" for g, _ in grouped],
                f"  }} {name}_t;", ""]
    out += ["endpackage"]
    return "\n".join(out) + "\n"


def sv_block(d):
    out = [f"/// The kernel's registers, with a port that takes a word at a time. {NOTE}",
           "///",
           "/// A read answers in the next cycle. A missing register reads as 0; writing it, or a part of a word, only sets",
           "/// errors.bad_access.",
           "module stopbit_registers",
           "  import stopbit_registers_pkg::*;",
           "(",
           "  input  logic        clk_i,",
           "  input  logic        rst_ni,",
           "",
           "  input  logic        write_i,",
           "  input  logic [15:0] write_address_i,",
           "  input  logic [31:0] write_data_i,",
           "  input  logic [3:0]  write_strobe_i,",
           "  input  logic        read_i,",
           "  input  logic [15:0] read_address_i,",
           "  output logic [31:0] read_data_o,",
           "",
           "  output written_t    written_o,",
           "  output command_t    command_o,",
           "  input  shown_t      shown_i,",
           "  input  raised_t     raised_i",
           ");",
           "  logic        write, known;",
           "  logic [31:0] kept_q;  // upper half of the 64-bit register that was read last",
           "  assign write = write_i && write_strobe_i == 4'hF;",
           ""]
    writes, commands, stickies, reads = [], [], [], []
    lows = []
    for register, index, address in d.all():
        width = register.width
        data = written_bits(width)
        path = register.name if index is None else f"{register.group['name']}[{index}].{register.name}"
        low = "low_" + (register.name if index is None else f"{register.group['name']}{index}_{register.name}")
        at = f"16'h{address:04X}"
        upper = f"16'h{address + 4:04X}"
        if register.kind == "constant":
            reads.append(f"        {at}: read_data_o <= 32'h{register.value:08X};")
        elif register.kind == "read":
            reads += read_lines(register, at, upper, f"shown_i.{path}")
        elif register.kind == "write" and register.bits == 32:
            writes.append((at, f"written_o.{path} <= {data};"))
            reads.append(f"        {at}: read_data_o <= 32'(written_o.{path});")
        elif register.kind == "write":
            lows.append(low)
            writes.append((at, f"{low} <= write_data_i;"))
            writes.append((upper, f"written_o.{path} <= {{write_data_i, {low}}};"))
            reads.append(f"        {at}: read_data_o <= written_o.{path}[31:0];")
            reads.append(f"        {upper}: read_data_o <= written_o.{path}[63:32];")
        elif register.kind == "command":
            commands.append((at, path, data))
        elif register.kind == "sticky":
            stickies.append((at, register.name, width, data))
            reads.append(f"        {at}: read_data_o <= 32'({register.name}_q);")
    for low in lows:
        out.append(f"  logic [31:0] {low};")
    for _, name, width, _ in stickies:
        out.append(f"  logic [{width - 1}:0] {name}_q;")
    known = [at for at, _ in writes] + [at for at, _, _ in commands] + [at for at, _, _, _ in stickies]
    out += ["", "  always_comb begin", "    unique case (write_address_i)"]
    out += ["      " + ",\n      ".join(known) + ": known = 1'b1;", "      default: known = 1'b0;", "    endcase", "  end", ""]
    for at, path, data in commands:
        out.append(f"  assign command_o.{path}_valid = write && write_address_i == {at};")
        out.append(f"  assign command_o.{path} = {data};")
    out += ["", "  always_ff @(posedge clk_i) begin", "    if (!rst_ni) begin", "      written_o <= '0;"]
    out += [f"      {low} <= '0;" for low in lows] + [f"      {name}_q <= '0;" for _, name, _, _ in stickies]
    out += ["    end else begin"]
    for at, name, width, data in stickies:
        bad = f" | {width}'(write_i && (!known || !write))" if name == "errors" else ""
        out.append(f"      {name}_q <= ({name}_q & ~(write && write_address_i == {at} ? {data} : '0)) |")
        out.append(f"                  raised_i.{name}{bad};")
    out += ["      if (write) begin", "        unique case (write_address_i)"]
    out += [f"          {at}: {what}" for at, what in writes]
    out += ["          default: ;", "        endcase", "      end", "    end", "  end", "",
            "  always_ff @(posedge clk_i) begin", "    if (read_i) begin", "      read_data_o <= '0;",
            "      unique case (read_address_i)"]
    out += reads
    out += ["        default: ;", "      endcase", "    end", "  end", "endmodule"]
    return "\n".join(out) + "\n"


def cpp_header(d):
    out = ["#pragma once", "", "#include <cstdint>", "",
           "/// The kernel's registers: byte offsets in its window. The page for people is fpga/kernel/generated/registers.md.",
           f"/// {NOTE}", "namespace stopbit::device::registers {", ""]
    out.append(f"inline constexpr const char* kKernelName = \"{d.kernel['name']}\";")
    out.append(f"inline constexpr std::uint32_t kWindowBytes = {d.kernel['window_bytes']};")
    for register in d.registers:
        if register.kind == "constant":
            out.append(f"inline constexpr std::uint32_t k{camel(register.name)}Value = 0x{register.value:08X};")

    out.append("")
    for register in d.registers:
        out += text.cpp_constant(register)
    for group in d.groups:
        out += ["", f"/// Of one {group['name']}: offsets from its base.", f"namespace {group['name']} {{",
                f"inline constexpr std::uint32_t kCount = {group['count']};",
                f"constexpr std::uint32_t base(std::uint32_t index) {{",
                f"  return 0x{group['offset']:X} + index * 0x{group['stride']:X};", "}"]
        for register in group["registers"]:
            out += text.cpp_constant(register)
        out.append(f"}}  // namespace {group['name']}")
    out += ["", "}  // namespace stopbit::device::registers"]
    return "\n".join(out) + "\n"


AXI_PORT = {"axilite": ("slave", "S_AXI"), "axi4": ("master", "M_AXI"), "axis": ("slave", "AXIS")}


def kernel_xml(d):
    """The description of the kernel that v++ reads. User-managed: no start, no done, driven by xrt::ip."""
    k = d.kernel
    out = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!-- {NOTE} -->",
           '<root versionMajor="1" versionMinor="6">',
           f'  <kernel name="{k["name"]}" language="ip" vlnv="{k["vendor"]}:kernel:{k["name"]}:{k["version"]}" '
           'attributes="" preferredWorkGroupSizeMultiple="0" workGroupSize="1" interrupt="false" '
           'hwControlProtocol="ap_ctrl_none">', "    <ports>"]
    for port in d.ports:
        if port["kind"] == "axilite":
            out.append(f'      <port name="{port["name"]}" mode="slave" range="0x{k["window_bytes"]:X}" '
                       f'dataWidth="{port["data_bits"]}" portType="addressable" base="0x0"/>')
        elif port["kind"] == "axi4":
            out.append(f'      <port name="{port["name"]}" mode="master" range="0xFFFFFFFFFFFFFFFF" '
                       f'dataWidth="{port["data_bits"]}" portType="addressable" base="0x0"/>')
        else:
            out.append(f'      <port name="{port["name"]}" mode="{port["mode"]}" dataWidth="{port["data_bits"]}" '
                       'portType="stream"/>')
    out += ["    </ports>", "    <args>"]
    number = 0
    for port in d.ports:
        if "argument" in port:
            register, address = d.argument(port["argument"])
            out.append(f'      <arg name="{register.full_name}" addressQualifier="1" id="{number}" port="{port["name"]}" '
                       f'size="0x8" offset="0x{address:X}" hostOffset="0x0" hostSize="0x8" type="void*"/>')
            number += 1
        elif port["kind"] == "axis":
            out.append(f'      <arg name="{port["name"]}" addressQualifier="4" id="{number}" port="{port["name"]}" '
                       'size="0x0" offset="0x0" hostOffset="0x0" hostSize="0x0" '
                       f'type={quoteattr("stream<qdma_axis<%d,0,0,0>>&" % port["data_bits"])}/>')
            number += 1
    out += ["    </args>", "  </kernel>", "</root>"]
    return "\n".join(out) + "\n"


def package_tcl(d):
    k = d.kernel
    name = k["name"]
    lines = [f"# Packages the kernel as {name}.xo. {NOTE}",
             "# usage: vivado -mode batch -source package_kernel.tcl -tclargs XO PART RTL_FILE...",
             "if {[llength $argv] < 3} { error \"wants XO PART RTL_FILE...\" }",
             "set xo [lindex $argv 0]", "set part [lindex $argv 1]", "set files [lrange $argv 2 end]",
             "set here [file dirname [file normalize [info script]]]",
             f"set work [file join [pwd] {name}_package]", "",
             f"create_project -force {name} $work -part $part", "add_files -norecurse $files",
             f"set_property top {name} [current_fileset]", "update_compile_order -fileset sources_1",
             f"ipx::package_project -root_dir $work/ip -vendor {k['vendor']} -library kernel -taxonomy /KernelIP "
             "-import_files -set_current false",
             "ipx::unload_core $work/ip/component.xml",
             "ipx::edit_ip_in_project -upgrade true -name edit -directory $work/ip $work/ip/component.xml",
             "set core [ipx::current_core]", f"set_property version {k['version']} $core", "set_property core_revision 1 $core",
             "set_property sdx_kernel true $core", "set_property sdx_kernel_type rtl $core", ""]
    for port in d.ports:
        lines.append(f"ipx::associate_bus_interfaces -busif {port['name']} -clock ap_clk $core")
    lines += ["", "ipx::add_memory_map s_axi_control $core",
              "set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]",
              "set map [ipx::get_memory_maps s_axi_control -of_objects $core]",
              "ipx::add_address_block reg0 $map", "set block [ipx::get_address_blocks reg0 -of_objects $map]",
              f"set_property range {k['window_bytes']} $block", ""]
    arguments = {port["argument"]: port["name"] for port in d.ports if "argument" in port}
    for register, index, address in d.all():
        instance = register.full_name if not index else f"{register.group['name']}{index}_{register.name}"
        access = {"constant": "read-only", "read": "read-only", "command": "write-only"}.get(register.kind, "read-write")
        lines.append(f"set reg [ipx::add_register {instance} $block]")
        lines.append(f"set_property -dict {{address_offset 0x{address:X} size {register.bits} access {access}}} $reg")
        if register.full_name in arguments and not index:
            lines.append("ipx::add_register_parameter ASSOCIATED_BUSIF $reg")
            lines.append("set_property value %s [ipx::get_register_parameters ASSOCIATED_BUSIF -of_objects $reg]"
                         % arguments[register.full_name])
    lines += ["", "ipx::update_checksums $core", "ipx::check_integrity -kernel $core", "ipx::save_core $core", "close_project -delete",
              f"package_xo -force -xo_path $xo -kernel_name {name} -ip_directory $work/ip "
              "-kernel_xml [file join $here kernel.xml] -ctrl_protocol user_managed"]
    return "\n".join(lines) + "\n"


def page(d):
    out = ["# Registers of the kernel", "", NOTE, "",
           "32-bit words in a window of 64 KiB. Of a 64-bit register the upper half is at offset + 4. A missing register reads as 0.",
           "", "| kind | |", "|---|---|",
           "| constant | never changes |",
           "| read | what the hardware says; of 64 bits, reading the lower half keeps the upper one for its read |",
           "| write | what the host last wrote, 0 after reset; of 64 bits, the hardware sees it when the upper half is written |",
           "| command | done once, when it is written; reads as 0 |",
           "| sticky | set by the hardware, cleared by writing 1 |"]

    out += text.page_table(d.registers)
    for group in d.groups:
        out += ["", f"## {camel(group['name'])}", "",
                f"{group['count']} of them: number i at 0x{group['offset']:x} + 0x{group['stride']:x} × i. Offsets from there:"]
        out += text.page_table(group["registers"])
    return "\n".join(out) + "\n"


OUTPUTS = {
    "fpga/rtl/pkg/generated/stopbit_registers_pkg.sv": sv_package,
    "fpga/rtl/generated/stopbit_registers.sv": sv_block,
    "host/device/generated/registers.hpp": cpp_header,
    "fpga/kernel/generated/kernel.xml": kernel_xml,
    "fpga/kernel/generated/package_kernel.tcl": package_tcl,
    "fpga/kernel/generated/registers.md": page,
}


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    try:
        kernel = Description(FOLDER / "registers.toml")
    except description.Mistake as mistake:
        sys.exit(str(mistake))
    current = text.keep(ROOT, {name: make(kernel) for name, make in OUTPUTS.items()}, bool(arguments))
    return 1 if arguments and not current else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
