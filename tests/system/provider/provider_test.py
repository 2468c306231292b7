#!/usr/bin/env python3
"""Programs that nobody here wrote run over the provider: fi_info, fi_pingpong, Open MPI, NetPIPE.

usage: provider_test.py info|pingpong|mpi|full FOLDER-OF-THE-PLUG-IN

Exits with 77, which ctest takes for skipped, without the programs of the Debian packages libfabric-bin, openmpi-bin,
libopenmpi-dev and netpipe-openmpi.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
PATIENCE = 400  # seconds: for a hang, not for a slow machine
SKIPPED = 77


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        sys.exit(SKIPPED)


def run(command, env, expect=0):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENCE)
    assert done.returncode == expect, f"{command}: exit {done.returncode}\n{done.stdout}"
    return done.stdout


def counters(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    pathlib.Path(path).unlink()
    return lines


def total(lines, name):
    return sum(line[name] for line in lines)


def info(env, _work):
    need("fi_info")
    text = run(["fi_info", "-p", "stopbit"], env)
    assert "provider: stopbit" in text and "FI_EP_RDM" in text, text
    # What it does not have it does not offer.
    for caps in ("FI_RMA_PMEM", "FI_MULTI_RECV"):
        run(["fi_info", "-p", "stopbit", "-c", caps], env, expect=61)
    assert "FI_STOPBIT_NETWORK" in run(["fi_info", "-e"], env)


def wait_for_listener(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        text = pathlib.Path("/proc/net/tcp").read_text() + pathlib.Path("/proc/net/tcp6").read_text()
        if any(f":{port:04X} " in line and " 0A " in line for line in text.splitlines()):
            return
        time.sleep(0.02)
    raise AssertionError("no listener")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def pingpong(env, work):
    need("fi_pingpong")
    port = free_port()
    # -c: each message is checked.
    command = ["fi_pingpong", "-p", "stopbit", "-e", "rdm", "-c", "-I", "20"]
    server = subprocess.Popen(command + ["-B", str(port)], env=env, stdout=subprocess.DEVNULL)
    try:
        wait_for_listener(port)
        text = run(command + ["-P", str(port), "127.0.0.1"], env)
        assert server.wait(PATIENCE) == 0
    finally:
        server.kill()
    assert "1m" in text and "=20" in text, text
    lines = counters(work / "counters")
    assert len(lines) == 2 and total(lines, "bytes_sent") == total(lines, "bytes_received") > 40 * 2**20, lines


def mpirun(env, ranks, *program):
    exported = [name for name in env if name.startswith("FI_")]
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), "--mca", "pml", "cm", "--mca", "mtl", "ofi",
               "--mca", "mtl_ofi_provider_include", "stopbit"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    for name in exported:
        command += ["-x", name]
    return run(command + [str(word) for word in program], env)


def mpi(env, work):
    need("mpirun", "mpicc", "NPopenmpi")
    program = work / "collectives"
    run(["mpicc", "-O1", "-o", program, HERE / "collectives.c"], env)
    for ranks in (2, 4):
        for single_copy in ("1", "0"):
            env["FI_STOPBIT_SINGLE_COPY"] = single_copy
            text = mpirun(env, ranks, program)
            assert f"{ranks} ranks, 0 errors" in text, text
            lines = counters(work / "counters")
            # MPI used it: at least what the largest exchange between two ranks moves.
            assert len(lines) == ranks, lines
            assert all(line["bytes_sent"] > 2**20 and line["bytes_received"] > 2**20 for line in lines), lines
            assert total(lines, "bytes_sent") == total(lines, "bytes_received"), lines
            copied, pieces = total(lines, "copied_bytes"), total(lines, "piece_bytes")
            # Containers may forbid the system call; then all goes in pieces.
            assert copied + pieces > 2**20 and (single_copy == "1" or copied == 0), lines
            assert total(lines, "peers_lost") == total(lines, "malformed") == total(lines, "refused") == 0, lines
    env["FI_STOPBIT_SINGLE_COPY"] = "1"
    text = mpirun(env, 2, "NPopenmpi", "-u", "65536", "-n", "10", "-o", work / "netpipe")
    assert "65539 bytes" in text or "65536 bytes" in text, text
    assert total(counters(work / "counters"), "bytes_sent") > 2**20


def full(env, _work):
    """A /dev/shm without room is an error that says so, and leaves nothing."""
    need("fi_pingpong", "unshare")
    env["FI_LOG_LEVEL"] = "warn"
    port = free_port()
    script = ("mount -t tmpfs -o size=1m tmpfs /dev/shm && "
              f"(fi_pingpong -p stopbit -e rdm -B {port}; find /dev/shm -type f)")
    # As the first user of a new user namespace, if the kernel allows it.
    command = ["unshare", "-rm", "sh", "-c", script]
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True,
                      check=False).returncode != 0:
        print("skipped: the kernel allows no mount in a namespace of this user")
        sys.exit(SKIPPED)
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # The server opens its endpoint when a client has come.
    wait_for_listener(port)
    client = subprocess.Popen(["fi_pingpong", "-p", "stopbit", "-e", "rdm", "-P", str(port), "127.0.0.1"], env=env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        text, _ = server.communicate(timeout=PATIENCE)
    finally:
        client.kill()
        client.wait()
        server.kill()
    assert "not enough space in /dev/shm: needs" in text, text
    assert not any(line.startswith("/dev/shm/") for line in text.splitlines()), text


def main():
    which, folder = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        env = dict(os.environ, FI_PROVIDER_PATH=folder, FI_STOPBIT_COUNTERS=str(work / "counters"),
                   FI_STOPBIT_NETWORK=f"provider-test-{os.getpid()}")
        {"info": info, "pingpong": pingpong, "mpi": mpi, "full": full}[which](env, work)


main()
