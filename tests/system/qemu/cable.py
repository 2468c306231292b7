"""Frames between the test and a card of the guest, over a Unix socket (QEMU's netdev `stream`)."""

import socket
import struct
import threading


class Cable:
    """Listens at `path` until QEMU connects. QEMU takes no more frames than the card has room for, so none is lost."""

    def __init__(self, path):
        self.path = path
        self.came = []  # frames that the card has sent
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.listener.settimeout(30)
        self.line = None

    def netdev(self, name):
        return f"stream,id={name},server=off,addr.type=unix,addr.path={self.path}"

    def connect(self):
        self.line, _ = self.listener.accept()
        self.listener.close()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, frame):
        self.line.sendall(struct.pack(">I", len(frame)) + frame)

    def _listen(self):
        with self.line.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                self.came.append(stream.read(struct.unpack(">I", head)[0]))
