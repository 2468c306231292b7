"""Clients of HTTP over TLS: tls_test.py server|token|clients, in the folder with the certificates."""

import base64
import socket
import ssl
import sys
import time
import warnings

PORT = 9464
PATIENCE = 5.0  # seconds that the server gives a client
PLACES = 32


def context(authority="ours.pem", certificate=None):
    made = ssl.create_default_context(cafile=authority)
    if certificate:
        made.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
    return made


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=15)


def get(path="/metrics", tls=None, authorization=None):
    """Status and body; the connection ends as TLS wants it, so nothing can have been cut off."""
    more = f"Authorization: {authorization}\r\n" if authorization else ""
    with (tls or context()).wrap_socket(connect(), server_hostname="127.0.0.1", suppress_ragged_eofs=False) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode())
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body.decode()


def fails(what):
    try:
        what()
    except (ssl.SSLError, ConnectionError):
        return True
    return False


def check_server():
    status, head, body = get()
    assert status == 200 and "stopbit_heartbeat_seconds" in body, head
    assert get("/status.json")[0] == 200 and "<title>Stopbit</title>" in get("/")[2]
    assert fails(lambda: get(tls=context("theirs.pem"))), "a certificate of nobody was believed"
    old = context()
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert get(tls=old)[0] == 200
    old = context()
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    assert fails(lambda: get(tls=old)), "TLS 1.1 was spoken"
    # Who does not speak TLS gets no page.
    for request in (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 70000, b"\x80" * 1000):
        client = connect()
        answer = b""
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(65536):
                answer += piece
        except OSError:
            pass
        client.close()
        assert b"200 OK" not in answer and b"stopbit" not in answer, answer
    # Silent in the middle of the handshake, and before the request: shut out when their time is over.
    began = time.monotonic()
    silent = [connect() for _ in range(PLACES // 2)]
    for client in silent:
        client.sendall(b"\x16\x03\x01\x02\x00\x01")
    idle = context().wrap_socket(connect(), server_hostname="127.0.0.1")
    assert get()[0] == 200, "the others are served meanwhile"
    for client in silent:
        assert client.recv(1) == b""
        client.close()
    try:
        assert idle.recv(1) == b""
    except (ssl.SSLError, ConnectionError):
        pass
    assert PATIENCE - 1 < time.monotonic() - began < 3 * PATIENCE
    assert get()[0] == 200


def check_token():
    def pair(name, word):
        return "Basic " + base64.b64encode(f"{name}:{word}".encode()).decode()

    status, head, body = get()
    assert status == 401 and 'WWW-Authenticate: Basic realm="stopbit"' in head and "stopbit_" not in body, head
    token = "a-token-of-this-test"
    for good in (f"Bearer {token}", pair("stopbit", token)):
        assert get(authorization=good)[0] == 200, good
    for bad in (f"Bearer {token}x", "Bearer ", f"Basic {token}", pair("stopbit", ""), pair("root", token), pair("stopbit", token + "x"), "Basic ="):
        assert get(authorization=bad)[0] == 401, bad


def check_clients():
    assert get(tls=context(certificate="operator"))[0] == 200
    assert fails(get), "a client without a certificate was served"
    assert fails(lambda: get(tls=context(certificate="stranger"))), "a stranger's certificate was believed"
    assert get("/status.json", tls=context(certificate="operator"))[0] == 200


{"server": check_server, "token": check_token, "clients": check_clients}[sys.argv[1]]()
print(f"TLS, {sys.argv[1]}: as it should be")
