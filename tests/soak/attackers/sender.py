#!/usr/bin/env python3
"""Sends what an exchange would not, to the groups of a channel of framing cme, in the network namespace that it is
started in. Learns of the true feed on another interface, so that it can send copies of true datagrams under other numbers.

    sender.py --kind KIND --lines A|B|AB --rate N --seconds S --seed N --listen ADDRESS --from ADDRESS
              --a GROUP:PORT --b GROUP:PORT --passed FILE

Says in a line of JSON how many it has sent. Adds to the file, a line each, the numbers that the feed had already passed:
whoever has given such a number up gets it late, even if no line ever brought it.
"""

import argparse
import collections
import json
import random
import socket
import struct
import time

FAR = 500_000  # numbers that a sender needs 5 s for, by the arbiter's rule: longer than any line is silent here
NEAR = 20_000
OLD = 2.5  # seconds; the windows of such a number have long closed


class Feed:
    """The true datagrams, as they come."""

    def __init__(self, group, port, address):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((group, port))
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(address))
        self.socket.settimeout(5)
        self.kept = collections.deque()
        self.take(self.socket.recv(4096))
        self.socket.setblocking(False)

    def take(self, datagram):
        self.kept.append((time.monotonic(), number_of(datagram), datagram))

    def newest(self):
        try:
            while True:
                self.take(self.socket.recv(4096))
        except BlockingIOError:
            pass
        while len(self.kept) > 20_000:
            self.kept.popleft()
        return self.kept[-1][1:]

    def old(self):
        """One that came OLD seconds ago, or None."""
        self.newest()
        found = None
        while self.kept and self.kept[0][0] + OLD < time.monotonic():
            found = self.kept.popleft()
        return found[1:] if found else None


def numbered(datagram, number):
    return struct.pack(">I", number % 2**32) + datagram[4:]


def number_of(datagram):
    """Or None: it is too short for one."""
    return struct.unpack_from(">I", datagram)[0] if len(datagram) >= 4 else None


# Each yields datagrams, None for "none now".

def foreign_run(feed, chance):
    """Another exchange: good messages, numbers of its own that go on."""
    number = (feed.newest()[0] + FAR + chance.randrange(2**30)) % 2**32
    while True:
        yield numbered(feed.newest()[1], number)
        number += 1


def from_one(feed, chance):
    """Begins anew with number 1, as after a reset."""
    number = 1
    while True:
        yield numbered(feed.newest()[1], number) if feed.newest()[0] > 100_000 + number else None
        number += 1


def noise(_, chance):
    while True:
        yield chance.randbytes(chance.choice((0, 1, 3)))  # no room for a number


def again(feed, _):
    """True datagrams once more, long after."""
    while True:
        old = feed.old()
        yield old[1] if old else None


def forged(feed, _):
    """Old numbers with other contents."""
    while True:
        old = feed.old()
        yield old[1][:-1] + bytes([old[1][-1] ^ 0x01]) if old else None


def ahead(feed, chance):
    """Single datagrams far ahead, none of which confirms another."""
    step = 0
    while True:
        number, datagram = feed.newest()
        step += 1
        yield numbered(datagram, number + NEAR + 10_000 * (step % 1_000) + chance.randrange(1_000))


def far_ahead(feed, chance):
    """A run far ahead that goes on."""
    number = feed.newest()[0] + FAR + chance.randrange(2**28)
    while True:
        yield numbered(feed.newest()[1], number)
        number += 1


def turned(feed, chance):
    """True datagrams with bits of the number turned, such that they are far off."""
    while True:
        number, datagram = feed.newest()
        wrong = number ^ (1 << chance.randrange(20, 32)) ^ chance.randrange(256)
        yield numbered(datagram, wrong)


KINDS = {kind.__name__: kind for kind in (foreign_run, from_one, noise, again, forged, ahead, far_ahead, turned)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--lines", choices=("A", "B", "AB"), required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--passed", required=True)
    for line in "ab":
        parser.add_argument(f"--{line}", required=True)
    arguments = parser.parse_args()
    groups = {}
    for line in arguments.lines:
        host, port = getattr(arguments, line.lower()).split(":")
        groups[line] = (host, int(port))
    feed = Feed(*next(iter(groups.values())), arguments.listen)
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wire.bind((arguments.source, 0))
    wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(arguments.source))
    wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    source = KINDS[arguments.kind](feed, random.Random(arguments.seed))
    passed = open(arguments.passed, "ab", buffering=0)  # written before it is sent: this process may be killed
    sent = 0
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < arguments.seconds:
        due = int(now * arguments.rate) + 1 - sent // len(groups)
        for _ in range(min(due, 200)):
            datagram = next(source)
            if datagram is None:
                break
            number = number_of(datagram)
            if number is not None and number < feed.kept[-1][1]:
                passed.write(f"{number}\n".encode())
            for group in groups.values():
                wire.sendto(datagram, group)
                sent += 1
        time.sleep(max(0.001, min(0.02, 1 / arguments.rate)))
    print(json.dumps({"sent": sent}))


if __name__ == "__main__":
    main()
