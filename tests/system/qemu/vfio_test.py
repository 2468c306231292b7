#!/usr/bin/env python3
"""Cards that stopbit opens by VFIO: its leaf on QEMU's device `edu`, a PCI function with registers and a DMA engine, with
the guest's kernel and an emulated IOMMU between them.

    vfio_test.py BIN_FOLDER KERNEL_FOLDER [--keep FOLDER]

Says in one line of JSON what was seen; status 1 if anything was not as promised, 77 if this machine lacks something.
"""

import os
import subprocess
import sys

import machine
from machine import promise

ALONE = "0000:00:04.0"  # on the root bus: nothing can reset it
PORT = "05.0"
BELOW = "0000:01:00.0"  # below a root port, which resets its bus
PATIENCE = 120  # seconds, for a step that takes two when the machine does nothing else

APPLIANCE = """
name = "vfio"
state = "state"
engine = "card"
[card]
device = "{device}"
bar = {bar}
ingress = "port"
[[agent]]
name = "md"
[[port]]
name = "all"
kind = "socket"
[[feed]]
file = "feed.toml"
a = "all"
"""
FEED = """
name = "live"
[[image]]
name = "quotes"
templates = ["quotes.xml"]
[[channel]]
number = 1
name = "one"
framing = "cme"
ring = "/tmp/ring"
mode = "fast"
a = { group = "239.30.1.1", port = 30001 }
"""
TEMPLATES = """<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Quote" id="1"><uInt32 name="Px"/></template>
</templates>
"""


class Test:
    def __init__(self, arguments, folder):
        self.bin = os.path.abspath(arguments.bin)
        self.kernel = os.path.abspath(arguments.kernel)
        self.folder = folder
        self.guest = None
        self.seen = {"run": "vfio", "steps": []}

    def boot(self):
        machine.find_kernel(self.kernel)
        files = f"{self.folder}/feed"
        os.makedirs(f"{files}/state")
        for name, device, bar in (("good", ALONE, 0), ("bar", ALONE, 3), ("absent", "0000:7f:00.0", 0)):
            with open(f"{files}/{name}.toml", "w", encoding="utf-8") as file:
                file.write(APPLIANCE.format(device=device, bar=bar))
        for name, text in (("feed.toml", FEED), ("quotes.xml", TEMPLATES)):
            with open(f"{files}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        programs = [f"{self.bin}/stopbit", f"{self.bin}/stopbit_vfio_probe"]
        root = f"{self.folder}/root.cpio"
        machine.make_root(root, self.kernel, programs, files)
        self.guest = machine.Machine(self.folder, self.kernel, root,
                                     ["-device", "edu,addr=04.0", "-device", f"pcie-root-port,id=below,chassis=1,addr={PORT}",
                                      "-device", "edu,bus=below"])
        self.seen["boot_s"] = round(self.guest.boot_seconds, 1)
        self.seen["qemu"] = subprocess.run(["qemu-system-x86_64", "--version"], check=True, capture_output=True,
                                           text=True).stdout.split()[3]
        self.seen["kernel"] = self.guest.run("uname -r").strip()

    def step(self, name, address):
        self.guest.run(f"stopbit_vfio_probe {name} {address}", PATIENCE)
        self.seen["steps"].append(name)

    def stopbit(self, arguments, status, *wanted):
        """What the program says of a card, and how it ends."""
        got, said = self.guest.ask(f"cd /feed; stopbit run {arguments}", PATIENCE)
        promise(got == status, "stopbit run", arguments, "has ended with", got, said)
        for text in wanted:
            promise(text in said, "stopbit run", arguments, "does not say", text, "but", said)
        self.seen["steps"].append(f"run {arguments}")

    def run(self):
        self.boot()
        self.step("driver", ALONE)
        self.stopbit("good.toml --check", 3, f"[card] device {ALONE}: it has no driver: driverctl set-override")
        for address in (ALONE, BELOW):
            self.guest.bind(address)
        groups = self.guest.run("ls /dev/vfio").split()
        promise(len(groups) == 3 and "noiommu" not in str(groups), "a group of its own for each function:", groups)
        for address in (ALONE, BELOW):
            self.step("use", address)
        self.step("refuse", ALONE)
        self.step("no-reset", ALONE)
        self.step("reset", BELOW)
        self.step("broken", BELOW)
        self.step("stranger", ALONE)
        self.guest.run("chown 1000 /dev/vfio/*; chmod 666 /dev/vfio/vfio")
        self.step("user", ALONE)
        # The program itself: a function that can be opened, but is no kernel of ours.
        self.stopbit("good.toml --check", 0, f"card {ALONE}", "VFIO, bar 0")
        self.stopbit("bar.toml --check", 3, f"[card] bar 3 of {ALONE}: it has 0 bytes")
        self.stopbit("absent.toml --check", 3, "[card] device 0000:7f:00.0: this machine has no such PCI function")
        self.stopbit("good.toml", 3, "[card]: the kernel is not stopbit_decoder: its first register reads 0xffffffff")
        self.stopbit("bar.toml", 3, f"[card]: bar 3 of {ALONE}: it has 0 bytes")
        self.step("use", ALONE)
        faults = int(self.guest.run("dmesg | grep -c 'DMAR: .*fault addr'"))
        promise(faults > 0, "the guest's kernel does not say that the IOMMU has stopped a transfer")
        self.seen["stopped_by_iommu"] = faults


if __name__ == "__main__":
    sys.exit(machine.main("Cards that are opened by VFIO, in a guest of QEMU.", Test))
