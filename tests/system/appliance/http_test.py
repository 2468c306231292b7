"""Metrics and hostile clients of a running appliance: http_test.py PORT PID MONITORING_FOLDER"""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

port, pid, monitoring = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
PATIENCE = 5.0  # seconds that the server gives a client
PLACES = 32


def connect():
    client = socket.create_connection(("127.0.0.1", port), timeout=15)
    return client


def hear(client):
    """All that comes until the other side closes."""
    answer = b""
    try:
        while piece := client.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    client.close()
    return answer


def ask(request):
    client = connect()
    try:
        client.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return hear(client)


def get(path):
    began = time.monotonic()
    head, _, body = ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK"), (path, head)
    assert time.monotonic() - began < 3, f"{path} took {time.monotonic() - began} s"
    return body.decode()


def resident_kib():
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def descriptors():
    return len(os.listdir(f"/proc/{pid}/fd"))


# ---- Every metric that rules and dashboard name, with every label they choose by


def check_names():
    # Readers are looked for twice a second.
    give_up = time.monotonic() + 30
    while "stopbit_reader_running" not in get("/metrics") and time.monotonic() < give_up:
        time.sleep(0.05)
    labels_of = {}
    metrics = get("/metrics")
    deprecated = set(re.findall(r"^# TYPE (\S+) untyped$", metrics, re.MULTILINE))
    for line in metrics.splitlines():
        if line and not line.startswith("#"):
            name, labels = re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ", line).groups()
            labels_of.setdefault(name, set()).update(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels or ""))
    with open(f"{monitoring}/stopbit.rules.yml") as file:
        rules = re.findall(r"^\s*expr:\s*(.*)$", file.read(), re.MULTILINE)
    with open(f"{monitoring}/stopbit.dashboard.json") as file:
        dashboard = json.load(file)
    expressions = rules + [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [item["query"]["query"] for item in dashboard["templating"]["list"] if item["type"] == "query"]
    named = 0
    for expression in expressions:
        for name, selector in re.findall(r"(stopbit_\w+)(?:\{([^}]*)\})?", expression):
            assert name in labels_of, f"no such metric: {name} in {expression}"
            assert name not in deprecated, f"a name of the release before: {name} in {expression}"
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector):
                assert label in labels_of[name] | {"instance", "job"}, f"{name} has no label {label}: {expression}"
            named += 1
        by = re.findall(r"\bby \(([^)]*)\)", expression)
        for label in (word.strip() for group in by for word in group.split(",")):
            names = re.findall(r"stopbit_\w+", expression)
            assert label in {"instance", "job"} or any(label in labels_of[name] for name in names), expression
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    for i, a in enumerate(places):
        for b in places[i + 1 :]:
            apart = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
            assert apart, ("panels overlap", a, b)
    assert len(rules) >= 8 and named >= 30, (len(rules), named)
    print(f"{len(rules)} rules and {len(places)} panels name {named} metrics, all of them there")
    if subprocess.run(["which", "promtool"], capture_output=True).returncode == 0:
        status = subprocess.run(["promtool", "check", "metrics"], input=get("/metrics").encode(), capture_output=True)
        assert status.returncode == 0, status.stdout.decode() + status.stderr.decode()


def check_drops():
    """The places of /status.json and of /metrics are the same, in the same order."""
    places = [(drop["place"], drop.get("reader", "")) for drop in status()["drops"]]
    assert [place for place, _ in places[:4]] == ["NIC", "kernel", "damaged frame", "foreign"], places
    assert ("overrun", "book") in places, places
    shown = []
    for labels in re.findall(r"^stopbit_drops_total\{(.*)\} ", get("/metrics"), re.MULTILINE):
        label = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        shown.append((label["place"], label.get("reader", "")))
    assert shown == places, (shown, places)


# ---- Clients that mean no good


def check_odd_requests():
    for request, wanted in (
        (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 405"),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 405"),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET //metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example:9464\r\n\r\n", b"HTTP/1.1 421"),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n", b"HTTP/1.1 403"),
        (b"GET http://elsewhere/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 404"),
    ):
        assert ask(request).startswith(wanted), request
    # What cannot be read as a request, or is larger than one may be, gets no page.
    for request in (
        b"\0" * 100,
        b"\xff" * 9000,
        b"\r\n" * 5000,
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n bad: folding\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100000,
        b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 4000000 + b"\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 300000 + b"\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + b"x" * 10000,
    ):
        assert b" 200 OK" not in ask(request), request[:80]


def check_slow_and_silent():
    """Silent, slow and half-closed clients are shut out when their time is over; the others are served meanwhile."""
    began = time.monotonic()
    silent = [connect() for _ in range(PLACES - 8)]
    drip = connect()
    half = connect()
    half.sendall(b"GET /metr")
    half.shutdown(socket.SHUT_WR)
    assert hear(half) == b""
    for letter in b"GET /metrics HTTP/1.1\r\nX-Slow: ":
        drip.sendall(bytes([letter]))
        time.sleep(0.02)
    get("/metrics")
    get("/status.json")
    # A page that is asked for and never taken: the window is tiny, and nobody reads.
    deaf = []
    for _ in range(4):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        deaf.append(client)
    get("/")
    get("/history.json")
    get("/errors.json")
    ends = 0
    try:
        for _ in range(100):
            drip.sendall(b"x")
            time.sleep(0.1)
    except (BrokenPipeError, ConnectionResetError):
        ends = time.monotonic() - began
    assert PATIENCE - 1 < ends < 2 * PATIENCE, f"a client that sends a byte now and then was served for {ends} s"
    assert all(hear(client) == b"" for client in silent)
    for client in deaf:
        client.close()
    drip.close()


def check_too_many():
    """More clients than there are places: the newest have them, the others are told so, and the places are given back."""
    many = [connect() for _ in range(PLACES + 20)]
    told = [client.recv(12) for client in many[:20]]
    for client in many[20:]:
        client.settimeout(0.01)
        try:
            told.append(client.recv(12))
        except TimeoutError:
            told.append(None)
    assert told == 20 * [b"HTTP/1.1 503"] + PLACES * [None], told
    for client in many:  # reset, not closed
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    get("/metrics")


def status():
    return json.loads(get("/status.json"))


check_names()
check_drops()
before = status()
files, memory = descriptors(), resident_kib()
check_odd_requests()
check_slow_and_silent()
check_too_many()
end = time.monotonic() + PATIENCE  # for what they have left
while descriptors() > files + 1 and time.monotonic() < end:
    time.sleep(0.05)
after = status()
seconds = (after["monotonic_ns"] - before["monotonic_ns"]) / 1e9
packets = after["channels"][0]["packets"]["received"] - before["channels"][0]["packets"]["received"]
assert packets > 500 * seconds, f"{packets} packets in {seconds} s: the data path has waited"
assert after["time_ns"] - after["heartbeat_ns"] < 2_000_000_000, "the appliance has not said that it is well"
assert sum(p["dropped_by_kernel"] for p in after["ports"]) == sum(p["dropped_by_kernel"] for p in before["ports"])
assert descriptors() <= files + 1, (files, descriptors())  # the one that asked may still be closing
assert resident_kib() < memory + 16 * 1024, (memory, resident_kib())
print(f"{packets:.0f} packets in {seconds:.1f} s of hostile clients; memory grew by {resident_kib() - memory} KiB")
