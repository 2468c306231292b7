"""Clients of the broker of a running appliance, byte by byte as host/nic/node/broker_message.hpp has them.

    broker_test.py BROKER CONTROL ENTITLEMENTS PROCESS RING OTHER_RING
    broker_test.py BROKER --killed PROCESS
    broker_test.py BROKER --open
"""

import array
import fcntl
import os
import signal
import socket
import struct
import sys
import time

REQUEST = struct.Struct("<IHBBQQQHHI64s")
REPLY = struct.Struct("<IHBBQQQQHHHH80s")
MAGIC = 0x4E424253
OPEN, SHARE, ATTACH = 1, 2, 6
NONE, NO_SUCH_FEED, NOT_SEALED, NOT_ENTITLED = 0, 9, 16, 21
NOBODY = 65534


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.socket.connect(path)

    def ask(self, call, name=b"", size=0, passed=()):
        """The reply, and the descriptor that came with it."""
        try:
            request = REQUEST.pack(MAGIC, 1, call, 1, 7, 0, size, 0, 64, 0, name)
            socket.send_fds(self.socket, [request], list(passed))
        except BrokenPipeError:
            pass  # turned away: the reply lies here
        try:
            data, ancillary, _, _ = self.socket.recvmsg(REPLY.size, socket.CMSG_SPACE(4))
        except ConnectionResetError:  # closed before it was read: the reply lies behind that news
            data, ancillary, _, _ = self.socket.recvmsg(REPLY.size, socket.CMSG_SPACE(4))
        descriptors = array.array("i")
        for _, _, bytes_ in ancillary:
            descriptors.frombytes(bytes_[: len(bytes_) // 4 * 4])
        if not data:
            return None, []
        fields = REPLY.unpack(data)
        return fields, list(descriptors)


def error_of(answer):
    return answer[0][3] if answer[0] else None


def as_user(user, what):
    """The exit status of a function in a process of another user."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        try:
            os._exit(what())
        except BaseException as error:  # whatever it is: the child ends here
            print(f"as user {user}: {error!r}", file=sys.stderr)
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def open_as_nobody(path):
    return as_user(NOBODY, lambda: error_of(Client(path).ask(OPEN)))


def command(path, line):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.settimeout(30)
        control.connect(path)
        control.send(line.encode() + b"\n")
        return control.recv(65536).decode()


def entitle(broker, control, entitlements, process, ring, other):
    client = Client(broker)
    assert error_of(client.ask(OPEN)) == NONE
    reply, descriptors = client.ask(ATTACH, ring.encode())
    assert reply[3] == NONE and len(descriptors) == 1, reply
    assert os.fstat(descriptors[0]).st_size == reply[6] > 4096, reply
    assert os.pread(descriptors[0], 8, 0) != bytes(8)
    # Sealed memory may be shared, other may not.
    memory = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, 8192)
    assert error_of(client.ask(SHARE, size=8192, passed=[memory])) == NOT_SEALED
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    assert error_of(client.ask(SHARE, size=8192, passed=[memory])) == NONE
    # One that it may not have, and one that is not there, look the same.
    refused, missing = client.ask(ATTACH, other.encode())[0], client.ask(ATTACH, b"nothing")[0]
    assert refused[3] == missing[3] == NO_SUCH_FEED and refused[-1] == missing[-1], (refused, missing)

    # Entitlements change while it runs; a bad file changes nothing.
    assert open_as_nobody(broker) == NOT_ENTITLED
    with open(entitlements, encoding="utf-8") as file:
        before = file.read()
    with open(entitlements, "w", encoding="utf-8") as file:
        file.write(before + '[[entitlement]]\nuser = "nobody"\nfeds = []\n')
    answer = command(control, "entitle")
    assert answer.startswith("error: the new entitlements were rejected; the previous ones remain in force; ") and "feds" in answer, answer
    assert open_as_nobody(broker) == NOT_ENTITLED
    with open(entitlements, "w", encoding="utf-8") as file:
        file.write(before + '[[entitlement]]\nuser = "nobody"\n')
    assert command(control, "entitle").startswith("2 entitlements in force")
    for _ in range(300):
        if (error := open_as_nobody(broker)) == NONE:
            break
        time.sleep(0.1)
    assert error == NONE, error
    with open(entitlements, "w", encoding="utf-8") as file:
        file.write(before)
    command(control, "entitle")
    for _ in range(300):
        if (error := open_as_nobody(broker)) == NOT_ENTITLED:
            break
        time.sleep(0.1)
    assert error == NOT_ENTITLED, error

    # Strangers: none gets in, each is answered, and the client above does not notice.
    def crowd():
        return 0 if all(error_of(Client(broker).ask(OPEN)) == NOT_ENTITLED for _ in range(400)) else 1

    assert as_user(NOBODY, crowd) == 0
    # Rubbish closes who sends it.
    rubbish = Client(broker)
    rubbish.socket.send(os.urandom(104))
    rubbish.socket.recv(REPLY.size)
    assert rubbish.socket.recv(REPLY.size) == b""
    assert error_of(client.ask(ATTACH, ring.encode())) == NONE
    os.kill(process, 0)


def killed(broker, process):
    client = Client(broker)
    assert error_of(client.ask(OPEN)) == NONE
    os.kill(process, signal.SIGKILL)
    assert client.socket.recv(REPLY.size) == b"", "the socket of a killed appliance is open"


if __name__ == "__main__":
    if sys.argv[2] == "--killed":
        killed(sys.argv[1], int(sys.argv[3]))
    elif sys.argv[2] == "--open":
        assert error_of(Client(sys.argv[1]).ask(OPEN)) == NONE
    else:
        entitle(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6])
