#!/usr/bin/env python3
"""A network between an appliance and those that join it over UDP, as bad as a test wants it, and those who look on.

    udp_wire.py forward HOST:PORT TO_HOST:TO_PORT OWN_HOST SEED SHARE FILE
        Passes connections and datagrams on; of the datagrams each is lost, doubled or overtaken with probability SHARE.
        OWN_HOST: the address here from which the appliance is reached. FILE: what was done so far, a line of JSON.
    udp_wire.py tap INTERFACE FILE
        Writes every packet there to a file, each after its length. FILE exists when it listens.
    udp_wire.py search FILE SLOTS WORD...
        The number of packets, of 400 records of SLOTS (of stopbit_ring_slots) those that are among them in plain text,
        and of words.
    udp_wire.py replay FILE TO_HOST:TO_PORT
        Sends all datagrams of a tap to that port once more.
    udp_wire.py strangers TO_HOST:TO_PORT
        Datagrams of random bytes, some with the head of this carrier, and connections that say rubbish, or nothing.
"""

import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import threading
import time

CHUNK = 65536
SO_RCVBUFFORCE = 33  # which the module does not name


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def pump(source, sink):
    try:
        while data := source.recv(CHUNK):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def forward_connections(listener, to, own):
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(to, source_address=(own, 0))
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


class Badly:
    """Sends datagrams on: loses, doubles and holds back some."""

    def __init__(self, seed, share):
        self.random, self.share = random.Random(seed), share
        self.held, self.number = [], 0
        self.done = {"passed": 0, "lost": 0, "doubled": 0, "overtaken": 0}

    def take(self, send, data):
        if self.random.random() < self.share:
            self.done["lost"] += 1
            return
        copies = 1
        if self.random.random() < self.share:
            self.done["doubled"] += 1
            copies = 2
        for _ in range(copies):
            if self.random.random() < self.share:
                self.done["overtaken"] += 1
                self.number += 1
                heapq.heappush(self.held, (time.monotonic() + self.random.uniform(0.001, 0.005), self.number, send, data))
            else:
                send(data)
                self.done["passed"] += 1

    def release(self):
        while self.held and self.held[0][0] <= time.monotonic():
            _, _, send, data = heapq.heappop(self.held)
            send(data)
            self.done["passed"] += 1


def forward(at, to, own, seed, share, file):
    at, to = address(at), address(to)
    listener = socket.create_server(at)
    near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    near.bind(at)
    threading.Thread(target=forward_connections, args=(listener, to, own), daemon=True).start()
    badly, fars, members = Badly(int(seed), float(share)), {}, {}
    told = 0.0
    while True:
        if time.monotonic() - told > 0.1:
            told = time.monotonic()
            with open(file + ".new", "w", encoding="utf-8") as out:
                json.dump(badly.done, out)
            os.replace(file + ".new", file)
        badly.release()
        for ready in select.select([near, *members], [], [], 0.001)[0]:
            for _ in range(64):
                try:
                    data, source = ready.recvfrom(CHUNK, socket.MSG_DONTWAIT)
                except OSError:
                    break
                if ready is near:
                    # The appliance sends to the port of the member's socket, at the address of its connection: ours.
                    if source not in fars:
                        far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                        far.bind((own, source[1]))
                        fars[source], members[far] = far, source
                    badly.take(lambda data, far=fars[source]: far.sendto(data, to), data)
                else:
                    badly.take(lambda data, to=members[ready]: near.sendto(data, to), data)


def tap(interface, file):
    every_protocol = 3
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(every_protocol))
    packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    packets.bind((interface, 0))
    with open(file, "wb", buffering=0) as out:
        while True:
            packet = packets.recv(CHUNK)
            out.write(struct.pack("<I", len(packet)) + packet)


def tapped(file):
    with open(file, "rb") as file:
        data = file.read()
    at = 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        packet = data[at + 4 : at + 4 + length]
        at += 4 + length
        if len(packet) == length:
            yield packet


def pieces(slots, most=400):
    """Three words one after the other, as records have them in memory and on the wire; none of a few bytes only."""
    found = []
    with open(slots, encoding="utf-8") as file:
        for line in file:
            words = [int(word, 16) for word in line.split()]
            for at in range(1, len(words) - 2):
                data = struct.pack("<3Q", *words[at : at + 3])
                if len(set(data)) > 10:
                    found.append(data)
                    break
    return random.Random(27).sample(found, min(most, len(found)))


def search(file, slots, words):
    wanted = pieces(slots)
    assert len(wanted) > 100, len(wanted)
    with open(file, "rb") as tapped_file:
        data = tapped_file.read()
    print(sum(1 for _ in tapped(file)), sum(piece in data for piece in wanted), sum(word.encode() in data for word in words))


def replay(file, to):
    to = address(to)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    count = 0
    for packet in tapped(file):
        ip = packet[14:]
        if packet[12:14] != b"\x08\x00" or ip[9] != socket.IPPROTO_UDP:
            continue
        udp = ip[(ip[0] & 15) * 4 :]
        if struct.unpack_from(">H", udp, 2)[0] != to[1]:
            continue
        sender.sendto(udp[8 : struct.unpack_from(">H", udp, 4)[0]], to)
        count += 1
        if count % 50 == 0:
            time.sleep(0.001)
    print(count)


def strangers(to):
    to = address(to)
    chance = random.Random(27)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(20000):
        data = chance.randbytes(chance.randrange(1, 1440))
        if number % 2:
            data = struct.pack("<HBBHHIIQ", 0x5553, 1, 1, chance.randrange(4), 0, chance.getrandbits(32), 1, number) + data
        sender.sendto(data, to)
        if number % 50 == 0:
            time.sleep(0.002)
    silent = []
    for number in range(300):
        connection = socket.create_connection(to)
        try:
            if number % 3:
                connection.sendall(chance.randbytes(chance.randrange(1, 5000)))
        except OSError:
            pass
        silent.append(connection)
        time.sleep(0.003)


if __name__ == "__main__":
    how = {"forward": forward, "tap": tap, "replay": replay, "strangers": strangers,
           "search": lambda file, slots, *words: search(file, slots, words)}
    how[sys.argv[1]](*sys.argv[2:])
