"""The rules of exchanges' books once more, in Python, written from the page of feeds: MOEX ASTS (orders by identifier,
RptSeq per instrument, a carousel of fragments) and T7 (prices by position, MsgSeqNum per product, snapshots as messages).

Each reader takes decoded messages, as `stopbit replay --header` prints them, and says after each packet of increments
what it holds for the truth: {instrument: (bids, asks)}, as lists of (price, size, orders). What it does not know it
leaves out.
"""
from collections import OrderedDict, defaultdict
from decimal import Decimal


def levels(orders, best_first):
    """Orders of a side, {id: (price, size)}, as its price levels."""
    sums = {}
    for price, size in orders.values():
        total, count = sums.get(price, (0, 0))
        sums[price] = (total + size, count + 1)
    return [(price, *sums[price]) for price in sorted(sums, reverse=best_first)]


class MoexBook:
    """A book, the RptSeq that it is at, and entries that wait for a snapshot; at None it is not known."""

    def __init__(self):
        self.at, self.sides, self.waiting = None, ({}, {}), OrderedDict()

    def apply(self, entry):
        kind, action = entry["MDEntryType"], entry.get("MDUpdateAction", 0)
        if kind == "J":
            self.sides = ({}, {})
            return
        side = self.sides[int(kind)]
        if action == 2:
            assert entry["MDEntryID"] in side, f"deletes an order that does not exist: {entry}"
            del side[entry["MDEntryID"]]
        else:
            assert (action == 1) == (entry["MDEntryID"] in side), f"adds an order twice, or changes none: {entry}"
            side[entry["MDEntryID"]] = (Decimal(str(entry["MDEntryPx"])), int(entry["MDEntrySize"]))

    def take(self, entry):
        number = entry["RptSeq"]
        if self.at is not None and number <= self.at:
            return
        self.waiting[number] = entry
        self.drain()

    def drain(self):
        while self.at is not None and self.at + 1 in self.waiting:
            self.at += 1
            self.apply(self.waiting.pop(self.at))
        if self.at is not None and self.waiting:
            self.at = None  # a number is missing: the book is of no use until a snapshot

    def load(self, number, entries):
        if self.at is not None and self.at >= number:
            return False
        self.sides = ({}, {})
        for entry in entries:
            if entry["MDEntryType"] != "J":
                self.apply({"MDUpdateAction": 0, **entry})
        self.at = number
        self.waiting = OrderedDict((n, e) for n, e in self.waiting.items() if n > number)
        self.drain()
        return True


class Moex:
    """Channels: 0 increments, 1 snapshots."""

    def __init__(self, from_start):
        self.books = defaultdict(MoexBook)
        self.from_start, self.fragments, self.last, self.lost = from_start, None, 0, 0
        self.loads = self.audits = 0

    def book(self, key):
        if key not in self.books and self.from_start:
            self.books[key].at = 0
        return self.books[key]

    def begin(self, number):
        """A packet of increments. One that is missing has hit some instruments, and only their numbers show which, so
        none is compared before a snapshot of after the loss. Lower numbers are those of a new day, with empty books."""
        if number <= self.last:
            self.books.clear()
            self.from_start, self.last, self.lost = True, 0, 0
        if number != self.last + 1 and (self.last or self.from_start):
            for book in self.books.values():
                book.at = None
            self.from_start, self.lost = False, number - 1
        self.last = number

    def message(self, channel, packet, name, fields):
        if channel == 1 and name.startswith("W-"):
            self.snapshot(packet, fields)
        if channel == 0 and name.startswith("X-"):
            for entry in fields["GroupMDEntries"]:
                self.book(f"{entry['Symbol']}/{entry['TradingSessionID']}").take(entry)

    def snapshot(self, packet, fields):
        if fields.get("RouteFirst") == 1:
            self.fragments = (packet - 1, fields["RptSeq"], [])
        if self.fragments is None or self.fragments[0] + 1 != packet or self.fragments[1] != fields["RptSeq"]:
            self.fragments = None
            return
        self.fragments = (packet, fields["RptSeq"], self.fragments[2] + fields["GroupMDEntries"])
        if fields.get("LastFragment") != 1:
            return
        (_, number, entries), self.fragments = self.fragments, None
        if 0 < fields["LastMsgSeqNumProcessed"] < self.lost or fields["LastMsgSeqNumProcessed"] > self.last:
            return  # from before a loss, or of another day
        book = self.book(f"{fields['Symbol']}/{fields['TradingSessionID']}")
        if book.at == number:
            self.audits += 1
            picture = MoexBook()
            picture.load(number, entries)
            assert picture.sides == book.sides, f"the snapshot of {fields['Symbol']} at {number} is another book"
        self.loads += book.load(number, entries)

    def state(self):
        return {key: tuple(levels(side, best_first=i == 0) for i, side in enumerate(book.sides))
                for key, book in self.books.items() if book.at is not None}


NEW, CHANGE, DELETE, DELETE_THRU, DELETE_FROM, OVERLAY = range(6)
BID, OFFER, TRADE, EMPTY_BOOK = range(4)


class T7Book:
    def __init__(self):
        self.last, self.sides = None, ([], [])  # the product's number that a snapshot had, or 0; None: not known

    def apply(self, entry, depth):
        kind = entry["MDEntryType"]
        if kind == EMPTY_BOOK:
            self.sides = ([], [])
        if kind not in (BID, OFFER):
            return
        side, action, place = self.sides[kind], entry["MDUpdateAction"], entry["MDPriceLevel"] - 1
        row = None
        if action in (NEW, CHANGE, OVERLAY):
            row = (Decimal(str(entry["MDEntryPx"])), entry["MDEntrySize"], entry["NumberOfOrders"])
        if action == NEW:
            assert place <= len(side), f"leaves out a level: {entry}"
            side.insert(place, row)
            del side[depth:]
        elif action == DELETE:
            del side[place]
        elif action == DELETE_THRU:
            del side[:place + 1]
        elif action == DELETE_FROM:
            del side[place:]
        else:
            assert action == OVERLAY or side[place][0] == row[0], f"changes a price: {entry}"
            side[place] = row
        prices = [price for price, _, _ in side]
        assert prices == sorted(prices, reverse=kind == BID) and len(set(prices)) == len(prices), f"disorder after {entry}"


class T7:
    """Channels: 0 increments (with snapshots in MDI), 1 snapshots. A product that has lost a message is begun anew: its
    instruments come back with their snapshots, and messages that came since wait for them."""

    def __init__(self, from_start, depth):
        self.from_start, self.depth = from_start, depth
        self.numbers = {}                   # (sender, product) -> last MsgSeqNum
        self.books = defaultdict(T7Book)    # by instrument
        self.waiting = defaultdict(list)    # product -> [(number, entries)], since it was begun
        self.begun = {}                     # product -> the first number of these
        self.sender, self.last, self.doubtful = None, 0, set()
        self.loads = self.audits = 0

    def begin(self, number):
        """A packet of increments. What one that is missing held, only the next number of each product shows."""
        if number != self.last + 1:
            self.doubtful = {product for _, product in self.numbers}
        self.last = number

    def init(self, product, number):
        self.waiting[product], self.begun[product] = [], number
        for key, book in self.books.items():
            if key.split("/")[0] == str(product):
                book.last = None

    def message(self, channel, _packet, name, fields):
        if "SenderCompID" in fields and fields["SenderCompID"] != self.sender and name != "DepthSnapshot":
            if self.sender is not None:
                self.from_start = False
                for product in {product for _, product in self.numbers}:
                    self.init(product, 1)
            self.sender = fields["SenderCompID"]
        if name == "DepthSnapshot":
            self.snapshot(fields)
        elif channel == 0 and "MsgSeqNum" in fields:
            product = fields.get("MarketSegmentID")
            if product is None:
                product = fields["MarketSegmentGrp"][0]["MarketSegmentID"]
            self.number(product, fields["MsgSeqNum"])
            if name == "DepthIncremental":
                self.entries(product, fields["MsgSeqNum"], fields["MDIncGrp"])

    def number(self, product, number):
        scope = (self.sender, product)
        last = self.numbers.get(scope, 0 if self.from_start else None)
        if last is None or number != last + 1:
            self.init(product, number)
        self.numbers[scope] = number
        self.doubtful.discard(product)

    def entries(self, product, number, entries):
        self.waiting[product].append((number, entries))
        for entry in entries:
            key = f"{product}/{entry['SecurityID']}"
            if key not in self.books and self.from_start:
                self.books[key].last = 0
            if self.books[key].last is not None and number > self.books[key].last:
                self.books[key].apply(entry, self.depth)

    def snapshot(self, fields):
        product, last = fields["MarketSegmentID"], fields["LastMsgSeqNumProcessed"]
        if fields["SenderCompID"] != self.sender or (self.sender, product) not in self.numbers:
            return
        key, picture = f"{product}/{fields['SecurityID']}", T7Book()
        for entry in fields["MDSshGrp"]:
            if entry["MDEntryType"] in (BID, OFFER):
                picture.apply({"MDUpdateAction": NEW, **entry}, self.depth)
        book = self.books[key]
        newest = self.numbers[(self.sender, product)]
        if book.last is not None:
            if last == newest:
                self.audits += 1
                assert picture.sides == book.sides, f"the snapshot of {key} at {last} is another book"
            return
        if last > newest or last + 1 < self.begun.get(product, 1):
            return  # ahead of us, or something is missing after it
        picture.last = last
        for number, entries in self.waiting[product]:
            for entry in entries:
                if number > last and f"{product}/{entry['SecurityID']}" == key:
                    picture.apply(entry, self.depth)
        self.books[key] = picture
        self.loads += 1

    def state(self):
        return {key: book.sides for key, book in self.books.items()
                if book.last is not None and int(key.split("/")[0]) not in self.doubtful}
