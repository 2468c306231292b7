#!/usr/bin/env python3
"""Programs that nobody here wrote run over the provider: fi_info, fi_pingpong, Open MPI, NetPIPE, hpcc.

usage: provider_test.py info|pingpong|mpi|one_sided|hpcc|full|hosts|bad_network|killed|mpi_udp|mpi_hosts FOLDER

Exits with 77, which ctest takes for skipped, without the programs of the Debian packages libfabric-bin, openmpi-bin,
libopenmpi-dev, netpipe-openmpi and hpcc.
"""

import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import hosts as two_hosts
import programs

HERE = pathlib.Path(__file__).parent
SKIPPED = 77


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        sys.exit(SKIPPED)


def counters(path):
    """What each process has counted. Look at `peers_lost` in shared memory only: over a network the process that ends
    last may see the other leave before the last acknowledgement has come."""
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
    for caps in ("FI_FENCE", "FI_MULTICAST"):
        programs.run(["fi_info", "-p", "stopbit", "-c", caps], env, expect=61)
    text = programs.run(["fi_info", "-e"], env)
    assert "FI_STOPBIT_NETWORK" in text and "FI_STOPBIT_RENDEZVOUS" in text, text


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


def meet(env, work, address, port=0):
    """Settings of processes that meet at an address, with a token. Returns the port."""
    token = work / "token"
    token.write_text(secrets.token_hex(32) + "\n")
    token.chmod(0o600)
    port = port or programs.free_port()
    env.update(FI_STOPBIT_RENDEZVOUS=f"{address}:{port}", FI_STOPBIT_TOKEN_FILE=str(token))
    return port


def need_hosts(hosts):
    if not hosts.works:
        print("skipped: no network namespaces without privilege, or no devices for them")
        sys.exit(SKIPPED)


def pingpong_of(hosts, env, *options):
    """fi_pingpong from the second host to the first."""
    command = ["fi_pingpong", "-p", "stopbit", "-e", "rdm", *options]
    return programs.pair(lambda port: hosts.on(0, command + ["-B", port]),
                         lambda port: hosts.on(1, command + ["-P", port, two_hosts.FIRST]), env,
                         listens=lambda port: hosts.on(0, ["ss", "-ltnH", f"sport = :{port}"]))


def hosts(env, work):
    """Two hosts with a cable, and a stranger who sends to both."""
    need("fi_pingpong", "fi_info", "ss")
    with two_hosts.Hosts() as pair:
        need_hosts(pair)
        port = meet(env, work, two_hosts.FIRST, 5177)
        text = programs.run(["fi_info", "-p", "stopbit"], env)
        assert "domain: stopbit-udp" in text, text
        noise = subprocess.Popen(pair.on(1, [sys.executable, HERE / "stranger.py", two_hosts.FIRST, port]))
        try:
            text = pingpong_of(pair, env, "-c", "-I", "20")
        finally:
            noise.kill()
            noise.wait()
        assert "1m" in text and "=20" in text, text
        lines = counters(work / "counters")
        assert len(lines) == 2 and total(lines, "bytes_sent") == total(lines, "bytes_received") > 40 * 2**20, lines
        assert total(lines, "copied_bytes") == total(lines, "malformed") == 0, lines
        assert total(lines, "rejected_datagrams") > 0, lines
        # A process with another token gets no further than the handshake.
        (work / "other").write_text(secrets.token_hex(32))
        env["FI_LOG_LEVEL"] = "warn"
        host = subprocess.Popen(pair.on(0, ["fi_pingpong", "-p", "stopbit", "-e", "rdm", "-B", "47011"]), env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: programs.run(pair.on(0, ["ss", "-ltnH", "sport = :47011"]), env))
            text = programs.run(pair.on(1, ["fi_pingpong", "-p", "stopbit", "-e", "rdm", "-P", "47011",
                                            two_hosts.FIRST]),
                                dict(env, FI_STOPBIT_TOKEN_FILE=str(work / "other")), expect=None)
            assert "its token is another one" in text, text
        finally:
            host.kill()
            host.wait()


def wait_until(is_so):
    end = time.monotonic() + programs.PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def bad_network(env, work):
    """Every packet, also of the control connection, may be lost, doubled and overtaken."""
    need("fi_pingpong", "ss")
    with two_hosts.Hosts(is_bad=True) as pair:
        need_hosts(pair)
        meet(env, work, two_hosts.FIRST, 5177)
        text = pingpong_of(pair, env, "-c", "-I", "10")
        assert "1m" in text and "=10" in text, text
        lines = counters(work / "counters")
        assert len(lines) == 2 and total(lines, "bytes_sent") == total(lines, "bytes_received") > 20 * 2**20, lines
        assert total(lines, "malformed") == total(lines, "refused") == 0, lines
        assert total(lines, "resent") > 0, lines
    assert all(count > 50 for count in pair.counts.values()), pair.counts


class Transfer:
    """fi_pingpong with long messages between two hosts, without end."""

    def __init__(self, pair, env):
        self.pair, self.env, self.ends = pair, env, []
        self.control = str(programs.free_port())

    def __enter__(self):
        command = ["fi_pingpong", "-p", "stopbit", "-e", "rdm", "-S", "1048576", "-I", "1000000"]
        self._start(0, command + ["-B", self.control])
        wait_until(lambda: programs.run(self.pair.on(0, ["ss", "-ltnH", f"sport = :{self.control}"]), self.env))
        self._start(1, command + ["-P", self.control, two_hosts.FIRST])
        self.wait_for_bytes()
        return self

    def __exit__(self, *_):
        for end in self.ends:
            end.kill()
            end.communicate()

    def _start(self, host, command):
        self.ends.append(subprocess.Popen(self.pair.on(host, command), env=self.env, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE, text=True))

    def wait_for_bytes(self):
        """Until megabytes more have been sent."""
        before = sent_bytes(self.pair)
        wait_until(lambda: sent_bytes(self.pair) > before + 20 * 2**20)

    def expect_error(self, end):
        _, text = self.ends[end].communicate(timeout=programs.PATIENCE)
        assert self.ends[end].returncode > 0, text


def killed(env, work):
    """A process that computes, one that is killed in the middle of a transfer, and a cable that is cut."""
    need("fi_pingpong", "ss")
    with two_hosts.Hosts() as pair:
        need_hosts(pair)
        meet(env, work, two_hosts.FIRST, 5177)
        for dies in (0, 1):  # the one at the rendezvous, or the other
            with Transfer(pair, env) as transfer:
                transfer.ends[1 - dies].send_signal(signal.SIGSTOP)
                time.sleep(2)  # it makes no calls for seconds, and is not given up
                transfer.ends[1 - dies].send_signal(signal.SIGCONT)
                transfer.wait_for_bytes()
                transfer.ends[dies].kill()
                transfer.expect_error(1 - dies)
            lines = counters(work / "counters") if (work / "counters").exists() else []
            assert all(line["peers_lost"] == 1 for line in lines), lines
        env["FI_STOPBIT_SILENCE"] = "2"
        with Transfer(pair, env) as transfer:
            pair.cut()
            transfer.expect_error(0)
            transfer.expect_error(1)


def sent_bytes(pair):
    return int(programs.run(pair.on(0, ["cat", "/sys/class/net/cable/statistics/tx_bytes"]), dict(os.environ)))


def mpi_udp(env, work):
    """Ranks of one host that speak over UDP all the same: collectives and windows."""
    need("mpirun", "mpicc")
    for name in ("collectives", "one_sided"):
        programs.run(["mpicc", "-O1", "-o", work / name, HERE / f"{name}.c"], env)
    for ranks in (2, 4):
        meet(env, work, "127.0.0.1")
        text = programs.mpirun(env, ranks, work / "collectives")
        assert f"{ranks} ranks, 0 errors" in text, text
        lines = counters(work / "counters")
        assert len(lines) == ranks, lines
        assert all(line["bytes_sent"] > 2**20 and line["bytes_received"] > 2**20 for line in lines), lines
        assert total(lines, "piece_bytes") > 2**20 and total(lines, "copied_bytes") == 0, lines
        assert total(lines, "malformed") == total(lines, "refused") == 0, lines
    meet(env, work, "127.0.0.1")
    text = programs.mpirun(env, 2, work / "one_sided", one_sided=True)
    assert "2 ranks, 0 errors" in text, text
    lines = counters(work / "counters")
    windows = [line for line in lines if line["remote_operations"] != 0]
    assert len(windows) == 2 and total(windows, "atomics_applied") >= 200, lines
    assert total(lines, "malformed") == 0, lines


def mpi_hosts(env, work):
    """A rank on each of two hosts."""
    need("mpirun", "mpicc", "unshare")
    program = work / "collectives"
    programs.run(["mpicc", "-O1", "-o", program, HERE / "collectives.c"], env)
    with two_hosts.Hosts() as pair:
        need_hosts(pair)
        meet(env, work, two_hosts.FIRST, 5177)
        # What mpirun takes for ssh.
        agent = work / "agent"
        agent.write_text("#!/bin/sh\nhost=$1\nshift\n"
                         'exec ip netns exec "$host" unshare --uts sh -c "hostname $host && $*"\n')
        agent.chmod(0o755)
        text = programs.mpirun(env, 2, program, through=pair.on(0, []), extra=[
            "--host", f"{pair.names[0]}:1,{pair.names[1]}:1", "--mca", "plm_rsh_agent", str(agent)])
        assert "2 ranks, 0 errors" in text, text
        lines = counters(work / "counters")
        assert len(lines) == 2 and all(line["bytes_sent"] > 2**20 for line in lines), lines
        assert total(lines, "malformed") == 0, lines


def main():
    which, folder = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        env = dict(os.environ, FI_PROVIDER_PATH=folder, FI_STOPBIT_COUNTERS=str(work / "counters"),
                   FI_STOPBIT_NETWORK=f"provider-test-{os.getpid()}")
        cases = (info, pingpong, mpi, one_sided, hpcc, full, hosts, bad_network, killed, mpi_udp, mpi_hosts)
        {case.__name__: case for case in cases}[which](env, work)


main()
