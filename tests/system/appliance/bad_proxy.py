"""A way to a fabric's port on which something is wrong.

    bad_proxy.py HOW HOST:PORT TO_HOST:TO_PORT FILE

HOW: `version`, frames come to say that they are of another version; or `bits=SHARE`, one bit is turned in that share of
the chunks. FILE has how often it was so far.
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


def other_version(data):
    old, new = MAGIC + bytes([VERSION]), MAGIC + bytes([OTHER_VERSION])
    return data.replace(old, new), data.count(old)


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
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(f"{self.count}\n")


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
    changes.add(0)
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
