#!/usr/bin/env python3
"""A day's capture: `stopbit replay` of a large generated file, plain, gzip and zstd, beside what inflating alone takes.

    bench/tools/day.py STOPBIT [--capture FILE --templates FILE --framing NAME] [--size 256M] [--repeat 3] [--jobs 1,2]
                       [--formats none,jsonl,csv,columns] [--folder DIR]

The capture is a small one (default: the bundled sample), repeated with later times until it has that size. It is removed at
the end. Before anything is timed, the number of messages is compared with that of the small capture. The table has, for each
form of the file, seconds of wall and processor time, MB of the capture a second, and the peak of memory; runs take turns, and
the least wall time counts. Peak memory is that of a small part of the file, too: it must not grow with the size.
"""

import argparse
import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
INFLATE = {".gz": ["gzip", "-dc"], ".zst": ["zstd", "-dcq"]}


def bytes_of(text):
    return int(text[:-1]) * UNITS[text[-1].upper()] if text[-1].upper() in UNITS else int(text)


def packets_of(path):
    """The file's head, and its packets: time in units, unit in a second, record without times, frame."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    magic = struct.unpack_from("<I", data)[0]
    units = {0xA1B2C3D4: 1_000_000, 0xA1B23C4D: 1_000_000_000}.get(magic)
    if units is None:
        sys.exit(f"day.py: {path} is no little-endian pcap")
    packets, at = [], 24
    while at + 16 <= len(data):
        seconds, part, captured = struct.unpack_from("<III", data, at)
        packets.append((seconds * units + part, data[at + 8 : at + 16 + captured]))
        at += 16 + captured
    return data[:24], units, packets


def generate(source, target, size):
    """@returns how many times the packets of `source` are in it."""
    head, units, packets = packets_of(source)
    span = packets[-1][0] - packets[0][0] + units
    times = 0
    with open(target, "wb") as file:
        file.write(head)
        while times == 0 or file.tell() < size:
            shift = times * span
            file.write(b"".join(struct.pack("<II", *divmod(t + shift, units)) + rest for t, rest in packets))
            times += 1
    return times


def run(command):
    """Wall seconds, processor seconds, peak MiB, stderr."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as nothing, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=nothing, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        errors.seek(0)
        text = errors.read().decode()
    if process.returncode != 0:
        sys.exit(f"day.py: {' '.join(command)}: exit status {process.returncode}\n{text}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


def messages_in(summary):
    return int(re.search(r"([\d,]+) +messages", summary).group(1).replace(",", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stopbit")
    parser.add_argument("--capture", default=f"{ROOT}/tests/data/sample/capture.pcap.gz")
    parser.add_argument("--templates", default=f"{ROOT}/tests/data/sample/templates.xml")
    parser.add_argument("--framing", default="cme")
    parser.add_argument("--size", default="256M", type=bytes_of, help="of the plain capture; 4G: a day")
    parser.add_argument("--repeat", default=3, type=int)
    parser.add_argument("--jobs", default="1,2")
    parser.add_argument("--formats", default="none,jsonl,csv,columns")
    parser.add_argument("--folder", help="where the capture is made; default: a temporary folder")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder, prefix="stopbit-day-") as folder:
        plain = f"{folder}/day.pcap"
        times = generate(options.capture, plain, options.size)
        small = f"{folder}/small.pcap"
        generate(options.capture, small, max(options.size // 8, 1))
        files = {"plain": plain}
        for name, tool in (("gzip", ["gzip", "-1k"]), ("zstd", ["zstd", "-1qk"])):
            subprocess.run([*tool, plain], check=True)
            files[name] = plain + {"gzip": ".gz", "zstd": ".zst"}[name]
        feed = ["--templates", options.templates, "--framing", options.framing]

        def command(file, form, jobs):
            output = ["--columns", f"{folder}/columns", "--force"] if form == "columns" else ["--format", form]
            return [options.stopbit, "replay", file, *feed, *output, "--jobs", jobs]

        expected = times * messages_in(run(command(options.capture, "none", "1"))[3])
        best = {}
        for _ in range(options.repeat):
            for name, file in files.items():
                inflate = INFLATE.get(os.path.splitext(file)[1], ["cat"])
                results = {("inflating alone", "-"): run([*inflate, file])}
                for form in options.formats.split(","):
                    for jobs in options.jobs.split(","):
                        results[form, jobs] = run(command(file, form, jobs))
                        messages = messages_in(results[form, jobs][3])
                        if messages != expected:
                            sys.exit(f"day.py: {messages} messages in {file}, not {expected}")
                for key, result in results.items():
                    old = best.get((name, *key))
                    best[(name, *key)] = result if old is None or result[0] < old[0] else old
        size = os.path.getsize(plain)
        print(f"{size / 1e6:.0f} MB, {expected:,} messages; the least of {options.repeat} runs\n")
        print("| file | output | jobs | s | cpu s | MB/s | peak MiB | peak MiB of 1/8 |\n|---|---|---|---|---|---|---|---|")
        for (name, form, jobs), (wall, cpu, peak, _) in best.items():
            part = run(command(small, form, jobs))[2] if jobs != "-" and name == "plain" else None
            print(f"| {name} | {form} | {jobs} | {wall:.2f} | {cpu:.2f} | {size / 1e6 / wall:.0f} | {peak:.0f} |"
                  f" {'' if part is None else f'{part:.0f}'} |")
        shutil.rmtree(f"{folder}/columns", ignore_errors=True)


if __name__ == "__main__":
    main()
