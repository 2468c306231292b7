#!/usr/bin/env python3
"""Settings of a test of a whole appliance, in one place: an exchange with one channel on two lines (sim.toml), its
description (feed.toml), and an appliance that listens (appliance.toml). What a test needs beside that it says itself:
lines for the head of a file, tables for its end.

    settings.py BIN_FOLDER --name NAME --rate 2000 --seconds 6 [...]

Written into the current folder; the templates come from `stopbit simulate`, as made/cme.xml. The ring is ./ring.
"""

import argparse
import os
import subprocess

EXCHANGE = """preset = "cme"
seed = {seed}
duration = "{seconds}s"
channels = 1
instruments = 20
rate = {rate}
heartbeat_every = "100ms"
[line_a]
group = "239.30.1.1:30001"
interface = "{sends[0]}"
{line_a}
[line_b]
group = "239.30.2.1:31001"
interface = "{sends[1]}"
{more}
"""
FEED = """name = "live"
[[image]]
name = "cme"
templates = ["made/cme.xml"]
[[channel]]
number = 1
name = "incremental"
image = "cme"
framing = "cme"
ring = "{ring}"
window = {{ {window} }}
a = {{ group = "239.30.1.1", port = 30001 }}
b = {{ group = "239.30.2.1", port = 31001 }}
{more}
"""
APPLIANCE = """name = "{name}"
state = "state"
{head}
[[agent]]
name = "md"
{agent}
{ports}
[[feed]]
file = "feed.toml"
{lines}
{more}
"""


def ports_of(receives, kind):
    """[[port]] tables, and which line comes by which."""
    names = ["left", "right"] if len(receives) == 2 else ["wire"]
    tables = []
    for number, (name, interface) in enumerate(zip(names, receives)):
        table = f'[[port]]\nname = "{name}"\n'
        if kind == "socket":
            table += f'interface = "{interface}"\n'
        else:
            table += f'kind = "dpdk"\ndevice = "net_af_packet{number},iface={interface},blocksz=65536,framesz=2048,framecnt=8192"\n'
        tables.append(table)
    return "".join(tables), "\n".join(f'{line} = "{name}"' for line, name in zip("ab", names))


def write(bin_folder, folder, *, name, rate, seconds, seed=7, sends=("tx0",), receives=("rx0",), port="socket", ring=None,
          window='packets = 1024, time = "50ms"', line_a="", exchange="", feed="", head="", agent="", appliance=""):
    """sends, receives: interfaces, one for both lines or one for each. line_a: what that line of the exchange has besides;
    exchange, feed, appliance: tables for the end of these files; head, agent: keys of the appliance, of its thread."""
    ports, lines = ports_of(receives, port)
    texts = {
        "sim.toml": EXCHANGE.format(seed=seed, seconds=seconds, rate=rate, sends=(sends[0], sends[-1]), line_a=line_a, more=exchange),
        "feed.toml": FEED.format(ring=ring or f"{folder}/ring", window=window, more=feed),
        "appliance.toml": APPLIANCE.format(name=name, head=head, agent=agent, ports=ports, lines=lines, more=appliance),
    }
    for path, text in texts.items():
        with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
            file.write(text)
    # The templates are the same for a day of any length.
    with open(f"{folder}/templates.toml", "w", encoding="utf-8") as file:
        file.write(EXCHANGE.format(seed=1, seconds=1, rate=100, sends=(sends[0], sends[-1]), line_a="", more=""))
    subprocess.run([f"{bin_folder}/stopbit", "simulate", "templates.toml", "-o", "/dev/null", "--write-feed", "made", "-q"],
                   cwd=folder, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of stopbit")
    parser.add_argument("--name", required=True, help="of the appliance")
    parser.add_argument("--rate", type=int, required=True, help="packets a second and line")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, default=7)
    for key in ("sends", "receives"):
        parser.add_argument(f"--{key}", type=lambda text: text.split(","), help="an interface, or two: those of lines A and B")
    parser.add_argument("--port", choices=("socket", "dpdk"), help="dpdk: its driver net_af_packet")
    parser.add_argument("--window", help="keys of the channel's window")
    parser.add_argument("--line-a", help="keys of line A of the exchange")
    for name in ("exchange", "feed", "appliance"):
        parser.add_argument(f"--{name}", help="tables for the end of its file")
    parser.add_argument("--head", help="keys of the appliance")
    parser.add_argument("--agent", help="keys of its thread")
    arguments = {key: value for key, value in vars(parser.parse_args()).items() if value is not None}
    write(os.path.abspath(arguments.pop("bin")), os.getcwd(), **arguments)


if __name__ == "__main__":
    main()
