"""Maps a module of fpga/rtl for UltraScale+ and measures its longest paths."""

import json

import rtl
import yosys
from timing import gate, paths

# The parts of the front end and the core, and the core as a whole: flattened, so that a path through three modules counts
# as one. A module is added here with its row.
MODULES = [(name, "") for name in (
    "stopbit_frame_parser", "stopbit_fcs", "stopbit_group_table", "stopbit_frame_decoder", "stopbit_framing",
    "stopbit_line_arbiter", "stopbit_datagram_input", "stopbit_station", "stopbit_decompressor", "stopbit_record_packer",
    "stopbit_core", "stopbit_record_router", "stopbit_fanout", "stopbit_link_port", "stopbit_network_port",
    "stopbit_switch_link",
    "stopbit_crossbar_grants", "stopbit_crossbar_input", "stopbit_crossbar_output", "stopbit_htax_network",
    "stopbit_htax_axi_slave", "stopbit_htax_axi_master", "stopbit_atu", "stopbit_unit_pool", "stopbit_velo",
    "stopbit_tag_unit", "stopbit_rma", "stopbit_mac_input", "stopbit_queue", "stopbit_wcb", "stopbit_remote",
    "stopbit_node_order", "stopbit_node_pages", "stopbit_node_port", "stopbit_node_reader", "stopbit_node_stores",
    "stopbit_node_writer", "stopbit_network_crossbar_registers", "stopbit_network_link_registers",
    "stopbit_network_control", "stopbit_kernel_remote")] + [
        ("stopbit_fanout", "NumInputs=2 NumRings=64")]

MAP = "synth_xilinx -top {top} -abc9 -family xcup -flatten -noiopad -noclkbuf\nwrite_json mapped.json\n"


class Failed(Exception):
    """A module that cannot be read or mapped."""


def elaborated(module, parameters):
    """The module as RTLIL that Debian's yosys reads: it maps several times faster than the one of npm."""
    files = rtl.needed(module)
    texts = {path.name: path.read_text() for path in files}
    flat = f"hierarchy -top {module}\nproc -norom\nflatten\nopt_clean\n"
    values = dict(pair.split("=") for pair in parameters.split())
    # Its own reader first: it takes seconds where slang takes half a minute.
    ok, _, out = yosys.run(yosys.read_command(files, module, False, ["SYNTHESIS"], values) + flat + "write_rtlil flat.il\n",
                           texts, False, ["flat.il"])
    if not ok:
        # Cells that Debian's yosys does not know yet become plain gates.
        script = (yosys.read_command(files, module, True, ["SYNTHESIS"], values) + flat +
                  "simplemap t:$bwmux t:$bweqx\nwrite_rtlil flat.il\n")
        ok, log, out = yosys.run(script, texts, True, ["flat.il"])
        if not ok:
            raise Failed(yosys.errors(log))
    return out["flat.il"]


def row(module, parameters):
    """Maps and measures. Takes seconds for a small part, and many minutes for the kernel."""
    mapped = yosys.run("read_rtlil flat.il\n" + MAP.format(top=module), {"flat.il": elaborated(module, parameters).decode()},
                       False, ["mapped.json"])
    ok, log, out = mapped
    if not ok:
        raise Failed(yosys.errors(log))
    netlist = paths.Netlist(json.loads(out["mapped.json"])["modules"][module])
    made = gate.measured(module, parameters, netlist)
    if netlist.unknown:
        raise Failed(f"cells without a delay in paths.py: {', '.join(sorted(netlist.unknown))}")
    return made, netlist
