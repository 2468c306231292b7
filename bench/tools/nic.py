"""The network interface: what others measure on the same machine in the same run, and the tables of bench/results/nic.md."""

import os
import re
import shutil
import socket
import statistics
import subprocess
import time

import results

ROUNDS = 5
PATIENCE_S = 20
LISTENS_S = 5  # that a server may take to be there

# What a peer is asked for: its test, and the exchange of ours that it stands beside.
UCX = [("message_8", "ucp_am_lat", 8), ("message_40", "ucp_am_lat", 40), ("tag_8", "tag_lat", 8), ("put_8", "ucp_put_lat", 8),
       ("put_4096", "ucp_put_lat", 4096), ("get_8", "ucp_get", 8), ("get_4096", "ucp_get", 4096), ("add", "ucp_fadd", 8)]
PROVIDERS = [("shm", "shm", 20_000), ("tcp", "tcp;ofi_rxm", 1_000)]


def processors():
    return sorted(os.sched_getaffinity(0))[:2]


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def pinned(processor, command):
    """Before all ordinary programs, as ours, if the system allows it."""
    may = os.geteuid() == 0 and shutil.which("chrt")
    return [*(["chrt", "-f", "1"] if may else []), "taskset", "-c", str(processor), *command]


def answers(server, client, environment=None):
    """What the client prints, of a server that is started before it and ends with it."""
    there, here = processors()[1], processors()[0]
    environment = {**os.environ, **(environment or {})}
    listening = subprocess.Popen(pinned(there, server), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # A client that comes before there is anybody fails at once.
        end = time.monotonic() + LISTENS_S
        while True:
            time.sleep(0.5)
            done = subprocess.run(pinned(here, client), env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            if done.returncode == 0 or listening.poll() is not None or time.monotonic() > end:
                break
        listening.wait(timeout=PATIENCE_S)
        return done.stdout if done.returncode == 0 else ""
    except subprocess.TimeoutExpired:
        return ""
    finally:
        if listening.poll() is None:
            listening.kill()
            listening.wait()


def ucx(test, size, port):
    """ns: the median, half a round trip or a whole one as the test has it; nothing if it did not work."""
    ends = ["-s", str(size), "-p", str(port), "-f", "-v"]
    text = answers(["ucx_perftest", *ends], ["ucx_perftest", "127.0.0.1", "-t", test, "-n", "20000", "-w", "5000", "-O", "1", *ends],
                   {"UCX_TLS": "shm,self", "UCX_LOG_LEVEL": "error"})
    line = re.search(r"^\d+,([\d.]+),", text, re.MULTILINE)
    return float(line[1]) * 1000 if line else None


def libfabric(provider, size, count, port):
    text = answers(["fi_pingpong", "-p", provider, "-e", "rdm", "-S", str(size), "-I", str(count), "-B", str(port)],
                   ["fi_pingpong", "-p", provider, "-e", "rdm", "-S", str(size), "-I", str(count), "-P", str(port), "127.0.0.1"])
    said = f"{size // 1024}k" if size % 1024 == 0 else str(size)
    lines = [line.split() for line in text.splitlines() if line.startswith(f"{said} ")]
    return float(lines[0][-2]) * 1000 if lines else None


def measure(quick):
    """Figures nic/ucx/... and nic/fi_pingpong/..., each repetition of all of them in turn."""
    samples, notes = {}, []
    tools = [tool for tool in ("ucx_perftest", "fi_pingpong") if shutil.which(tool)]
    notes += [f"nic: {tool} is not installed" for tool in ("ucx_perftest", "fi_pingpong") if tool not in tools]
    if len(processors()) < 2:
        return [], notes
    for _ in range(1 if quick else ROUNDS):
        if "ucx_perftest" in tools:
            for name, test, size in UCX:
                samples.setdefault(f"nic/ucx/{name}", []).append(ucx(test, size, free_port()))
        if "fi_pingpong" in tools:
            for name, provider, count in PROVIDERS:
                for size in (8, 4096):
                    samples.setdefault(f"nic/fi_pingpong/{name}_{size}", []).append(libfabric(provider, size, count, free_port()))
    figures = []
    for name, values in samples.items():
        good = [value for value in values if value is not None]
        if good:
            figures.append({"name": name, "unit": "ns", "samples": good, "count": len(good)})
        else:
            notes.append(f"{name}: the peer gave no figure")
    return figures, notes


# ------------------------------------------------------------------------------------------------------------- tables

EXCHANGES = [("message_8", "message, 8 bytes"), ("message_40", "message, 40 bytes"), ("put_8", "put, 8 bytes, seen in memory"),
             ("put_4096", "put, 4096 bytes"), ("notification", "notification put"), ("get_8", "get, 8 bytes (whole)"),
             ("get_4096", "get, 4096 bytes (whole)"), ("lock", "lock of a window (whole)"), ("add", "fetch and add (whole)")]
WAYS = ["shm", "local", "fabric-shm", "fabric-tcp", "udp", "udp-sealed"]
# Half a round trip as the documents measured it, us: hardware of 1996 to 2012.
SOURCES = {"message_8": "0.99 (VELO R2), 1.3 (R1), 1.2 (ULTRA)", "put_8": "1.99", "notification": "1.4", "get_8": "2.82", "lock": "2.7"}
TARGETS = [("nic/shm/message_8", "message of 8 bytes over shm, half a round trip", "ns", 250),
           ("nic/shm/message_8/own", "the same, less one line transfer (250 less 60, what one takes between near processors)", "ns", 190),
           ("nic/step/message_8", "the work of both sides, on one processor", "ns", 110),
           ("nic/shm/message_8/rate", "messages of 8 bytes over shm, back to back", "ns each", 100),
           ("nic/translate/hit", "translation, hit", "ns", 10),
           ("nic/remote_ring/6_slots/over_plain", "remote ring over shm, beside a ring of this host", "times", 1.2)]


def peers_of(figures, exchange):
    found = [f"{tool} {figures.cell(name)}" for tool, name in
             [("UCX", f"nic/ucx/{exchange}"), *(("UCX tag", "nic/ucx/tag_8"),) * (exchange == "message_8"),
              *[(f"libfabric {p[0]}", f"nic/fi_pingpong/{p[0]}_{size}") for p in PROVIDERS for size in (8, 4096)
                if exchange == f"message_{size}" or (size == 4096 and exchange == "put_4096")]] if name in figures.all]
    return "; ".join(found)


def exchange_table(figures):
    rows = []
    for exchange, words in EXCHANGES:
        cells = []
        for way in WAYS:
            name = f"nic/{way}/{exchange}"
            lines = figures.median(f"{name}/lines")
            cells.append("" if lines is None else f"{figures.cell(name)} ({lines:.1f})")
        if any(cells):
            rows.append([words, *cells, peers_of(figures, exchange), SOURCES.get(exchange, "")])
    return results.table(["ns (line transfers)", *WAYS, "peers, ns", "sources, us"], rows)


def target_table(figures):
    rows = []
    for name, words, unit, most in TARGETS:
        value = figures.median(name)
        if value is not None:
            verdict = "met" if value <= most else f"missed: x {value / most:.2f}"
            rows.append([words, unit, str(most), results.number(value), verdict])
    return results.table(["target", "unit", "at most", "measured", ""], rows)


def rest_table(figures):
    names = [name for name in figures.all if re.match(r"nic/(translate|step|remote_ring)/|nic/.*/(rate|own)$|nic/.*/line$", name)]
    return results.table(["figure", "median", "unit"], [[f"`{name}`", figures.cell(name), figures.all[name]["unit"]] for name in names])


def model_table(result, figures):
    rows = []
    for name in (name for name in figures.all if name.startswith("nic/model/")):
        facts = result["facts"][name]
        ours, source = figures.median(name), facts["source, ns"]
        steps = [f"{int(count)} {step}" for step, count in facts.items() if step not in ("source, ns", "cycles") and count]
        rows.append([name.removeprefix("nic/model/"), ", ".join(steps), f"{source:,.0f}", f"{ours:,.0f}", f"{(ours / source - 1) * 100:+.1f} %"])
    return results.table(["transfer", "steps that our units counted", "source, ns", "ours, ns", "difference"], rows)


def texts(result):
    """The marked tables of bench/results/nic.md."""
    figures = results.Figures(result)
    found = {}
    if any(name.startswith("nic/shm/") for name in figures.all):
        parts = [results.measured(result), target_table(figures), exchange_table(figures), rest_table(figures)]
        found["figures"] = "\n\n".join(parts)
    if any(name.startswith("nic/model/") for name in figures.all):
        found["steps"] = model_table(result, figures)
    return found


def write(result, path):
    whole = path.read_text()
    for place, content in texts(result).items():
        begin, end = f"<!-- {place}: written by ./dev bench nic --readme -->", f"<!-- end of {place} -->"
        if begin not in whole or end not in whole:
            raise ValueError(f"{path} has no place for figures: {begin} ... {end}")
        head, rest = whole.split(begin, 1)
        whole = f"{head}{begin}\n{content}\n{end}{rest.split(end, 1)[1]}"
    path.write_text(whole)
