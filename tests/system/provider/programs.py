"""Programs of libfabric and Open MPI over a provider: for the provider's tests and for its table of figures."""

import os
import pathlib
import socket
import subprocess
import tempfile
import time

PATIENCE = 400  # seconds: for a hang, not for a slow machine


def run(command, env, expect=0):
    """Its output. `expect`: its exit code; None: any."""
    done = subprocess.run([str(word) for word in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PATIENCE)
    assert expect is None or done.returncode == expect, f"{command}: exit {done.returncode}\n{done.stdout}"
    return done.stdout


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for_listener(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        text = pathlib.Path("/proc/net/tcp").read_text() + pathlib.Path("/proc/net/tcp6").read_text()
        if any(f":{port:04X} " in line and " 0A " in line for line in text.splitlines()):
            return
        time.sleep(0.02)
    raise AssertionError("no listener")


def pair(server, client, env, listens=None):
    """Runs two programs that meet over a socket, and returns what the second prints. Each is a function of the port.
    `listens`: a command that prints something once the first listens, if that is not to be seen from here."""
    port = free_port()
    said = tempfile.TemporaryFile(mode="w+")
    first = subprocess.Popen([str(word) for word in server(port)], env=env, stdout=said, stderr=subprocess.STDOUT)
    try:
        if listens is None:
            wait_for_listener(port)
        else:
            end = time.monotonic() + PATIENCE
            while not run(listens(port), env):
                assert time.monotonic() < end, "no listener"
                time.sleep(0.02)
        text = run(client(port), env, expect=None)
        code = first.wait(PATIENCE)
        said.seek(0)
        assert code == 0, f"{first.args}: exit {code}\n{said.read()}\n{text}"
        return text
    finally:
        first.kill()
        first.wait()


def pingpong(options, env, pinned=False):
    """fi_pingpong between two processes; `pinned`: to processors 0 and 1. Returns its table."""
    def command(processor):
        return (["taskset", "-c", str(processor)] if pinned else []) + ["fi_pingpong", "-e", "rdm"] + options
    return pair(lambda port: command(0) + ["-B", str(port)], lambda port: command(1) + ["-P", str(port), "127.0.0.1"],
                env)


def mpirun(env, ranks, *program, one_sided=False, through=(), extra=()):
    """A program of MPI whose messages, and if `one_sided` its windows, go over the provider `stopbit`. `through`: words
    before mpirun, `extra`: its options."""
    command = [*through, "mpirun", *extra, "--oversubscribe", "-n", str(ranks), "--mca", "pml", "cm",
               "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "stopbit"]
    if one_sided:
        command += ["--mca", "osc", "rdma", "--mca", "btl", "ofi", "--mca", "btl_ofi_provider_include", "stopbit"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    for name in env:
        if name.startswith("FI_"):
            command += ["-x", name]
    # By default all runs of a user share a folder, and the last file of one takes it from the next that is starting.
    with tempfile.TemporaryDirectory(prefix="mpi-") as session:
        return run(command + list(program), {**env, "TMPDIR": session})
