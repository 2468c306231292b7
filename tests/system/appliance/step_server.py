"""A server of STEP as public pages describe it, and an encoder of FAST for the templates of a test: by hand, so that
nothing of ours says what is right.
"""

import random
import socket
import struct
import threading
import time
import xml.etree.ElementTree as ElementTree

import replay_server

SOH = b"\x01"
UNSENT = object()


def local(element):
    return element.tag.rsplit("}", 1)[-1]


class Encoder:
    """Messages of a template file in FAST. Values of the dictionary last until reset()."""

    def __init__(self, path):
        self.templates = {item.get("name"): item for item in ElementTree.parse(path).getroot()}
        self.reset()

    def reset(self):
        self.previous, self.template = {}, None

    def expect(self, name):
        """The decoder takes the next message for one of this template."""
        self.template = int(self.templates[name].get("id"))

    def message(self, name, values, names_template):
        item = self.templates[name]
        number = int(item.get("id"))
        bits, body = self.fields(item, values)
        is_sent = number != self.template or names_template
        self.template = number
        return self.presence([is_sent] + bits) + (replay_server.unsigned(number) if is_sent else b"") + body

    @staticmethod
    def presence(bits):
        while len(bits) > 1 and not bits[-1]:
            bits.pop()
        out = bytearray()
        for i in range(0, len(bits), 7):
            part = bits[i:i + 7]
            out.append(sum(bit << 6 - at for at, bit in enumerate(part)))
        out[-1] |= 0x80
        return bytes(out)

    def fields(self, item, values):
        bits, body = [], b""
        for field in item:
            value = values.get(field.get("name"))
            if local(field) == "sequence":
                body += self.sequence(field, value)
                continue
            operator = next((child for child in field if local(child) in ("copy", "increment", "delta")), None)
            kind = None if operator is None else local(operator)
            key = None if operator is None else operator.get("key", field.get("name"))
            if kind in ("copy", "increment"):
                before = self.previous.get(key, UNSENT)
                usual = before if kind == "copy" or before is UNSENT else before + 1
                bits.append(value != usual)
                if bits[-1]:
                    body += self.value(field, value)
                self.previous[key] = value
            elif kind == "delta":
                body += replay_server.signed(value - self.previous.get(key, 0))
                self.previous[key] = value
            else:
                body += self.value(field, value)
        return bits, body

    def sequence(self, field, rows):
        is_optional = field.get("presence") == "optional"
        if rows is None:
            assert is_optional
            return b"\x80"
        out = replay_server.unsigned(len(rows) + is_optional)
        for row in rows:
            bits, body = self.fields(field, row)
            out += (self.presence(bits) if bits else b"") + body
        return out

    @staticmethod
    def value(field, value):
        is_optional = field.get("presence") == "optional"
        if value is None:
            assert is_optional, field.get("name")
            return b"\x80"
        if local(field) == "string":
            return replay_server.ascii(value)
        if local(field).startswith("u"):
            return replay_server.unsigned(value + is_optional)
        return replay_server.signed(value + (is_optional and value >= 0))


def step(fields, raw=None):
    """A message: fields after BodyLength, RawData with its length at their end."""
    body = b"".join(f"{tag}={value}".encode() + SOH for tag, value in fields)
    if raw is not None:
        body += f"95={len(raw)}".encode() + SOH + b"96=" + raw + SOH
    whole = b"8=STEP.1.0.0" + SOH + f"9={len(body)}".encode() + SOH + body
    return whole + f"10={sum(whole) % 256:03}".encode() + SOH


class Server:
    """One session at a time. `plan`: what is done with the next connections, each once ("refuses", "hangs up",
    "says nothing", "drips", "reads no more"); then they are let in."""

    def __init__(self, address, password):
        self.password = password
        self.listener = socket.create_server(address)
        self.plan, self.violations, self.heard = [], [], []
        self.connections, self.refused, self.session = 0, 0, None
        self.is_quiet = False  # no heartbeats
        self.lock, self.wire = threading.Lock(), threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()
        threading.Thread(target=self.beat, daemon=True).start()

    def beat(self):
        while True:
            time.sleep(0.2)
            with self.wire:
                if self.session is None or self.is_quiet:
                    continue
                try:
                    self.session.sendall(self.session_message("0"))
                except OSError:
                    pass  # the other end has gone

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return  # it has stopped
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.session = None  # the one before has ended
                self.connections += 1
            doing = self.plan.pop(0) if self.plan else "lets in"
            threading.Thread(target=self.serve, args=(connection, doing), daemon=True).start()

    def serve(self, connection, doing):
        try:
            self.converse(connection, doing)
        except replay_server.Violation as violation:
            self.violations.append(str(violation))
        except OSError:
            pass  # the other end has gone

    def converse(self, connection, doing):
        text, is_in = "", False
        while True:
            fields, text = replay_server.parse_fix(text)
            if fields is None:
                more = connection.recv(4096)
                if not more:
                    with self.lock:
                        if self.session is connection:
                            self.session = None
                    connection.close()
                    return
                text += more.decode("latin-1")
                continue
            if (fields["8"], fields["49"], fields["56"], fields["34"]) != ("STEP.1.0.0", "VSS", "VDE", "0"):
                raise replay_server.Violation(f"a wrong header: {fields}")
            kind = fields["35"]
            if is_in == (kind == "A"):
                raise replay_server.Violation(f"out of place: {fields}")
            if is_in:
                self.heard.append(fields)
                continue
            if (fields["98"], fields["108"], fields["554"]) != ("0", "3", self.password):
                raise replay_server.Violation(f"a wrong log-on: {fields}")
            if doing == "refuses":
                connection.sendall(self.session_message("5", [(58, "no")]))
                self.refused += 1
                connection.recv(1)
                return
            if doing == "hangs up":
                connection.close()
                self.refused += 1
                return
            if doing == "says nothing":
                self.refused += 1
                continue
            answer = self.session_message("A", [(347, "UTF-8"), (98, 0), (108, 3)])
            for at in range(0, len(answer), 1 if doing == "drips" else len(answer)):
                connection.sendall(answer[at:at + 1] if doing == "drips" else answer)
            is_in = True
            with self.lock:
                self.session = connection
            if doing == "reads no more":
                return

    @staticmethod
    def session_message(kind, more=()):
        return step([(35, kind), (49, "VDE"), (56, "VSS"), (34, 0), (52, "20261128-09:30:00"), *more])

    def data(self, raw, kind):
        return step([(35, kind), (49, "VDE"), (56, "VSS"), (34, 0), (52, "20261128-09:30:00"), (10142, 6), (10072, 1)], raw)

    def is_in(self):
        with self.lock:
            return self.session is not None

    def send(self, content, rng=random):
        """In pieces of any size."""
        with self.lock:
            session = self.session
        with self.wire:
            at = 0
            while at < len(content):
                count = rng.choice((1, 7, 100, 1000, 30000))
                session.sendall(content[at:at + count])
                at += count

    def close(self):
        with self.lock:
            session, self.session = self.session, None
        session.shutdown(socket.SHUT_RDWR)
        session.close()

    def reset(self):
        """The connection ends with RST: by the thread that reads it, as the kernel waits for that one."""
        with self.lock:
            session, self.session = self.session, None
        session.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        session.shutdown(socket.SHUT_RD)

    def stop(self):
        """Nothing listens any more."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.close()

    def count_of(self, kind):
        return sum(fields["35"] == kind for fields in list(self.heard))
