"""A way to a fabric's port on which something is wrong.

    bad_proxy.py HOW HOST:PORT TO_HOST:TO_PORT FILE

HOW: `version`, frames come to say that they are of another version; or `bits=SHARE`, one bit is turned in that share of
the chunks. FILE has how often it was so far, and is there when somebody may come.
"""

import os
import random
import socket
import sys
import threading

MAGIC, VERSION, OTHER_VERSION = b"SBFB", 2, 9
CHUNK = 4096


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# By kind: how long a frame is without its address, and where the length of that stands.
JOIN, PEER = 1, 5
LENGTHS = {JOIN: (64, 56), 2: (32, None), 3: (40, None), 4: (32, None), PEER: (56, 50), 6: (24, None)}


def other_version(data):
    """Frames are whole in a chunk, or this is of no use; those behind which a checksum stands get another one."""
    changed, count = bytearray(data), 0
    at = changed.find(MAGIC + bytes([VERSION]))
    while at >= 0:
        changed[at + 4] = OTHER_VERSION
        count += 1
        if (kind := changed[at + 5]) in LENGTHS:
            length, address = LENGTHS[kind]
            if address is not None:
                length += int.from_bytes(changed[at + address : at + address + 2], "little")
            changed[at + length : at + length + 4] = crc32c(changed[at : at + length]).to_bytes(4, "little")
        at = changed.find(MAGIC + bytes([VERSION]), at + 1)
    return bytes(changed[: len(data)]), count


def turned_bits(share):
    def change(data):
        if random.random() >= share:
            return data, 0
        changed = bytearray(data)
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return bytes(changed), 1

    return change


class Changes:
    def __init__(self, path):
        self.path, self.count, self.lock = path, 0, threading.Lock()

    def add(self, more):
        with self.lock:
            self.count += more
            with open(f"{self.path}.new", "w", encoding="utf-8") as file:
                file.write(f"{self.count}\n")
            os.replace(f"{self.path}.new", self.path)


def carry(source, target, change, changes):
    try:
        while data := source.recv(CHUNK):
            data, count = change(data)
            if count:
                changes.add(count)
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    how, here, there, path = sys.argv[1:]
    change = other_version if how == "version" else turned_bits(float(how.removeprefix("bits=")))
    random.seed(1)
    changes = Changes(path)
    with socket.create_server(address(here), reuse_port=True) as door:
        changes.add(0)
        while True:
            client, _ = door.accept()
            try:
                server = socket.create_connection(address(there), timeout=30)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=carry, args=(source, target, change, changes), daemon=True).start()


if __name__ == "__main__":
    main()
