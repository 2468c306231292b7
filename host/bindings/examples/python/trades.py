"""Trades of each symbol in a capture, from numpy columns.

usage: trades.py CAPTURE TEMPLATES FRAMING
"""

import sys

import numpy

import stopbit


def main(capture, templates, framing):
    tables = stopbit.columns(capture, templates=templates, framing=framing)
    errors = tables["@events"]["packet"]
    if len(errors):
        print(f"{len(errors)} packets could not be decoded, first {errors[0]}", file=sys.stderr)
    trades = tables["Trade"]
    symbols, which = numpy.unique(trades["Symbol"], return_inverse=True)
    count = numpy.bincount(which)
    quantity = numpy.bincount(which, trades["LastSize"])
    value = numpy.bincount(which, trades["LastPrice"] * trades["LastSize"])
    for symbol, *sums in zip(symbols, count, quantity, value / quantity):
        print("%-12s %6d trades %10d at %.4f" % (symbol.decode(), *sums))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
