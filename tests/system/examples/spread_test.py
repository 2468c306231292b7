"""host/bindings/examples/python/spread.py: its best prices are those of `stopbit book`, and its picture shows them.

usage: spread_test.py STOPBIT EXAMPLE SAMPLE_FOLDER SCRATCH_FOLDER     status 77: no picture, for want of matplotlib
"""

import decimal
import importlib.util
import json
import os
import shutil
import subprocess
import sys

STOPBIT, EXAMPLE, SAMPLE, SCRATCH = (os.path.abspath(path) for path in sys.argv[1:])
RING = f"{SCRATCH}/events"


def feed(capture, folder, name):
    return [f"{folder}/{capture}", "--templates", f"{folder}/templates.xml", "--framing", "cme", "--map", name]


SAMPLE_FEED = feed("capture.pcap.gz", SAMPLE, f"{SAMPLE}/map.toml")


def stopbit(*arguments):
    return subprocess.run([STOPBIT, *arguments, "-q"], check=True, capture_output=True, text=True).stdout


def example(*arguments, **environment):
    return subprocess.run([sys.executable, EXAMPLE, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def best_of(side, none):
    return none if side[0] is None else int(decimal.Decimal(side[0][0]).scaleb(9))


def prices_are_those_of_the_book(ring, feed_of, instruments):
    stopbit("replay", *feed_of, "--events", "--ring", ring)
    spec = importlib.util.spec_from_file_location("spread", EXAMPLE)
    spread = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(spread)
    for instrument in instruments:
        best = spread.best_prices(spread.stopbit.ring(ring), instrument)
        best = {sequence: (bid, ask) for _, sequence, bid, ask in best.tolist()}
        books = [json.loads(line) for line in
                 stopbit("book", *feed_of, "--format", "jsonl", "--levels", "1", "--instrument", instrument).splitlines()]
        books = {book["seq"]: book for book in books}  # the last of each packet
        known = 0
        for sequence, book in books.items():
            wanted = tuple(best_of(book[side], spread.NO_PRICE) for side in ("bids", "asks"))
            for has, price in zip(best[sequence], wanted):
                assert has == price, f"{instrument}, packet {sequence}: {best[sequence]}, not {book}"
            known += spread.NO_PRICE not in best[sequence]
        assert known > 100, f"{instrument}: {known} known books of {len(books)}"


def errors_are_reported():
    os.makedirs(f"{SCRATCH}/without", exist_ok=True)
    with open(f"{SCRATCH}/without/matplotlib.py", "w", encoding="utf-8") as file:
        file.write("raise ImportError\n")
    path = f"{SCRATCH}/without:{os.environ['PYTHONPATH']}"
    for done, problem in ((example(RING, "CEDAR", "no.png", PYTHONPATH=path), "apt install python3-matplotlib"),
                          (example(RING, "NONE", "no.png"), "no instrument 'NONE'"), (example(RING), "usage: ")):
        assert done.returncode == 1 and problem in done.stderr and "Traceback" not in done.stderr, done.stderr


def picture_shows_them():
    try:
        from matplotlib import image
    except ImportError:
        print("skipped: no picture without matplotlib (Debian: python3-matplotlib)")
        sys.exit(77)
    picture = f"{SCRATCH}/spread.png"
    done = example(RING, "CEDAR", picture)
    assert done.returncode == 0, done.stderr
    pixels = image.imread(picture)[:, :, :3]
    height = len(pixels)

    def lines_of(colour, top, bottom):
        part = pixels[int(top * height):int(bottom * height)]
        return (abs(part - [value / 255 for value in colour]).max(axis=2) < 0.1).sum()

    red, blue, gray = (214, 39, 40), (31, 119, 180), (127, 127, 127)
    for colour, top, bottom in ((red, 0, 0.6), (blue, 0, 0.6), (gray, 0.6, 1)):
        assert lines_of(colour, top, bottom) > 300, f"no line of the colour {colour}"
    assert lines_of(red, 0.65, 1) == 0, "prices below"


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(SCRATCH)
    prices_are_those_of_the_book(RING, SAMPLE_FEED, ["ASPEN", "CEDAR", "RESIN"])  # books by price
    corpus = os.environ.get("STOPBIT_CORPUS")
    if corpus:  # by level
        cme = feed("capture.pcap", f"{corpus}/cme-mdp-2012", "cme-mdp2")
        prices_are_those_of_the_book(f"{SCRATCH}/cme", cme, ["27069", "3366"])
    errors_are_reported()
    picture_shows_them()


main()
