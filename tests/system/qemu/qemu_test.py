#!/usr/bin/env python3
"""`stopbit run` on the real drivers of PCI cards: DPDK's e1000e and virtio, on vfio behind an IOMMU, in a guest of QEMU.

    simulate ─► capture ─► this test ─┬─ cable A ─► e1000e ──► vfio ─► stopbit run ─► ring ─► stopbit tail
                            noise ────┴─ cable B ─► virtio ──►         in the guest

The test is the network: it hears what the cards report (IGMP), asks them as a router does, sends the lines' frames and
others that must be turned away, and wants every frame, packet, number and record accounted for, also after a kill -9.
No frame leaves this process and QEMU.

    qemu_test.py BIN_FOLDER KERNEL_FOLDER [--keep FOLDER]

Says in one line of JSON what was seen; status 1 if anything was not as promised, 77 if this machine lacks something.
"""

import base64
import gzip
import json
import os
import subprocess
import sys
import time
import typing

import frames
import machine
from cable import Cable
from machine import promise

PATIENCE = 300  # seconds, for what takes some when the machine does nothing else

SOURCE = "10.77.0.1"
SIMULATION = f"""
preset = "cme"
seed = 7
duration = "2s"
channels = 1
instruments = 20
rate = 2000
heartbeat_every = "100ms"
[impair_both]
loss = 0.003
[line_a]
group = "239.30.1.1:30001"
source = "{SOURCE}:20000"
impair = {{ loss = 0.01, duplicate = 0.01, reorder = 0.01, reorder_depth = 5 }}
[line_b]
group = "239.30.2.1:31001"
source = "{SOURCE}:20000"
impair = {{ loss = 0.01, duplicate = 0.01, reorder = 0.01, reorder_depth = 5 }}
"""
# The cards are not read in step, and the guest is slow: a window that is never too short.
FEED = f"""
name = "live"
[[image]]
name = "cme"
templates = ["made/cme.xml"]
[[channel]]
number = 1
name = "incremental"
framing = "cme"
ring = "{{ring}}"
window = {{{{ packets = 65536, time = "4s", datagram = "1KiB" }}}}
a = {{{{ group = "239.30.1.1", port = 30001, source = "{SOURCE}" }}}}
b = {{{{ group = "239.30.2.1", port = 31001 }}}}
"""
APPLIANCE = """
name = "{name}"
state = "state"
[rings]
slots = 131072
[[agent]]
name = "md"
sleep = "20ms"
{ports}
[[feed]]
file = "feed.toml"
{lines}
"""


class Card(typing.NamedTuple):
    """A card of the guest, and what is known of it."""

    device: str  # QEMU's
    place: str  # on the PCI bus
    group: str
    port: int
    report: tuple  # IGMP record of its line
    leave: tuple
    filters_groups: bool  # it turns away frames of groups that were not asked for

    @property
    def address(self):
        return f"0000:00:{self.place}"


CARDS = {
    "a": Card("e1000e", "04.0", "239.30.1.1", 30001, (frames.IS_INCLUDE, "239.30.1.1", [SOURCE]),
              (frames.BLOCK, "239.30.1.1", [SOURCE]), True),
    "b": Card("virtio-net-pci,disable-legacy=on,iommu_platform=on", "05.0", "239.30.2.1", 31001,
              (frames.IS_EXCLUDE, "239.30.2.1", []), (frames.TO_INCLUDE, "239.30.2.1", []), False),
}


def noise_for(card, line):
    """Frames that are no datagrams of the line, and what becomes of each: 'filtered' by the card, else how it is counted."""
    elsewhere = "filtered" if card.filters_groups else "foreign"
    noise = [
        (frames.ethernet(frames.BROADCAST, b"\0" * 28, 0x0806), "other"),  # ARP
        (frames.datagram(card.group, card.port, SOURCE, fragment=0x2000), "damaged"),
        (frames.ethernet(frames.multicast_mac(card.group), frames.ip(SOURCE, card.group, frames.udp(card.port, b"x", 500))),
         "damaged"),
        (frames.datagram(card.group, card.port, SOURCE, length=1400), "damaged"),
        (frames.datagram(card.group, card.port + 7, SOURCE), "foreign"),
        (frames.datagram("239.31.77.99", card.port, SOURCE), elsewhere),
        (frames.ethernet(bytes.fromhex("02000000eeee"), frames.ip(SOURCE, "10.77.0.9", frames.udp(card.port, b"x"))),
         "filtered"),  # another station's
    ]
    if line == "a":
        noise.append((frames.datagram(card.group, card.port, "10.77.0.66"), "foreign"))  # a source that nobody asked for
    return noise


def write_feed(folder, name, ring, ports, lines):
    os.makedirs(f"{folder}/state", exist_ok=True)
    with open(f"{folder}/feed.toml", "w", encoding="utf-8") as file:
        file.write(FEED.format(ring=ring))
    with open(f"{folder}/appliance.toml", "w", encoding="utf-8") as file:
        file.write(APPLIANCE.format(name=name, ports=ports, lines=lines))


class Test:
    def __init__(self, arguments, folder):
        self.stopbit = os.path.abspath(arguments.bin) + "/stopbit"
        self.kernel = os.path.abspath(arguments.kernel)
        self.folder = folder
        self.cables = {line: Cable(f"{folder}/cable-{line}") for line in CARDS}
        self.guest = None
        self.seen = {"run": "drivers"}

    # ---- What is sent, and what should come of it

    def simulate(self):
        """The frames of both lines in two halves, in the order in which they are sent."""
        os.makedirs(f"{self.folder}/feed/made")
        with open(f"{self.folder}/sim.toml", "w", encoding="utf-8") as file:
            file.write(SIMULATION)
        subprocess.run([self.stopbit, "simulate", "sim.toml", "-o", "day.pcap", "--write-feed", "feed/made", "-q"],
                       cwd=self.folder, check=True)
        with open(f"{self.folder}/day.pcap", "rb") as file:
            self.capture_head = file.read(24)
        lines = {frames.multicast_mac(card.group): line for line, card in CARDS.items()}
        all_frames = [(lines[frame[:6]], frame) for frame in frames.read_capture(f"{self.folder}/day.pcap")]
        promise(len(all_frames) > 7_000, len(all_frames), "frames are simulated")
        return all_frames[:len(all_frames) // 2], all_frames[len(all_frames) // 2:]

    def expected_records(self, half, number):
        """What the same program makes of the same frames as a capture."""
        folder = f"{self.folder}/host-{number}"
        os.makedirs(folder)
        os.symlink("../feed/made", f"{folder}/made")
        with open(f"{folder}/half.pcap", "wb") as file:
            file.write(self.capture_head)
            for i, (_, frame) in enumerate(half):
                file.write(i.to_bytes(4, "little") + b"\0" * 4 + 2 * len(frame).to_bytes(4, "little") + frame)
        name = f"drivers-{os.getpid()}"
        write_feed(folder, name, f"{folder}/ring", '[[port]]\nname = "all"\nkind = "capture"\nfile = "half.pcap"', 'a = "all"')
        try:
            subprocess.run([self.stopbit, "run", "appliance.toml", "-q"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
            return subprocess.run([self.stopbit, "tail", f"{folder}/ring"], check=True, capture_output=True,
                                  text=True).stdout.splitlines()
        finally:
            os.unlink(f"/dev/shm/stopbit-{os.geteuid()}/{name}.counters")

    # ---- The guest

    def boot(self):
        ports = "".join(f'[[port]]\nname = "{line}"\nkind = "dpdk"\ndevice = "{card.address}"\n' for line, card in CARDS.items())
        write_feed(f"{self.folder}/feed", "guest", "/dev/shm/ring", ports, 'a = "a"\nb = "b"')
        root = f"{self.folder}/root.cpio"
        machine.make_root(root, self.kernel, [self.stopbit], f"{self.folder}/feed", machine.DRIVERS)
        arguments = []
        for line, card in CARDS.items():
            arguments += ["-netdev", self.cables[line].netdev(f"net{line}"),
                          "-device",
                          f"{card.device},netdev=net{line},addr={card.place},mac=02:00:00:00:00:0{line},romfile="]
        self.guest = machine.Machine(self.folder, self.kernel, root, arguments)
        for cable in self.cables.values():
            cable.connect()
        self.seen["boot_s"] = round(self.guest.boot_seconds, 1)
        for card in CARDS.values():
            self.guest.bind(card.address)
        groups = self.guest.run("ls /dev/vfio").split()
        promise(len(groups) == 1 + len(CARDS) and "noiommu" not in str(groups), "a group of its own for each card:", groups)

    def start(self):
        """Starts the appliance and waits for what its cards say to the network."""
        for cable in self.cables.values():
            cable.came.clear()
        self.guest.run("cd /feed; stopbit run appliance.toml >>/tmp/run.log 2>&1 & echo $! >/tmp/pid")
        for line, card in CARDS.items():
            self.wait(lambda line=line, card=card: card.report in self.reported(line), f"line {line} is joined")

    def reported(self, line):
        return [record for frame in list(self.cables[line].came) for record in frames.igmp_records(frame)]

    def wait(self, is_so, what, every=0.5):
        """`every` is long for what the guest has to be asked."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            promise(time.monotonic() < end, "it does not happen that", what)
            time.sleep(every)

    def status(self):
        return json.loads(self.guest.run("stopbit stat guest --json"))

    # ---- Sending

    def send(self, half):
        """The frames of a half, noise among them; what the ports should count for each line."""
        expected = {line: {"line": 0, "foreign": 0, "damaged": 0, "other": 0, "filtered": 0} for line in CARDS}
        noise = {line: noise_for(card, line) for line, card in CARDS.items()}
        began = time.monotonic()
        for i, (line, frame) in enumerate(half):
            self.cables[line].send(frame)
            expected[line]["line"] += 1
            if i % 10 == 0:
                unwanted, fate = noise[line][i // 10 % len(noise[line])]
                self.cables[line].send(unwanted)
                expected[line][fate] += 1
        return expected, time.monotonic() - began

    def ask_as_router(self, expected):
        """Every card answers a query."""
        for line, card in CARDS.items():
            self.cables[line].came.clear()
            self.cables[line].send(frames.igmp_query())
            expected[line]["other"] += 1
        for line, card in CARDS.items():
            self.wait(lambda line=line, card=card: card.report in self.reported(line), f"line {line} answers a router")

    def check(self, half, expected, number):
        """Waits until everything has arrived, then looks at all accounts."""
        def arrived():
            status = self.status()
            packets = status["channels"][0]["packets"]
            return packets["held"] == 0 and packets["received"] >= len(half)
        self.wait(arrived, f"{len(half)} packets arrive in life {number}", every=3)
        status = self.status()
        channel = status["channels"][0]
        packets, numbers = channel["packets"], channel["numbers"]
        promise(packets["received"] == len(half), "packets", packets, "of", len(half))
        promise(packets["received"] == sum(packets[k] for k in packets if k != "received"), "packets", packets)
        promise(numbers["expected"] == sum(numbers[k] for k in numbers if k != "expected"), "numbers", numbers)
        promise(packets["late"] == packets["malformed"] == packets["incomplete"] == 0, "packets", packets)
        promise(channel["decode_errors"] == channel["unknown_template"] == 0, "channel", channel)
        for port in status["ports"]:
            line = port["name"]
            counts = expected[line]
            wanted = {"frames": sum(counts.values()) - counts["filtered"], "damaged": counts["damaged"],
                      "foreign": counts["foreign"], "dropped_by_nic": 0, "dropped_by_kernel": 0, "failures": 0}
            promise(wanted.items() <= port.items(), f"port {line}: {port}, not {wanted}")
            promise(channel["lines"][line.upper()]["packets"] == counts["line"], "line", line, channel["lines"])
        return status

    def records(self, wanted_status):
        """Everything in the ring, by a reader in the guest."""
        status, said = self.guest.ask("stopbit tail /dev/shm/ring >/tmp/records", PATIENCE)
        promise(status == wanted_status, "tail has ended with", status, said)
        text = self.guest.run("gzip -c /tmp/records | base64", PATIENCE)
        return gzip.decompress(base64.b64decode(text)).decode().splitlines()

    def check_records(self, half, number, wanted_status):
        records, wanted = self.records(wanted_status), self.expected_records(half, number)
        differ = next((i for i, (a, b) in enumerate(zip(records, wanted)) if a != b), min(len(records), len(wanted)))
        promise(records == wanted, f"{len(records)} records, {len(wanted)} wanted; at {differ}:",
                records[differ:differ + 1], wanted[differ:differ + 1])
        events = sum('"event"' in record for record in records)
        promise(len(records) > 1500 and events > 0, len(records), "records and", events, "events say nothing")
        return len(records) - events, events

    def run(self):
        machine.find_kernel(self.kernel)
        halves = self.simulate()
        self.boot()
        lives = []
        for number, half in enumerate(halves):
            self.start()
            expected, seconds = self.send(half)
            self.ask_as_router(expected)
            status = self.check(half, expected, number)
            if number == 0:
                self.guest.run("kill -9 $(cat /tmp/pid)")
            else:
                self.guest.run("kill -TERM $(cat /tmp/pid)")
            self.wait(lambda: self.guest.ask("kill -0 $(cat /tmp/pid)")[0] != 0, "the appliance ends", every=2)
            records, events = self.check_records(half, number, 3 if number == 0 else 0)
            lives.append({"frames": {port["name"]: port["frames"] for port in status["ports"]},
                          "packets": status["channels"][0]["packets"], "numbers": status["channels"][0]["numbers"],
                          "records": records, "gaps": events, "packets_per_s": round(len(half) / seconds)})
        for line, card in CARDS.items():
            self.wait(lambda line=line, card=card: card.leave in self.reported(line), f"line {line} is left")
        self.seen["lives"] = lives


if __name__ == "__main__":
    sys.exit(machine.main("DPDK's drivers of PCI cards, in a guest of QEMU.", Test))
