"""Ethernet frames: read from a capture, made to be turned away, and read from what a card has sent."""

import ipaddress
import struct

BROADCAST = b"\xff" * 6
ROUTER = bytes.fromhex("02000000ff01")
ALL_HOSTS, ALL_IGMPV3_ROUTERS = "224.0.0.1", "224.0.0.22"
ETHERNET_BYTES = 14
IS_INCLUDE, IS_EXCLUDE, TO_INCLUDE, BLOCK = 1, 2, 3, 6  # RFC 3376, 4.2.12


def read_capture(path):
    """Frames of a pcap file of microseconds or nanoseconds, as written on this machine."""
    with open(path, "rb") as file:
        data = file.read()
    assert struct.unpack_from("<I", data)[0] in (0xA1B2C3D4, 0xA1B23C4D), "not a pcap file"
    at, frames = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def address(text):
    return ipaddress.IPv4Address(text).packed


def multicast_mac(group):
    return b"\x01\x00\x5e" + bytes([address(group)[1] & 0x7F]) + address(group)[2:]


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(source, destination, payload, protocol=17, fragment=0, length=None, options=b"", ttl=16):
    """An IPv4 packet; `fragment` is flags and offset, `length` what it says if not the truth."""
    words = (20 + len(options)) // 4
    length = 4 * words + len(payload) if length is None else length
    head = struct.pack(">BBHHHBBH4s4s", 0x40 | words, 0, length, 0, fragment, ttl, protocol, 0, address(source),
                       address(destination)) + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def udp(port, payload, length=None):
    return struct.pack(">HHHH", 20000, port, 8 + len(payload) if length is None else length, 0) + payload


def ethernet(to, payload, kind=0x0800):
    return (to + ROUTER + struct.pack(">H", kind) + payload).ljust(60, b"\0")


def datagram(group, port, source, payload=b"\0" * 40, **options):
    return ethernet(multicast_mac(group), ip(source, group, udp(port, payload), **options))


def tagged(frame, vlan=7):
    """The frame with a VLAN tag."""
    return frame[:12] + struct.pack(">HH", 0x8100, vlan) + frame[12:]


def igmp_query():
    body = struct.pack(">BBH4sBBH", 0x11, 100, 0, address("0.0.0.0"), 2, 125, 0)
    body = body[:2] + struct.pack(">H", checksum(body)) + body[4:]
    return ethernet(multicast_mac(ALL_HOSTS),
                    ip("10.77.0.254", ALL_HOSTS, body, protocol=2, options=b"\x94\x04\0\0", ttl=1))


def igmp_records(frame):
    """(type, group, sources) of each record of an IGMPv3 report; nothing if the frame is none, or damaged."""
    if len(frame) < ETHERNET_BYTES + 20 or frame[12:14] != b"\x08\x00" or frame[23] != 2:
        return []
    if frame[:6] != multicast_mac(ALL_IGMPV3_ROUTERS) or frame[30:34] != address(ALL_IGMPV3_ROUTERS):
        return []
    header = (frame[14] & 15) * 4
    end = ETHERNET_BYTES + struct.unpack_from(">H", frame, 16)[0]
    report = frame[ETHERNET_BYTES + header:end]
    if checksum(frame[14:14 + header]) != 0 or checksum(report) != 0 or report[0] != 0x22:
        return []
    records, at = [], 8
    for _ in range(struct.unpack_from(">H", report, 6)[0]):
        kind, auxiliary, count, group = struct.unpack_from(">BBH4s", report, at)
        sources = [str(ipaddress.IPv4Address(report[at + 8 + 4 * i:at + 12 + 4 * i])) for i in range(count)]
        records.append((kind, str(ipaddress.IPv4Address(group)), sources))
        at += 8 + 4 * count + 4 * auxiliary
    return records
