#!/usr/bin/env python3
"""Settings of a test of a whole appliance, in one place. What a test needs beside that it says itself: lines for the
head of a file, tables for its end. Written into the current folder.

    settings.py live BIN_FOLDER --name NAME --rate 2000 --seconds 6 [...]
        An exchange with one channel on two lines (sim.toml), its description (feed.toml), and an appliance that listens
        (appliance.toml). The templates come from `stopbit simulate`, as made/cme.xml. The ring is ./ring.
    settings.py publisher --name NAME --sample FOLDER --publish TABLES [...]
        An appliance that plays a capture (appliance.toml, feed.toml) into the ring ./cme, and publishes it.
    settings.py market --name NAME --sample FOLDER --ring RING [...]
        An appliance that plays a capture (appliance.toml, feed.toml), and makes market events by a map.
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

REPLAYED_FEED = """name = "replayed"
[[image]]
name = "sample"
templates = ["{templates}"]
[[channel]]
number = 0
name = "incremental"
framing = "cme"
ring = "{ring}"
window = {{ packets = 1024, time = "100ms" }}
{groups}
{more}
"""
SAMPLE_GROUPS = """a = { group = "239.20.1.1", port = 20001 }
b = { group = "239.20.2.1", port = 20002 }"""
# Of an agent: it looks seldom, since many appliances of tests run at once on few processors.
SELDOM = 'sleep = "500us"'
REPLAYER = """name = "{name}"
state = "state"
{head}
[[agent]]
name = "md"
{agent}
[[port]]
name = "capture"
kind = "capture"
file = "{capture}"
speed = {speed}
[[feed]]
file = "feed.toml"
a = "capture"
{more}
"""


def ports_of(receives, kind, more):
    """[[port]] tables, and which line comes by which."""
    names = ["left", "right"] if len(receives) == 2 else ["wire"]
    tables = []
    for number, (name, interface) in enumerate(zip(names, receives)):
        table = f'[[port]]\nname = "{name}"\n'
        if kind == "socket":
            table += f'interface = "{interface}"\n{more}\n'
        else:
            table += f'kind = "dpdk"\ndevice = "net_af_packet{number},iface={interface},blocksz=65536,framesz=2048,framecnt=8192"\n'
        tables.append(table)
    return "".join(tables), "\n".join(f'{line} = "{name}"' for line, name in zip("ab", names))


def write(bin_folder, folder, *, name, rate, seconds, seed=7, sends=("tx0",), receives=("rx0",), port="socket", ring=None,
          window='packets = 1024, time = "50ms"', line_a="", exchange="", feed="", head="", agent=SELDOM, sockets="", appliance=""):
    """sends, receives: interfaces, one for both lines or one for each. line_a: what that line of the exchange has besides;
    exchange, feed, appliance: tables for the end of these files; head, agent, sockets: keys of the appliance, of its thread,
    of its ports that are sockets."""
    ports, lines = ports_of(receives, port, sockets)
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


def sample_feed(*, templates, ring, groups=SAMPLE_GROUPS, more=""):
    """The description of a capture's feed. groups: of the channel's lines; more: keys of the channel."""
    return REPLAYED_FEED.format(templates=templates, ring=ring, groups=groups, more=more)


def write_files(folder, **texts):
    for name, text in texts.items():
        with open(f"{folder}/{name}.toml", "w", encoding="utf-8") as file:
            file.write(text)


def write_market(folder, *, name, sample, ring, channel="", instruments=100, head="", speed="0",
                 capture=None, books=""):
    """sample: a folder with a capture, its templates and its map. channel, head, books: keys of the channel, of the
    appliance and tables for its head, of [books]. capture: another one."""
    books = f'[control]\nsocket = "control.sock"\n[books]\ninstruments = {instruments}\nlevels = 5\n{books}'
    write_files(folder,
                feed=sample_feed(templates=f"{sample}/templates.xml", ring=ring, more=f'map = "{sample}/map.toml"\n{channel}'),
                appliance=REPLAYER.format(name=name, agent=SELDOM, head=head + books, capture=capture or f"{sample}/capture.pcap.gz",
                                          speed=speed, more=""))


def write_publisher(folder, *, name, publish, sample=None, capture=None, templates=None, groups=SAMPLE_GROUPS, speed="1",
                    head="", nic="", appliance=""):
    """sample: a folder that has a capture and its templates, unless these are named. groups: of the channel's lines.
    publish: [[publish]] tables; head, nic: keys of the appliance, of [nic]; appliance: tables for the end."""
    write_files(folder,
                feed=sample_feed(templates=templates or f"{sample}/templates.xml", ring=f"{folder}/cme", groups=groups),
                appliance=REPLAYER.format(name=name, agent=SELDOM, head=f'{head}\n[nic]\nnetwork = "{name}"\n{nic}\n{publish}', speed=speed,
                                          capture=capture or f"{sample}/capture.pcap.gz", more=appliance))


def live_options(parser):
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
    parser.add_argument("--agent", default=SELDOM, help="keys of its thread")


def publisher_options(parser):
    parser.add_argument("--name", required=True, help="of the appliance, and of its network")
    parser.add_argument("--sample", help="folder of a capture and its templates")
    parser.add_argument("--capture", help="another capture")
    parser.add_argument("--templates", help="and its templates")
    parser.add_argument("--groups", help="and the keys of its lines, of the channel")
    parser.add_argument("--speed", help="of the capture: 1, its own")
    parser.add_argument("--publish", required=True, help="[[publish]] tables")
    parser.add_argument("--head", help="keys of the appliance, and tables before [nic]")
    parser.add_argument("--nic", help="keys of [nic]")
    parser.add_argument("--appliance", help="tables for the end of its file")


def market_options(parser):
    parser.add_argument("--name", required=True, help="of the appliance")
    parser.add_argument("--sample", required=True, help="folder of a capture, its templates and its map")
    parser.add_argument("--ring", required=True, help="of the records; events go to RING-events")
    parser.add_argument("--instruments", type=int, help="room for these")
    parser.add_argument("--head", help="tables for the head of the appliance's file")
    parser.add_argument("--speed", help="of the capture: 0, as fast as possible")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    live_options(kinds.add_parser("live"))
    publisher_options(kinds.add_parser("publisher"))
    market_options(kinds.add_parser("market"))
    arguments = {key: value for key, value in vars(parser.parse_args()).items() if value is not None}
    kind = arguments.pop("kind")
    if kind == "market":
        write_market(os.getcwd(), **arguments)
    elif kind == "live":
        write(os.path.abspath(arguments.pop("bin")), os.getcwd(), **arguments)
    else:
        write_publisher(os.getcwd(), **arguments)


if __name__ == "__main__":
    main()
