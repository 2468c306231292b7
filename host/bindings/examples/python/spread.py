"""Best prices and spread of an instrument over the day, as a picture.

usage: spread.py EVENTS INSTRUMENT PICTURE.png

EVENTS is a ring of market events, as `stopbit replay --events --ring EVENTS` makes one of a capture, or `stopbit run` live.
In editors that know cells (# %%), run them one after the other, as in a notebook.
"""

# %% What it needs
import sys

import numpy

import stopbit

KIND, SIDE, FLAG, CAUSE = (stopbit.MARKET[name] for name in ("kind", "side", "flag", "cause"))
NO_PRICE = -2**63
PRICE_EXPONENT = -9  # prices are whole numbers of 10^-9: exact, as the exchange has them


# %% All events of the instrument, and those of all instruments of its channel, as numpy arrays
def events_of(ring, row):
    parts = []
    while len((part := ring.batch_columns())["kind"]):
        parts.append(part)
    if not parts:
        sys.exit("the ring has no events")
    events = {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}
    # Books are whole at the end of an exchange's event, which may be about several instruments.
    is_last = (events["flags"] & FLAG["last_of_event"]) != 0
    event = numpy.cumsum(is_last) - is_last
    ours = events["instrument"] == row
    ours |= (events["instrument"] == 0) & numpy.isin(events["channel"], events["channel"][ours])
    ours &= ~events["is_implied"]
    events = {name: column[ours] for name, column in events.items()}
    events["is_end"] = numpy.append(event[ours][1:] != event[ours][:-1], True)
    return events


# %% The prices of a side, the best first; None: there is one, and it is not known
class Side:
    def __init__(self, by, depth, is_bid):
        self.by, self.depth, self.is_bid = by, depth, is_bid
        self.empty(is_known=False)

    def empty(self, is_known):
        self.prices, self.is_known = [], is_known  # known: no price is missing
        self.fallen = None  # the best price that fell off a full side

    def is_better(self, price, other):
        return price > other if self.is_bid else price < other

    def apply(self, kind, level, price):
        if kind == KIND["delete_side"]:
            self.empty(is_known=True)
        elif kind in (KIND["delete_top"], KIND["delete_bottom"]):
            self.prices = self.prices[level:] if kind == KIND["delete_top"] else self.prices[:level - 1]
        elif self.by == "price":
            if price in self.prices:
                self.prices.remove(price)
            if kind != KIND["delete"]:
                self.prices.append(price)
            self.prices.sort(reverse=self.is_bid)
        else:
            self.prices += [None] * (level - len(self.prices))
            if kind in (KIND["new"], KIND["delete"]):
                self.prices[level - 1:level] = [price, self.prices[level - 1]] if kind == KIND["new"] else []
            else:
                self.prices[level - 1] = price
            if kind == KIND["new"] and self.prices[-1] is None:
                self.prices.pop()
        for price in self.prices[self.depth:] if self.depth else ():
            if self.by == "price" and (self.fallen is None or self.is_better(price, self.fallen)):
                self.fallen = price
        if self.depth:
            del self.prices[self.depth:]

    def best(self):
        if not self.prices or self.prices[0] is None:
            return NO_PRICE
        # A level says where it is; among prices, one that is missing may be better.
        is_right = self.by == "level" or (
            self.is_known and (self.fallen is None or self.is_better(self.prices[0], self.fallen)))
        return self.prices[0] if is_right else NO_PRICE


# %% The best prices after each event of the exchange: columns time (ns), sequence, bid, ask
def best_prices(ring, instrument):
    try:
        (about,) = (one for one in ring.instruments() if instrument in (one["instrument"], one.get("name")))
    except ValueError:
        sys.exit(f"there is no instrument '{instrument}'; `stopbit instruments` lists them")
    by = about.get("book")
    if by not in ("level", "price"):
        sys.exit(f"this example follows books by level and by price, and that of '{instrument}' is by {by}")
    sides = {SIDE[name]: Side(by, about.get("depth"), name == "bid") for name in ("bid", "ask")}
    of_book = {KIND[name] for name in ("new", "change", "delete", "overlay", "delete_top", "delete_bottom", "delete_side")}
    empties = {KIND[name] for name in ("clear", "snapshot_begin", "stale")}
    is_empty = {CAUSE[name] for name in ("exchange", "reset", "session")}  # causes of a clear after which nothing is there
    events = events_of(ring, about["row"])
    rows = []
    columns = ("kind", "side", "level", "price", "id", "arrival_ns", "sequence", "is_end")
    for kind, side, level, price, ident, time, sequence, is_end in zip(*(events[name].tolist() for name in columns)):
        if kind in of_book and side in sides:
            sides[side].apply(kind, level, price)
        for each in sides.values():
            if kind in empties:
                each.empty(is_known=kind == KIND["clear"] and ident in is_empty)
            elif kind == KIND["snapshot_end"]:
                each.is_known = True
        if is_end:
            rows.append((time, sequence, *(each.best() for each in sides.values())))
    return numpy.array(rows, dtype=[("time", "i8"), ("sequence", "i8"), ("bid", "i8"), ("ask", "i8")])


# %% Two axes over one time: prices, and their difference
def draw(best, instrument, picture):
    try:
        import matplotlib
    except ImportError:
        sys.exit("the picture needs matplotlib: apt install python3-matplotlib")
    matplotlib.use("Agg")  # into a file, without a screen
    from matplotlib import pyplot

    is_whole = (best["bid"] != NO_PRICE) & (best["ask"] != NO_PRICE)
    times = best["time"].astype("datetime64[ns]")

    def as_number(prices):
        """Gaps where one of both is not known. Only a picture may round: whole numbers are subtracted first."""
        return numpy.where(is_whole, prices * 10.0**PRICE_EXPONENT, numpy.nan)

    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(10, 6), height_ratios=(2, 1), layout="constrained")
    above.step(times, as_number(best["ask"]), where="post", color="tab:red", label="ask", linewidth=1)
    above.step(times, as_number(best["bid"]), where="post", color="tab:blue", label="bid", linewidth=1)
    above.set(title=f"{instrument}: best prices and spread", ylabel="price")
    above.legend()
    below.step(times, as_number(best["ask"] - best["bid"]), where="post", color="tab:gray", linewidth=1)
    below.set(ylabel="spread", xlabel="time (UTC)", ylim=(0, None))
    figure.savefig(picture, dpi=100)


# %% From the command line
if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    best_of_day = best_prices(stopbit.ring(sys.argv[1]), sys.argv[2])
    draw(best_of_day, *sys.argv[2:])
