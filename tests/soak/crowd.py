#!/usr/bin/env python3
"""Clients that mean no good to the doors of an appliance: many at a time, and each that is shut out comes again.

    crowd.py --clients 1000 [--http HOST:PORT [--tls]] [--socket PATH] --seconds 10

Each says nothing, or a byte a second, or half a request, or asks and takes no answer, or, of TLS, begins a handshake and
leaves it. "here" stands on stdout when all have been at a door; then, at the end, a line of JSON with what became of them.
SIGTERM ends it early.
"""

import argparse
import collections
import errno
import json
import random
import selectors
import signal
import socket
import ssl
import time

REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
COMMAND = b"status\n"
PAUSE = 0.5  # seconds until one that was shut out comes again


def client_hello():
    """What a TLS client says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


class Client:
    """kind: silent, slow, half, deaf, hello."""

    def __init__(self, crowd, kind, door):
        self.crowd, self.kind, self.door = crowd, kind, door
        self.socket = None

    def come(self, now):
        is_local = isinstance(self.door, str)
        self.socket = socket.socket(socket.AF_UNIX if is_local else socket.AF_INET)
        self.socket.setblocking(False)
        if self.kind == "deaf":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        problem = self.socket.connect_ex(self.door)
        if problem not in (0, errno.EINPROGRESS):  # the queue of the door is full
            self.crowd.count["kept out"] += 1
            return self.go(now)
        self.crowd.count["came"] += 1
        text = COMMAND if is_local else self.crowd.hello or REQUEST
        self.to_say = {"silent": b"", "slow": b"", "half": text[:len(text) // 2], "deaf": 20 * text,
                       "hello": self.crowd.hello}[self.kind]
        self.crowd.selector.register(self.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self)
        if self.kind == "slow":
            self.crowd.at(now + random.random(), self.drip)

    def event(self, mask, now):
        try:
            if mask & selectors.EVENT_WRITE:
                if self.to_say:
                    self.socket.send(self.to_say)
                self.crowd.selector.modify(self.socket, selectors.EVENT_READ, self)
                if self.kind == "deaf":  # takes nothing, and looks whether anybody is there only later
                    self.crowd.selector.unregister(self.socket)
                    self.crowd.at(now + 3, self.listen, self.socket)
                    return
            if mask & selectors.EVENT_READ and not self.socket.recv(4096):
                self.leave(now)
        except BlockingIOError:
            pass
        except OSError:
            self.leave(now)

    def listen(self, now, of):
        if self.socket is of:
            self.crowd.selector.register(self.socket, selectors.EVENT_READ, self)

    def drip(self, now):
        if self.socket is None:
            return
        try:
            self.socket.send(b"G")
            self.crowd.at(now + 1, self.drip)
        except BlockingIOError:
            self.crowd.at(now + 1, self.drip)
        except OSError:
            pass  # the event of its end comes

    def leave(self, now):
        self.crowd.count["shut out"] += 1
        self.crowd.selector.unregister(self.socket)
        self.go(now)

    def go(self, now):
        self.socket.close()
        self.socket = None
        self.crowd.at(now + PAUSE * random.uniform(0.5, 1.5), self.come)


class Crowd:
    def __init__(self, arguments):
        self.selector = selectors.DefaultSelector()
        self.count = collections.Counter()
        self.hello = client_hello() if arguments.tls else b""
        self.timers = []
        doors = []
        if arguments.http:
            host, port = arguments.http.rsplit(":", 1)
            doors.append((host, int(port)))
        if arguments.socket:
            doors.append(arguments.socket)
        kinds = {"local": ["silent", "slow", "half", "deaf"], "net": ["silent", "slow", "half"] + (["hello"] if arguments.tls else ["deaf"])}
        self.clients = []
        for number in range(arguments.clients):
            door = doors[number % len(doors)]
            of = kinds["local" if isinstance(door, str) else "net"]
            self.clients.append(Client(self, of[number // len(doors) % len(of)], door))

    def at(self, when, what, *arguments):
        self.timers.append((when, what, arguments))

    def turn(self):
        for key, mask in self.selector.select(0.02):
            key.data.event(mask, time.monotonic())
        now = time.monotonic()
        due = [timer for timer in self.timers if timer[0] <= now]
        self.timers = [timer for timer in self.timers if timer[0] > now]
        for _, what, arguments in due:
            what(now, *arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--http", metavar="HOST:PORT")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--socket", metavar="PATH")
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    if not arguments.http and not arguments.socket:
        parser.error("which door?")
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    crowd = Crowd(arguments)
    begin = time.monotonic()
    for client in crowd.clients:
        client.come(time.monotonic())
    crowd.turn()
    print("here", flush=True)
    while not ends and time.monotonic() < begin + arguments.seconds:
        crowd.turn()
    print(json.dumps({"clients": len(crowd.clients), **crowd.count}), flush=True)


if __name__ == "__main__":
    main()
