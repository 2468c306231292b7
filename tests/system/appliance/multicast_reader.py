#!/usr/bin/env python3
"""Takes the packets of multicast lines apart by what doc/multicast.md says, with nothing of the programs under test.

    multicast_reader.py slots FILE GROUP:PORT:INTERFACE_ADDRESS GROUP:PORT:INTERFACE_ADDRESS [...] --until FILE
        Writes a file for each epoch of a ring, FILE.N, with a line for each record, as stopbit_ring_slots prints them.
        Prints what it saw as JSON. Ends when the other file exists and nothing has come for a second.
    multicast_reader.py forward GROUP:PORT:INTERFACE_ADDRESS GROUP:PORT:INTERFACE_ADDRESS --to GROUP:PORT GROUP:PORT --ready FILE
        A bad network: sends what comes to other groups on the loopback, and drops a part of it.
    multicast_reader.py compare FILE SLOTS JSON
        The last ring in FILE.N has the records of SLOTS, but for those of the packets that both lines lacked.
"""

import argparse
import json
import os
import random
import select
import socket
import struct
import sys
import time

HEAD = struct.Struct("<QQQIBBH")
RING = struct.Struct("<QQQQQQHBBB3x")
PHASE = 1 << 63
# Of Linux; the module has no names for them.
SO_RCVBUFFORCE, IP_RECVTTL, IP_RECVTOS = 33, 12, 13


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def table():
    entries = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        entries.append(number)
    return entries


TABLE = table()


def packet(data):
    """(sequence, epoch, messages) of a datagram."""
    sequence, epoch, _, crc, magic, version, length = HEAD.unpack_from(data)
    assert (magic, version, length) == (0x5B, 1, len(data) - HEAD.size)
    assert crc32c(data[:24] + bytes(4) + data[28:]) == crc
    body = data[HEAD.size:]
    if not body:
        return sequence, epoch, b""
    assert body[:2] == b"\xc0\x81"
    size, at = 0, 2
    while True:
        size = size << 7 | body[at] & 0x7F
        at += 1
        if body[at - 1] & 0x80:
            break
    assert size == len(body) - at
    return sequence, epoch, body[at:]


def ring_of(messages):
    """The block of the first message, and its slots."""
    block, template, schema, version = struct.unpack_from("<HHHH", messages)
    assert (template, schema, version) == (2, 0x4253, 1) and block >= RING.size
    fields = dict(zip(("epoch", "first", "end", "records", "count", "layout", "part", "kind", "ending", "is_open"),
                      RING.unpack_from(messages, 8)))
    size, entries = struct.unpack_from("<HH", messages, 8 + block)
    begin = 8 + block + 4
    assert size == 64 and len(messages) == begin + 64 * entries
    return fields, [messages[begin + 64 * i:begin + 64 * (i + 1)] for i in range(entries)]


class Records:
    """The records of one ring."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.end = None
        self.left = 0  # slots of the present record that are still to come
        self.words = []
        self.ending = 0
        self.lost = 0
        self.records = None

    def take(self, fields, slots):
        if self.records is not None:
            self.lost += fields["records"] - self.records
        self.records = fields["records"] + fields["count"]
        if fields["kind"] == 4:
            self.ending = fields["ending"]
        if fields["kind"] == 3:
            self.lost += fields["count"]
        follows = fields["part"] != 0 and fields["first"] == self.end
        if not follows:
            self.left, self.words = 0, []
        drops = fields["part"] != 0 and not follows
        self.end = fields["end"]
        for slot in slots:
            words = list(struct.unpack("<8Q", slot))
            words[7] &= ~PHASE
            if self.left == 0:
                if drops and words[7] >> 56 & 0x7F:
                    continue
                drops = False
                self.left = words[0] >> 16 & 0xFFFF
                words[0] &= 0xFFFFFFFF
            self.words += words
            self.left -= 1
            if self.left == 0:
                self.file.write(" ".join(f"{word:x}" for word in self.words) + "\n")
                self.words = []


def listen(text):
    group, port, interface = text.split(":")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    receiver.bind((group, int(port)))
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(interface))
    receiver.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
    receiver.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
    receiver.setblocking(False)
    return receiver


def read(arguments):
    randoms = [random.Random(arguments.seed), random.Random(arguments.seed + 1)]
    drops = [arguments.drop_a, arguments.drop_b]
    receivers = [listen(text) for text in arguments.lines]
    open(arguments.file, "w", encoding="utf-8").close()
    packets = {}  # by number; what is here was on at least one line
    seen = [set(), set()]  # what each line brought, dropped here or not
    dropped = [set(), set()]
    ttl = tos = None
    stop_at, stopped = 200, 0
    quiet_since = time.monotonic()
    while not (os.path.exists(arguments.until) and time.monotonic() - quiet_since > 1):
        for receiver in select.select(receivers, [], [], 0.1)[0]:
            line = receivers.index(receiver)
            if line == 1 and len(seen[1]) >= stop_at and stopped < 5:
                # A reader that does not come to this line for a moment: the socket keeps its packets.
                stop_at, stopped = stop_at + 100, stopped + 1
                time.sleep(arguments.stop_b)
            data, ancillary, _, _ = receiver.recvmsg(65536, 256)
            for _, kind, value in ancillary:
                number = int.from_bytes(value, "little")
                ttl, tos = (number, tos) if kind == socket.IP_TTL else (ttl, number)
            quiet_since = time.monotonic()
            sequence, epoch, messages = packet(data)
            assert sequence >> 32 == 0xFFFFFFFF - epoch // 10 ** 9 and sequence not in seen[line]
            seen[line].add(sequence)
            if randoms[line].random() < drops[line]:
                dropped[line].add(sequence)
                continue
            assert packets.setdefault(sequence, data) == data, "the lines differ"
    both = dropped[0] & dropped[1]
    rings, names, heartbeats = {}, [], 0
    # A later epoch has lower numbers.
    for sequence in sorted(packets, key=lambda number: (-(number >> 32), number)):
        messages = packet(packets[sequence])[2]
        if not messages:
            heartbeats += 1
            continue
        fields, slots = ring_of(messages)
        if fields["epoch"] not in rings:
            rings[fields["epoch"]] = Records(f"{arguments.file}.{len(rings)}")
        rings[fields["epoch"]].take(fields, slots)
    gaps = 0
    for epoch in {sequence >> 32 for sequence in packets}:
        numbers = [sequence for sequence in packets if sequence >> 32 == epoch]
        gaps += max(numbers) - min(numbers) + 1 - len(numbers)
    for ring in rings.values():
        ring.file.close()
    print(json.dumps({"packets": len(packets), "heartbeats": heartbeats, "both": len(both), "gaps": gaps, "ttl": ttl, "tos": tos,
                      "epochs": len({sequence >> 32 for sequence in packets}), "dropped": [len(line) for line in dropped],
                      "rings": [{"ending": ring.ending, "lost": ring.lost} for ring in rings.values()]}))


def forward(arguments):
    """A bad network: what comes for these groups goes on to others, on the loopback of this host."""
    randoms = [random.Random(arguments.seed), random.Random(arguments.seed + 1)]
    drops = [arguments.drop_a, arguments.drop_b]
    receivers = [listen(text) for text in arguments.lines]
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
    to = [(text.rsplit(":", 1)[0], int(text.rsplit(":", 1)[1])) for text in arguments.to]
    open(arguments.ready, "w", encoding="utf-8").close()
    count = 0
    while True:
        for receiver in select.select(receivers, [], [])[0]:
            line = receivers.index(receiver)
            data = receiver.recv(65536)
            count += 1
            if line == 1 and count % 300 == 0:
                time.sleep(arguments.stop_b)
            if randoms[line].random() >= drops[line]:
                sender.sendto(data, to[line])


def compare(arguments):
    with open(arguments.json, encoding="utf-8") as file:
        saw = json.load(file)
    with open(arguments.slots, encoding="utf-8") as file:
        ring = file.read().splitlines()
    last = saw["rings"][-1]
    with open(f"{arguments.file}.{len(saw['rings']) - 1}", encoding="utf-8") as file:
        read_here = file.read().splitlines()
    problems = []
    if len(saw["rings"]) != 2 or saw["epochs"] != 2:
        problems.append("there must be two rings, and two epochs")
    if last["ending"] != 1:
        problems.append("the ring's end was not announced")
    if saw["gaps"] > saw["both"] or min(saw["dropped"]) == 0:
        problems.append("numbers are missing that a line had")
    if saw["ttl"] != 3 or saw["tos"] != 46 << 2:
        problems.append("ttl and dscp are not those of the settings")
    if saw["heartbeats"] == 0:
        problems.append("there was no heartbeat")
    # In order, and each of those that are missing lost with a packet: as many as the numbers of records say.
    at = 0
    for record in read_here:
        while at < len(ring) and ring[at] != record:
            at += 1
        at += 1
    if at > len(ring):
        problems.append("a record is not that of the ring, or out of order")
    if len(read_here) + last["lost"] < len(ring) or len(read_here) > len(ring):
        problems.append(f"{len(read_here)} records of {len(ring)}, {last['lost']} told as lost")
    print("\n".join(problems), end="")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    reading = kinds.add_parser("slots")
    reading.add_argument("file")
    reading.add_argument("lines", nargs=2)
    reading.add_argument("--until", required=True)
    forwarding = kinds.add_parser("forward")
    forwarding.add_argument("lines", nargs=2)
    forwarding.add_argument("--to", nargs=2, required=True)
    forwarding.add_argument("--ready", required=True)
    for parsed in (forwarding, reading):
        parsed.add_argument("--drop-a", type=float, default=0)
        parsed.add_argument("--drop-b", type=float, default=0)
        parsed.add_argument("--stop-b", type=float, default=0)
        parsed.add_argument("--seed", type=int, default=7)
    comparing = kinds.add_parser("compare")
    for name in ("file", "slots", "json"):
        comparing.add_argument(name)
    arguments = parser.parse_args()
    return {"compare": compare, "forward": forward, "slots": read}[arguments.kind](arguments)


if __name__ == "__main__":
    sys.exit(main())
