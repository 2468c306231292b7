"""A way to a fabric's port on which frames come to say that they are of another version.

    version_proxy.py HOST:PORT TO_HOST:TO_PORT FILE

FILE has how many frames were changed so far.
"""

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


def carry(source, target, changes):
    old, new = MAGIC + bytes([VERSION]), MAGIC + bytes([OTHER_VERSION])
    try:
        while data := source.recv(CHUNK):
            changes.add(data.count(old))
            target.sendall(data.replace(old, new))
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    here, there, path = sys.argv[1:]
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
                threading.Thread(target=carry, args=(source, target, changes), daemon=True).start()


if __name__ == "__main__":
    main()
