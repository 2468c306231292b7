"""SystemVerilog of a tree of register blocks: a package, a module for each kind of block, the whole."""
from registers.systemverilog import read_lines, written_bits
from registers.text import camel
from registers.tree import WINDOW_BITS, bundle_fields, bundles, struct_name


def package(tree, note):
    out = [f"/// {tree.about}", f"/// {note}", f"package {tree.module}_pkg;"]
    for block in tree.all_blocks():
        if block.instances > 1:
            out.append(f"  localparam int unsigned {camel(block.path)}Count = {block.instances};")
    for block in tree.leaves:
        out += ["", f"  // Block {block.path}: offsets from its base."]
        for register in block.registers:
            name = f"REG_{block.path}_{register.name}".upper()
            out.append(f"  localparam logic [{WINDOW_BITS - 1}:0] {name} = 16'h{register.offset:04X};")
        for register in block.registers:
            for field in register.fields:
                name = camel(f"{block.path}_{register.name}_{field['name']}")
                out.append(f"  localparam int unsigned {name}Bit = {field['bit']};")
        for suffix, about, _, registers in bundles(block):
            out += ["", f"  /// {about}", "  typedef struct packed {"]
            out += [f"    logic [{width - 1}:0] {name};" if width > 1 else f"    logic {name};"
                    for _, name, width in bundle_fields(suffix, registers)]
            out.append(f"  }} {struct_name(block, suffix)};")
    out += ["", "endpackage"]
    return "\n".join(out) + "\n"


class Leaf:
    """The module of one block."""

    def __init__(self, block):
        self.block = block
        self.bits = max((block.bytes - 1).bit_length(), 3)
        self.declared = []
        self.reset = []      # registers that a reset sets to 0
        self.always = []     # each cycle
        self.writes = []     # (address, statement)
        self.write_known = []
        self.reads = []
        self.outputs = []    # assignments
        self.tables = []
        for register in block.registers:
            getattr(self, register.kind)(register, self.at(register.offset), self.at(register.offset + 4))

    def at(self, offset):
        return f"{self.bits}'h{offset:X}"

    def keep(self, name, width):
        """A register named so, which a reset sets to 0."""
        self.declared.append(f"  logic [{width - 1}:0] {name};" if width > 1 else f"  logic {name};")
        self.reset.append(name)

    def constant(self, register, at, _):
        self.reads.append(f"        {at}: word_q <= 32'h{register.value:08X};")

    def read(self, register, at, upper):
        self.reads += read_lines(register, at, upper, f"shown_i.{register.name}", "word_q")

    def kept(self, register, at, upper):
        name = f"{register.name}_q"
        self.keep(name, register.width)
        self.always.append(f"      if (kept_i.{register.name}_valid) {name} <= kept_i.{register.name};")
        self.reads += read_lines(register, at, upper, name, "word_q")

    def write(self, register, at, upper):
        path = f"written_o.{register.name}"
        self.write_known.append(at)
        if register.bits == 32:
            self.writes.append((at, f"{path} <= {written_bits(register.width)};"))
            self.reads.append(f"        {at}: word_q <= 32'({path});")
            return
        low = f"low_{register.name}_q"
        self.keep(low, 32)
        self.write_known.append(upper)
        self.writes.append((at, f"{low} <= {written_bits(register.width)};"))
        self.writes.append((upper, f"{path} <= {{{written_bits(register.width - 32)}, {low}}};"))
        self.reads += read_lines(register, at, upper, path, "word_q")

    def command(self, register, at, _):
        self.write_known.append(at)
        self.reads.append(f"        {at}: word_q <= '0;")
        self.outputs += [f"  assign command_o.{register.name}_valid = writes && address_i == {at};",
                         f"  assign command_o.{register.name} = {written_bits(register.width)};"]

    def sticky(self, register, at, _):
        name = f"{register.name}_q"
        self.write_known.append(at)
        self.keep(name, register.width)
        cleared = f"writes && address_i == {at} ? {written_bits(register.width)} : '0"
        self.always += [f"      {name} <= ({name} & ~({cleared})) |",
                        f"                {'':{len(name)}} raised_i.{register.name};"]
        self.reads.append(f"        {at}: word_q <= 32'({name});")

    def counter(self, register, at, upper):
        name, width = f"{register.name}_q", register.width
        self.keep(name, width)
        before = name
        if register.clear:
            access = "writes" if register.clear == "write" else "reads"
            self.declared.append(f"  logic [{width - 1}:0] {register.name}_before;")
            before = f"{register.name}_before"
            self.outputs.append(f"  assign {before} = {access} && address_i == {at} ? '0 : {name};")
        if register.clear == "write":
            self.write_known.append(at)
        if register.saturates:
            total = f"{register.name}_sum"
            self.declared.append(f"  logic [{width}:0] {total};")
            self.outputs.append(f"  assign {total} = {{1'b0, {before}}} + {width + 1}'(counted_i.{register.name});")
            self.always.append(f"      {name} <= {total}[{width}] ? '1 : {total}[{width - 1}:0];")
        else:
            self.always.append(f"      {name} <= {before} + {width}'(counted_i.{register.name});")
        value = name
        if register.snapshot:
            value = f"{register.name}_held_q"
            self.keep(value, width)
            self.always.append(f"      if (takes_snapshot) {value} <= {name};")
        self.reads += read_lines(register, at, upper, value, "word_q")

    def table(self, register, at, _):
        low = (register.bytes - 1).bit_length()
        index = (register.words - 1).bit_length()
        here = f"at_{register.name}"
        where = "1'b1"
        if low < self.bits:
            where = f"address_i[{self.bits - 1}:{low}] == {self.bits - low}'h{register.offset >> low:X}"
        written = written_bits(register.width)
        entry = f"address_i[{index + 1}:2]"
        self.declared += [f"  logic        {here}, {here}_q;",
                          f"  logic [{register.width - 1}:0] {register.name}_word;"]
        self.outputs += [f"  assign {here} = {where};",
                         f"  assign command_o.{register.name}_valid = writes && {here};",
                         f"  assign command_o.{register.name}_index = address_i[{low - 1}:2];",
                         f"  assign command_o.{register.name} = {written};",
                         f"  stopbit_ram #(.Width({register.width}), .Depth({register.words})) {register.name}_words (",
                         f"    .write_clk_i(clk_i), .write_i(writes && {here}), .write_address_i({entry}),",
                         f"    .write_data_i({written}), .read_clk_i(clk_i), .read_address_i({entry}),",
                         f"    .read_data_o({register.name}_word)", "  );"]
        self.tables.append(register)

    def text(self, tree, note):
        block = self.block
        trigger = next((r for r in block.registers if r.kind == "command" and r.snapshot), None)
        kept = any(r.bits == 64 for r in block.registers)
        out = [f"/// Registers of block {block.path}: {block.about}", f"/// {note}",
               "///",
               "/// The answer to `access_i` comes in the next cycle. A register that does not exist, and writing to "
               "one that is read",
               "/// only, is refused.",
               f"module {tree.leaf_module(block)}", f"  import {tree.module}_pkg::*;", "(",
               "  input  logic        clk_i,", "  input  logic        rst_ni,", "",
               "  input  logic        access_i,", "  input  logic        write_i,",
               f"  input  logic {f'[{self.bits - 1}:0]':7}address_i,",
               "  input  logic [31:0] write_data_i,", "  output logic        refused_o,",
               "  output logic [31:0] data_o"]
        for suffix, _, direction, _ in bundles(block):
            out[-1] += ","
            out.append(f"  {direction:6} {struct_name(block, suffix)} {suffix}_{direction[0]}")
        out += [");", "  logic        writes, reads, is_known;", "  logic [31:0] word_q;"]
        if kept:
            out.append("  logic [31:0] kept_q;  // upper half of the 64-bit register that was read last")
        out += ["  assign writes = access_i && write_i;", "  assign reads  = access_i && !write_i;", ""]
        if trigger:
            out += ["  logic takes_snapshot;",
                    f"  assign takes_snapshot = writes && address_i == {self.at(trigger.offset)};"]
        out += self.declared + [""] + self.outputs
        out += ["", "  always_comb begin", "    is_known = 1'b0;", "    unique case (address_i)"]
        known_reads = [line.split(":")[0].strip() for line in self.reads]
        write_only = [at for at in self.write_known if at not in known_reads]
        assert not write_only, write_only
        read_only = [at for at in known_reads if at not in self.write_known]
        if self.write_known:
            out.append(f"      {', '.join(self.write_known)}: is_known = 1'b1;")
        if read_only:
            out.append(f"      {', '.join(read_only)}: is_known = !write_i;")
        out.append("      default: ;")
        out.append("    endcase")
        out += [f"    if (at_{table.name}) is_known = 1'b1;" for table in self.tables]
        out += ["  end", ""]
        if self.reset:
            out += ["  always_ff @(posedge clk_i) begin", "    if (!rst_ni) begin"]
            out += [f"      {name} <= '0;" for name in self.reset]
            out += ["    end else begin"] + self.always
            lows = [(at, what) for at, what in self.writes if what.startswith("low_")]
            out += case("writes", lows)
            out += ["    end", "  end"]
        written = [(at, what) for at, what in self.writes if not what.startswith("low_")]
        if written:
            out += ["  always_ff @(posedge clk_i) begin", "    if (!rst_ni) begin", "      written_o <= '0;",
                    "    end else begin"]
            out += case("writes", written) + ["    end", "  end"]
        out += ["", "  always_ff @(posedge clk_i) begin", "    refused_o <= access_i && !is_known;"]
        out += [f"    at_{table.name}_q <= reads && at_{table.name};" for table in self.tables]
        out += ["    if (access_i) begin", "      word_q <= '0;", "    end", "    if (reads) begin",
                "      unique case (address_i)"] + self.reads
        out += ["        default: ;", "      endcase", "    end", "  end"]
        if self.tables:
            out += ["  always_comb begin", "    data_o = word_q;"]
            out += [f"    if (at_{table.name}_q) data_o = 32'({table.name}_word);" for table in self.tables]
            out += ["  end"]
        else:
            out.append("  assign data_o = word_q;")
        unused = self.unused()
        if unused:
            out += ["", "  logic unused;", f"  assign unused = &{{1'b0, {', '.join(unused)}}};"]
        out.append("endmodule")
        return "\n".join(out) + "\n"

    def unused(self):
        out = []
        written = max([r.width if r.bits == 32 else 32 for r in self.block.registers
                       if r.kind in ("write", "command", "sticky", "table")], default=0)
        if written < 32:
            out.append(f"write_data_i[31:{written}]")
        if not any(r.clear == "read" for r in self.block.registers) and not self.reads:
            out.append("reads")
        if not self.write_known and not self.tables:
            out.append("writes")
        return out


def case(condition, statements):
    if not statements:
        return []
    return ([f"      if ({condition}) begin", "        unique case (address_i)"] +
            [f"          {at}: {what}" for at, what in statements] +
            ["          default: ;", "        endcase", "      end"])


def leaf(tree, block, note):
    return Leaf(block).text(tree, note)


def within(signal, base, size):
    """That the address is one of `size` from `base` on."""
    low = (size - 1).bit_length()
    if low >= WINDOW_BITS:
        return "1'b1"
    return f"{signal}[{WINDOW_BITS - 1}:{low}] == {WINDOW_BITS - low}'h{base >> low:X}"


AXI = """  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [15:0] awaddr_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [1:0]  bresp_o,
  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [15:0] araddr_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,
""".splitlines()


class Whole:
    """The module with all blocks."""

    def __init__(self, tree):
        self.tree = tree
        # Each clock of each instance, the bus's first: (block or None, index, name).
        self.domains = [(None, 0, "bus_clock")]
        self.domains += [(block, i, f"clock_{block.instance(i)}")
                         for block in tree.clocks for i in range(block.instances)]

    def instances(self, domain):
        """Blocks with registers in a clock: (block, index, base)."""
        clock, number, _ = domain
        for block in self.tree.leaves:
            for index, base in enumerate(block.bases()):
                if block.clock is clock and (clock is None or block.clock_index(index) == number):
                    yield block, index, base

    def roots(self, domain):
        """The blocks that a clock begins with: (block, base). What is in them has this clock, if it has no other."""
        clock, number, _ = domain
        if clock:
            return [(clock, clock.bases()[number])]
        return [(block, base) for block in self.tree.roots if not block.has_clock for base in block.bases()]

    def foreign(self, block):
        """Blocks somewhere in a block that have another clock."""
        for child in block.blocks:
            if child.has_clock:
                yield child
            else:
                yield from self.foreign(child)

    def picks(self, signal, block, base):
        """That an address belongs to the clock of a block: not to blocks in it that have another one."""
        first = block.bases()
        inner = [within(signal, other, child.bytes) for child in self.foreign(block) for other in child.bases()
                 if base <= other < base + block.bytes]
        assert base in first
        return [within(signal, base, block.bytes)] + [f"!({other})" for other in inner]

    def text(self, note):
        tree = self.tree
        out = [f"/// {tree.about}", f"/// {note}",
               "///",
               "/// AXI4-Lite in the clock `clk_i`; each block that has a clock of its own is in that. "
               "fpga/registers/README.md.",
               f"module {tree.module}", f"  import {tree.module}_pkg::*;", "#(",
               "  parameter int unsigned Patience = 256", ") (",
               "  input  logic        clk_i,", "  input  logic        rst_ni,", "", *AXI, "",
               "  // A pulse for each answer that is an error: refused, or given up after `Patience` cycles.",
               "  output logic        refused_o,", "  output logic        gave_up_o,",
               "  output logic        error_write_o,", "  output logic [15:0] error_address_o,"]
        for block in tree.clocks:
            width = f" [{block.instances - 1}:0]" if block.instances > 1 else ""
            out += ["", f"  input  logic{width} {block.path}_clk_i,", f"  input  logic{width} {block.path}_rst_ni,"]
        out.append("")
        for block in tree.leaves:
            width = f" [{block.instances - 1}:0]" if block.instances > 1 else ""
            for suffix, _, direction, _ in bundles(block):
                out.append(f"  {direction:6} {struct_name(block, suffix)}{width} {block.path}_{suffix}_{direction[0]},")
        out[-1] = out[-1].rstrip(",")
        count = len(self.domains)
        out += [");", "  logic        access, write, done, refused;", "  logic [15:0] address;",
                "  logic [31:0] data, answer;",
                "  stopbit_register_port #(.Patience(Patience)) i_port (",
                "    .clk_i, .rst_ni, .awvalid_i, .awready_o, .awaddr_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, "
                ".bvalid_o, .bready_i,",
                "    .bresp_o, .arvalid_i, .arready_o, .araddr_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o, "
                ".access_o(access),",
                "    .write_o(write), .address_o(address), .data_o(data), .done_i(done), .refused_i(refused), "
                ".data_i(answer),",
                "    .refused_o, .gave_up_o", "  );",
                "  assign error_write_o   = write;", "  assign error_address_o = address;", "",
                "  // Blocks by address, and the clocks that they are in.",
                f"  logic [{count - 1}:0]       picked, domain_done, domain_refused;",
                f"  logic [{count - 1}:0][31:0] domain_data;"]
        for number, domain in enumerate(self.domains):
            terms = [" &&\n    ".join(self.picks("address", block, base)) for block, base in self.roots(domain)]
            terms = [f"({term})" for term in terms] if len(terms) > 1 else terms
            out.append(f"  assign picked[{number}] = " + " ||\n    ".join(terms or ["1'b0"]) + ";")
        out += ["  always_comb begin",
                "    // An address without a block.", "    done    = picked == '0 || (domain_done & picked) != '0;",
                "    refused = picked == '0 || (domain_done & picked & domain_refused) != '0;", "    answer  = '0;",
                f"    for (int unsigned i = 0; i < {count}; i++) if (picked[i]) answer |= domain_data[i];", "  end"]
        for number, domain in enumerate(self.domains):
            out += self.domain(number, domain)
        out.append("endmodule")
        return "\n".join(out) + "\n"

    def domain(self, number, domain):
        clock, index, name = domain
        mine = list(self.instances(domain))
        if clock is None:
            clk, rst = "clk_i", "rst_ni"
        else:
            bit = f"[{index}]" if clock.instances > 1 else ""
            clk, rst = f"{clock.path}_clk_i{bit}", f"{clock.path}_rst_ni{bit}"
        title = f"Clock of {clock.instance(index)}" if clock else "The bus's clock"
        out = ["", f"  // {title}.", f"  logic        {name}_access, {name}_write, {name}_refused;",
               f"  logic [15:0] {name}_address;", f"  logic [31:0] {name}_data, {name}_answer;"]
        if clock is None:
            out += ["  logic        bus_clock_waits_q;", "  always_ff @(posedge clk_i) begin",
                    "    bus_clock_waits_q <= rst_ni && bus_clock_access;", "  end",
                    "  assign bus_clock_access        = access && picked[0] && !bus_clock_waits_q;",
                    "  assign bus_clock_write         = write;",
                    "  assign bus_clock_address       = address;", "  assign bus_clock_data          = data;",
                    "  assign domain_done[0]    = bus_clock_waits_q;",
                    "  assign domain_refused[0] = bus_clock_refused;",
                    "  assign domain_data[0]    = bus_clock_answer;"]
        else:
            out += [f"  stopbit_register_crossing {name} (",
                    f"    .clk_i, .rst_ni, .access_i(access && picked[{number}]), .write_i(write), "
                    ".address_i(address), .data_i(data),",
                    f"    .done_o(domain_done[{number}]), .refused_o(domain_refused[{number}]), "
                    f".data_o(domain_data[{number}]),",
                    f"    .block_clk_i({clk}), .block_rst_ni({rst}), .block_access_o({name}_access),",
                    f"    .block_write_o({name}_write), .block_address_o({name}_address), .block_data_o({name}_data),",
                    f"    .block_refused_i({name}_refused), .block_data_i({name}_answer)", "  );"]
        names = [f"at_leaf_{block.instance(at)}" for block, at, _ in mine]
        if names:
            out.append(f"  logic {', '.join(names)};".replace(", ", ",\n    "))
        for block, at, base in mine:
            leaf_name = f"leaf_{block.instance(at)}"
            inside = [name for name, (_, _, other) in zip(names, mine)
                      if base <= other < base + block.bytes and name != f"at_{leaf_name}"]
            here = [within(f"{name}_address", base, block.bytes)] + [f"!{other}" for other in inside]
            bits = Leaf(block).bits
            low = base & ((1 << bits) - 1)
            assert low == 0
            out += [f"  logic        {leaf_name}_refused;", f"  logic [31:0] {leaf_name}_data;",
                    f"  assign at_{leaf_name} = " + " &&\n    ".join(here) + ";",
                    f"  {self.tree.leaf_module(block)} i_{block.instance(at)} (",
                    f"    .clk_i({clk}), .rst_ni({rst}), .access_i({name}_access && at_{leaf_name}),",
                    f"    .write_i({name}_write), .address_i({name}_address[{bits - 1}:0]), "
                    f".write_data_i({name}_data),",
                    f"    .refused_o({leaf_name}_refused),"]
            ports = [f".data_o({leaf_name}_data)"]
            bit = f"[{at}]" if block.instances > 1 else ""
            for suffix, _, direction, _ in bundles(block):
                ports.append(f".{suffix}_{direction[0]}({block.path}_{suffix}_{direction[0]}{bit})")
            out += ["    " + ",\n    ".join(ports), "  );"]
        out += ["  always_comb begin", f"    {name}_answer  = '0;",
                f"    {name}_refused = !(" + " ||\n      ".join(names or ["1'b0"]) + ");"]
        for block, at, _ in mine:
            leaf_name = f"leaf_{block.instance(at)}"
            out += [f"    if (at_{leaf_name}) begin", f"      {name}_answer  |= {leaf_name}_data;",
                    f"      {name}_refused |= {leaf_name}_refused;", "    end"]
        out.append("  end")
        return out


def whole(tree, note):
    return Whole(tree).text(note)
