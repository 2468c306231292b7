"""Clients that mean well, among a crowd that does not: crowd_test.py http|https PORT CONTROL_SOCKET PID CERTIFICATE"""

import http.client
import json
import os
import re
import socket
import ssl
import sys
import time

scheme, port, control, pid, certificate = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
PLACES = 32  # of each door
ANSWERS = 20  # that are wanted of each door
PATIENCE = 600  # seconds for all of them; the machine may be busy
GROWTH_KIB = 32 * 1024


def resident_kib():
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def page():
    """The status by HTTP; nothing if we were turned away."""
    context = ssl.create_default_context(cafile=certificate) if scheme == "https" else None
    client = (http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context) if context else
              http.client.HTTPConnection("127.0.0.1", port, timeout=20))
    try:
        client.request("GET", "/status.json")
        answer = client.getresponse()
        if answer.status == 503:
            assert answer.headers["Retry-After"], answer.headers
            return None
        assert answer.status == 200, answer.status
        return json.loads(answer.read())
    finally:
        client.close()


def command():
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(20)
        door.connect(control)
        door.sendall(b"status\n")
        line = door.makefile().readline()
        return None if not line or line.startswith("error: too many clients") else json.loads(line)


def served(ask):
    """Asks until there are enough answers; how often it took."""
    tries = answers = 0
    end = time.monotonic() + PATIENCE
    while answers < ANSWERS:
        assert time.monotonic() < end, f"{ask.__name__}: {answers} answers to {tries} requests"
        tries += 1
        try:
            status = ask()
        except (OSError, http.client.HTTPException):  # shut out on the way
            status = None
        if status is None:
            time.sleep(0.1)
            continue
        assert status["running"] and status["channels"][0]["packets"]["malformed"] == 0, status
        answers += 1
        files = len(os.listdir(f"/proc/{pid}/fd"))
        assert files < 2 * PLACES + 40, f"{files} descriptors"
    return tries


before = resident_kib()
print(f"{scheme}: {ANSWERS} answers took {served(page)} requests by HTTP, {served(command)} by the socket; ", end="")
grown = resident_kib() - before
assert grown < GROWTH_KIB, f"memory grew by {grown} KiB"
print(f"memory grew by {grown} KiB")
