#!/usr/bin/env python3
"""Writes the xclbin of the simulated card: what XRT reads of one, without a bitstream.

usage: make_xclbin.py KERNEL_XML OUTPUT

Sections as in XRT's xclbin.h: the kernel's description (from kernel.xml), one memory, which is the host's, the kernel's
connection to it, and one instance of the kernel. Nothing in the file depends on time or place.
"""
import hashlib
import struct
import sys
import xml.etree.ElementTree as xml

BITSTREAM, EMBEDDED_METADATA, MEM_TOPOLOGY, CONNECTIVITY, IP_LAYOUT = 0, 2, 6, 7, 8
GROUP_TOPOLOGY, GROUP_CONNECTIVITY = 26, 27
MEM_DDR4 = 1
IP_KERNEL, AP_CTRL_NONE = 1, 2
HW_EMU = 4
MODE_VERSION = (2, 13, 0)

HOST_BASE = 0x20_0000_0000  # as the simulation's driver hands out addresses (sim_driver.cpp)
HOST_KILOBYTES = 16 << 20
KERNEL_BASE = 0x180_0000
PLATFORM = b"stopbit_simulation"

HEADER_BYTES, SECTION_BYTES = 456, 40


def text(value, size):
    assert len(value) < size
    return value.ljust(size, b"\0")


def metadata(kernel):
    """The kernel's description with its instance, as the vendor's linker writes it."""
    name = kernel.get("name")
    base = xml.Element("project", name="stopbit")
    platform = xml.SubElement(base, "platform", vendor="stopbit", boardid="simulation", name="simulation")
    device = xml.SubElement(platform, "device", name="fpga0", fpgaDevice="simulation")
    core = xml.SubElement(device, "core", name="OCL_REGION_0", target="hw_em", type="clc_region")
    out = xml.SubElement(core, "kernel", name=name, language="ip", type="rtl",
                         hwControlProtocol=kernel.get("hwControlProtocol"))
    control = None
    for port in kernel.find("ports"):
        out.append(port)
        if port.get("mode") == "slave":
            control = port
    for argument in kernel.find("args"):
        out.append(argument)
    instance = xml.SubElement(out, "instance", name=f"{name}_1")
    xml.SubElement(instance, "addrRemap", base=hex(KERNEL_BASE), range=control.get("range"), port=control.get("name"))
    return xml.tostring(base, encoding="utf-8", xml_declaration=True)


def sections(kernel):
    memory = struct.pack("<BB6xQQ16s", MEM_DDR4, 1, HOST_KILOBYTES, HOST_BASE, text(b"HOST[0]", 16))
    topology = struct.pack("<i4x", 1) + memory
    pointers = [int(a.get("id")) for a in kernel.find("args") if a.get("addressQualifier") == "1"]
    connectivity = struct.pack("<i", len(pointers)) + b"".join(struct.pack("<iii", p, 0, 0) for p in pointers)
    name = kernel.get("name").encode()
    layout = struct.pack("<i4xIIQ64s", 1, IP_KERNEL, AP_CTRL_NONE << 8, KERNEL_BASE, text(name + b":" + name + b"_1", 64))
    return [(BITSTREAM, b"simulation"), (EMBEDDED_METADATA, metadata(kernel)), (MEM_TOPOLOGY, topology),
            (CONNECTIVITY, connectivity), (IP_LAYOUT, layout), (GROUP_TOPOLOGY, topology), (GROUP_CONNECTIVITY, connectivity)]


def xclbin(kernel):
    parts = sections(kernel)
    offset = (HEADER_BYTES + SECTION_BYTES * len(parts) + 7) // 8 * 8
    headers, body = b"", b"\0" * (offset - HEADER_BYTES - SECTION_BYTES * len(parts))
    for kind, data in parts:
        # Four bytes behind the name align the offset.
        headers += struct.pack("<I16s4xQQ", kind, b"", offset, len(data))
        padded = data + b"\0" * (-len(data) % 8)
        body += padded
        offset += len(padded)
    uuid = hashlib.sha256(headers + body).digest()[:16]
    head = b"xclbin2\0" + struct.pack("<i", -1) + b"\xff" * 28 + b"\0" * 256 + struct.pack("<Q", 1)
    head += struct.pack("<QQQHBBHH", offset, 0, 0, MODE_VERSION[2], MODE_VERSION[0], MODE_VERSION[1], HW_EMU, 0)
    head += b"\0" * 16 + text(PLATFORM, 64) + uuid + b"\0" * 16 + struct.pack("<I4x", len(parts))
    assert len(head) == HEADER_BYTES, len(head)
    return head + headers + body


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    kernel = xml.parse(arguments[0]).getroot().find("kernel")
    with open(arguments[1], "wb") as file:
        file.write(xclbin(kernel))


if __name__ == "__main__":
    main(sys.argv[1:])
