#!/usr/bin/env python3
"""Programs that nobody here wrote run over the provider: fi_info, fi_pingpong, Open MPI, NetPIPE, hpcc.

usage: provider_test.py info|pingpong|mpi|one_sided|hpcc|full FOLDER-OF-THE-PLUG-IN

Exits with 77, which ctest takes for skipped, without the programs of the Debian packages libfabric-bin, openmpi-bin,
libopenmpi-dev, netpipe-openmpi and hpcc.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import programs

HERE = pathlib.Path(__file__).parent
SKIPPED = 77


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        sys.exit(SKIPPED)


def counters(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    pathlib.Path(path).unlink()
    return lines


def total(lines, name):
    return sum(line[name] for line in lines)


def info(env, _work):
    need("fi_info")
    text = programs.run(["fi_info", "-p", "stopbit"], env)
    assert "provider: stopbit" in text and "FI_EP_RDM" in text, text
    # What it does not have it does not offer.
    for caps in ("FI_MULTI_RECV", "FI_MULTICAST"):
        programs.run(["fi_info", "-p", "stopbit", "-c", caps], env, expect=61)
    assert "FI_STOPBIT_NETWORK" in programs.run(["fi_info", "-e"], env)


def pingpong(env, work):
    need("fi_pingpong")
    text = programs.pingpong(["-p", "stopbit", "-c", "-I", "20"], env)  # -c: each message is checked
    assert "1m" in text and "=20" in text, text
    lines = counters(work / "counters")
    assert len(lines) == 2 and total(lines, "bytes_sent") == total(lines, "bytes_received") > 40 * 2**20, lines


def mpi(env, work):
    need("mpirun", "mpicc", "NPopenmpi")
    program = work / "collectives"
    programs.run(["mpicc", "-O1", "-o", program, HERE / "collectives.c"], env)
    for ranks in (2, 4):
        for single_copy in ("1", "0"):
            env["FI_STOPBIT_SINGLE_COPY"] = single_copy
            text = programs.mpirun(env, ranks, program)
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
    text = programs.mpirun(env, 2, "NPopenmpi", "-u", "65536", "-n", "10", "-o", work / "netpipe")
    assert "65539 bytes" in text or "65536 bytes" in text, text
    assert total(counters(work / "counters"), "bytes_sent") > 2**20


def one_sided(env, work):
    need("mpirun", "mpicc")
    program = work / "one_sided"
    programs.run(["mpicc", "-O1", "-o", program, HERE / "one_sided.c"], env)
    for ranks, single_copy, thread in ((2, "1", "1"), (4, "0", "0"), (8, "1", "0")):
        env["FI_STOPBIT_SINGLE_COPY"] = single_copy
        env["FI_STOPBIT_PROGRESS_THREAD"] = thread
        # With a thread, the target of the last part makes no calls.
        text = programs.mpirun(env, ranks, program, *(["computes"] if thread == "1" else []), one_sided=True)
        assert f"{ranks} ranks, 0 errors" in text, text
        lines = counters(work / "counters")
        # One domain for messages and one for windows in each rank.
        assert len(lines) == 2 * ranks, lines
        windows = [line for line in lines if line["remote_operations"] != 0]
        assert len(windows) == ranks, lines
        for name in ("bytes_stored", "bytes_served"):
            assert all(line[name] > 400_000 for line in windows), lines
        # Every rank but the first takes its 200 tickets from it.
        assert total(windows, "atomics_applied") >= 200 * (ranks - 1), lines
        copied, pieces = total(windows, "copied_bytes"), total(windows, "piece_bytes")
        assert copied + pieces > 2**20 and (single_copy == "1" or copied == 0), lines
        assert total(lines, "peers_lost") == total(lines, "malformed") == total(lines, "refused") == 0, lines


def hpcc(env, work):
    """The parts of hpcc that use MPI, with its own checks, on a problem of a few seconds."""
    need("mpirun", "hpcc")
    text = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text().splitlines()
    text[5] = "200 Ns"
    text[10:12] = ["1 Ps", "2 Qs"]
    (work / "hpccinf.txt").write_text("\n".join(text) + "\n")
    os.chdir(work)  # where it looks for its input
    programs.mpirun(env, 2, "hpcc")
    summary = dict(line.split("=", 1) for line in (work / "hpccoutf.txt").read_text().splitlines() if "=" in line)
    assert summary["Success"] == "1", summary
    assert float(summary["MPIRandomAccess_ErrorsFraction"]) <= 0.01, summary
    assert float(summary["PTRANS_residual"]) < 16, summary
    text = (work / "hpccoutf.txt").read_text()
    assert "0 tests completed and failed residual checks" in text, text
    assert total(counters(work / "counters"), "bytes_sent") > 2**20


def full(env, _work):
    """A /dev/shm without room is an error that says so, and leaves nothing."""
    need("fi_pingpong", "unshare")
    env["FI_LOG_LEVEL"] = "warn"
    port = programs.free_port()
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
    programs.wait_for_listener(port)
    client = subprocess.Popen(["fi_pingpong", "-p", "stopbit", "-e", "rdm", "-P", str(port), "127.0.0.1"], env=env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        text, _ = server.communicate(timeout=programs.PATIENCE)
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
        {"info": info, "pingpong": pingpong, "mpi": mpi, "one_sided": one_sided, "hpcc": hpcc, "full": full}[which](env, work)


main()
