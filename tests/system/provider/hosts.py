"""Two network namespaces, which are two hosts to the programs in them: joined by a cable, or by one that loses, doubles
and overtakes packets."""

import fcntl
import os
import random
import select
import struct
import subprocess
import threading

FIRST, SECOND = "10.88.0.1", "10.88.0.2"


class Hosts:
    """Use it in a `with`. `works` is False where the user or the kernel allows no namespaces."""

    def __init__(self, is_bad=False):
        self.names = [f"stopbit-{os.getpid()}-{i}" for i in (0, 1)]
        self.is_bad = is_bad
        self.works = False
        self.counts = dict(packets=0, lost=0, doubled=0, overtaken=0)
        self._ends = []
        self._stop = threading.Event()
        self._cable = None

    def __enter__(self):
        self.works = all(_ip("netns", "add", name) for name in self.names)
        if self.works:
            self.works = self._make_bad_cable() if self.is_bad else self._make_cable()
        for name, address in zip(self.names, (FIRST, SECOND)) if self.works else ():
            assert _ip("-n", name, "address", "add", f"{address}/24", "dev", "cable"), name
            assert _ip("-n", name, "link", "set", "cable", "up") and _ip("-n", name, "link", "set", "lo", "up"), name
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self._cable is not None:
            self._cable.join()
        for end in self._ends:
            os.close(end)
        for name in self.names:
            _ip("netns", "del", name)

    def on(self, host, command):
        """The command, to be run on one of them."""
        return ["ip", "netns", "exec", self.names[host]] + [str(word) for word in command]

    def cut(self):
        """Nothing arrives any more, and neither end is notified."""
        assert _ip("-n", self.names[1], "address", "flush", "dev", "cable") and _ip(
            "-n", self.names[1], "link", "set", "cable", "arp", "off"), "cut"

    def _make_cable(self):
        return _ip("link", "add", "cable", "netns", self.names[0], "type", "veth", "peer", "name", "cable", "netns",
                   self.names[1])

    def _make_bad_cable(self):
        for name in self.names:
            # A thread enters the namespace, and the device stays in it.
            made = []
            thread = threading.Thread(target=lambda: made.append(_open_tun(name)))
            thread.start()
            thread.join()
            if not made or made[0] is None:
                return False
            self._ends.append(made[0])
        self._cable = threading.Thread(target=self._carry)
        self._cable.start()
        return True

    def _carry(self):
        draw = random.Random(int(os.environ.get("STOPBIT_SEED", "1")))
        held = {end: [] for end in self._ends}
        while not self._stop.is_set():
            ready, _, _ = select.select(self._ends, [], [], 0.002)
            for end in self._ends:
                other = self._ends[1 - self._ends.index(end)]
                if end not in ready:
                    while held[end]:  # nothing comes that could overtake them
                        _write(other, held[end].pop())
                    continue
                packet = os.read(end, 65536)
                self.counts["packets"] += 1
                what = draw.random()
                if what < 0.02:
                    self.counts["lost"] += 1
                elif what < 0.05:
                    self.counts["overtaken"] += 1
                    held[end].append(packet)
                else:
                    _write(other, packet)
                    if what < 0.06:
                        self.counts["doubled"] += 1
                        _write(other, packet)
                    if held[end] and draw.random() < 0.2:
                        _write(other, held[end].pop())


def _write(end, packet):
    try:
        os.write(end, packet)
    except OSError:
        pass  # the device is down at the end


def _open_tun(name):
    """A device `cable` in the namespace of that name, for packets of IP; None: the kernel has none."""
    tun_set, tun, no_info = 0x400454CA, 1, 0x1000
    try:
        with open(f"/run/netns/{name}") as space:
            if _setns(space.fileno()) != 0:
                return None
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(end, tun_set, struct.pack("16sH22x", b"cable", tun | no_info))
        return end
    except OSError:
        return None


def _setns(descriptor):
    import ctypes
    clone_new_net = 0x40000000
    return ctypes.CDLL(None, use_errno=True).setns(descriptor, clone_new_net)


def _ip(*words):
    try:
        return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
