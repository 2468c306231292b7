"""A way to a fabric's port on which things go wrong.

    bad_proxy.py HOST:PORT TO_HOST:TO_PORT version|damage FILE

version: frames say that they are of another version. damage: bits turn, bytes are missing, connections end in the middle of a
frame. FILE has how many frames, or chunks, were changed so far.
"""

import random
import socket
import sys
import threading

MAGIC, VERSION, OTHER_VERSION = b"SBFB", 1, 9
CHUNK = 4096


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


class Changes:
    def __init__(self, path):
        self.path, self.count, self.lock = path, 0, threading.Lock()

    def add(self, more):
        with self.lock:
            self.count += more
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(f"{self.count}\n")


def turn_versions(data, changes):
    old, new = MAGIC + bytes([VERSION]), MAGIC + bytes([OTHER_VERSION])
    if old in data:
        changes.add(data.count(old))
    return data.replace(old, new), True


def damage(data, changes):
    """The chunk as it goes on, and whether the connection does."""
    how = random.random()
    if how > 0.04:
        return data, True
    changes.add(1)
    if how < 0.005:
        return data[: random.randrange(len(data))], False
    if how < 0.015:
        begin = random.randrange(len(data))
        return data[:begin] + data[begin + random.randrange(1, 64) :], True
    turned = bytearray(data)
    turned[random.randrange(len(turned))] ^= 1 << random.randrange(8)
    return bytes(turned), True


def carry(source, target, change, changes):
    try:
        while data := source.recv(CHUNK):
            data, goes_on = change(data, changes)
            target.sendall(data)
            if not goes_on:
                break
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    here, there, kind, path = sys.argv[1:]
    change = {"version": turn_versions, "damage": damage}[kind]
    changes = Changes(path)
    changes.add(0)
    random.seed(1)
    with socket.create_server(address(here), reuse_port=True) as door:
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
