"""The synchroniser in Python: what host/market/sync has to say, written to be read. It shares no code with it.

A *scope* is what a number counts: an instrument (RptSeq of CME, B3, MOEX), a product (MsgSeqNum of T7) or the channel
(MsgSeqNum of ORDERS-LOG and SSE). The book of an instrument is *at* a number of its scope. It is the exchange's if no
number after that one is missing. A snapshot raises `at`; a late or replayed message makes a missing number arrive.

This machine looks at every instrument after every input, where the product's touches only those that an input names.
"""

from bisect import insort

LATEST, SUSPECT, STALE = "latest", "suspect", "stale"
JOIN, GAP, QUEUE, RESET = "join", "gap", "queue", "reset"
NONE, SCOPE, CHANNEL = range(3)  # what a mark's number counts
EVER = float("inf")
MASK = (1 << 64) - 1


def chain(book, value):
    """The book is a chain of hashes: an entry too many, too few or out of order shows."""
    book = (book * 6364136223846793005 + value + 1442695040888963407) & MASK
    return book ^ book >> 29


class Numbers:
    """The numbers of a scope: the highest one, and which below it are missing."""

    def __init__(self, limit):
        self.high, self.holes, self.floor, self.limit = None, [], 0, limit

    def take(self, n):
        """Whether n is new. What was before the first number is not waited for."""
        if self.high is None:
            self.high, self.floor = n, n - 1
            return True
        if n > self.high:
            if n > self.high + 1:
                self.miss(self.high + 1, n - 1)
            self.high = n
            return True
        for i, (a, b) in enumerate(self.holes):
            if a <= n <= b:
                self.holes[i:i + 1] = [h for h in ([a, n - 1], [n + 1, b]) if h[0] <= h[1]]
                self.trim()
                return True
        return False

    def miss(self, first, last):
        self.holes.append([first, last])
        self.trim()

    def trim(self):
        """Too many holes: the lowest is not waited for any more, only a snapshot after it helps."""
        while len(self.holes) > self.limit:
            self.floor = self.holes.pop(0)[1]

    def missing(self):
        """The highest missing number; 0 if there is none."""
        return max(self.floor, self.holes[-1][1] if self.holes else 0)

    def first_above(self, n):
        return next((max(a, n + 1) for a, b in self.holes if b > n), None) if n >= self.floor else n + 1

    def reach(self, n):
        """The highest number up to which nothing after n is missing."""
        if n < self.floor:
            return n
        first = self.first_above(n)
        return first - 1 if first else max(n, self.high or 0)

    def forget(self, n):
        """A snapshot has brought everything up to n."""
        self.holes = [[max(a, n + 1), b] for a, b in self.holes if b > n]
        self.floor, self.high = max(self.floor, n), max(self.high or 0, n)


class Scope(Numbers):
    def __init__(self, limit):
        super().__init__(limit)
        self.proof = 0     # up to this message of the channel, the scope knows what it lost
        self.pictured = 0  # the same by snapshots that came before the first message
        self.since = 0     # time of the newest hole


class Row:
    def __init__(self, scope):
        self.scope, self.at, self.book, self.queue, self.lost = scope, None, None, [], 0  # queue: (number, value)
        self.last = 0  # number of the last entry in the book
        self.high_in = 0  # the message that brought the highest number
        self.pictured = 0  # entries of messages up to this may be in the snapshot that was loaded
        self.proved = 0  # messages before the proof of the scope have numbers up to this
        self.cause, self.number, self.refreshed = JOIN, 0, None
        self.reported, self.mark, self.retell = (STALE, JOIN, NONE), (STALE, 0, JOIN), False


class Synchroniser:
    """Inputs are methods; `out` is what they gave: a list of tuples, emptied by the caller."""

    def __init__(self, style, rows, scope_of, room=64, pool=1 << 30, holes=64, pessimistic=False, refresh=False,
                 patience=0, wait=0, repeat=0, give_up=0):
        self.style, self.room, self.pool, self.pessimistic = style, room, pool, pessimistic
        self.refresh, self.patience, self.wait, self.repeat, self.give_up = refresh, patience, wait, repeat, give_up
        self.limit, self.out, self.now = holes, [], 0
        self.channel, self.joined, self.since = Scope(holes), EVER, 0
        self.scopes = {}
        self.rows = {}
        for row in rows:
            key = row if style == "instrument" else scope_of(row)
            scope = self.channel if style == "channel" else self.scopes.setdefault(key, Scope(holes))
            self.rows[row] = Row(scope)
        self.pictured = -1  # time of the newest snapshot that was loaded
        self.over = -1  # messages up to this that come late have numbers that are over
        self.returned = False  # numbers have begun anew without a word; for the caller
        self.asks, self.open, self.waiting = [], None, []  # open: row, place, (number, message), values

    # ---------------------------------------------------------------- inputs
    def message(self, number, product, product_number, entries):
        """In order, late or replayed. entries: [(row, number in the scope of an instrument, value)]."""
        if self.channel.high is None:
            self.joined = number - 1
        elif number > self.channel.high + 1:
            self.lose(self.channel.high + 1, number - 1)
        before = self.channel.missing()
        is_new = number > self.over and self.channel.take(number)
        if self.channel.missing() > before:
            self.channel.since = self.now
        if self.style == "instrument":
            for row, n, value in entries:
                inst = self.rows[row]
                if number <= self.over:
                    continue
                in_order = is_new and number == self.channel.high
                if in_order and inst.scope.high is not None and n <= inst.scope.high and \
                        self.is_doubtful(inst.scope) and number > inst.pictured:
                    self.begin_anew(inst, row, n, self.channel.missing())
                elif self.is_of_before(inst, number, n):
                    self.begin_anew(inst, row, inst.scope.high + 1, max(self.channel.missing(), number))
                    continue
                if inst.scope.high is None or n > inst.scope.high:
                    inst.high_in = number
                if self.number(self.rows[row].scope, n, number):
                    self.keep(self.rows[row], row, n, value)
                    self.drain(self.rows[row], row)
        elif self.style == "channel":
            for row, _, value in entries if is_new else []:
                self.keep(self.rows[row], row, number, value)
        elif self.number(self.scopes[product], product_number, number):
            for row, _, value in entries:
                self.keep(self.rows[row], row, product_number, value)
        self.settle()

    def loss(self, first, last, now):
        """The arbiter gives up the channel's messages first to last; they may still come."""
        self.now = now
        self.lose(first, last)
        self.settle()

    def part(self, time, row, place, number, message, first, last, value):
        """A part of a snapshot: its place in the cycle, its number in the scope, and the channel's when it was taken."""
        inst, self.part_time = self.rows[row], time
        if time < self.since:
            return  # taken before the exchange began anew
        if first:
            self.open = [row, place - 1, (number, message), []]
        if self.open is None or self.open[:1] + self.open[2:3] != [row, (number, message)] or self.open[1] + 1 != place:
            self.open = None  # a part is missing, or this one is of another cycle
            return
        self.open[1] = place
        self.open[3].append(value)
        if not last:
            return
        book, self.open = join(self.open[3]), None
        if self.style == "instrument" and self.channel.high is None and 0 < message < inst.pictured and \
                time > self.pictured:
            self.forget_all(time)  # sent later, of an earlier message: numbers have begun anew
        if self.style == "instrument" and message and self.is_of_before(inst, message, number):
            return
        scope, is_stale = inst.scope, inst.reported[0] == STALE
        if self.style == "instrument" and self.channel.high is not None and scope.high is not None and self.is_doubtful(scope) and \
                message >= self.channel.missing() and message > inst.pictured and number < scope.high and \
                message >= inst.high_in:
            self.begin_anew(inst, row, number + 1, self.channel.missing())
            self.since = max(self.since, time)
        reach = -1 if inst.at is None else scope.reach(inst.at)
        # Where instruments share numbers, a book is the same until the instrument's next entry.
        last = reach if self.style == "instrument" else inst.last
        is_equal = inst.at is not None and last <= number <= reach
        if self.style == "instrument" and number >= reach and (inst.reported[0] != LATEST or is_equal):
            self.prove(scope, message, number)
        if not is_stale and is_equal:
            self.out.append(("audit", row, int(book == inst.book)))
            if book != inst.book:
                self.load(inst, row, reach, book, message)
        elif inst.reported[0] != LATEST and self.is_useful(inst, number):
            self.load(inst, row, number, book, message)
        self.settle()

    def cycle(self, now):
        """A cycle of snapshots begins: no part of the one before belongs to what follows."""
        self.now, self.open = now, None

    def reset(self, time, number=0):
        """The exchange begins anew: books are empty, and known to be."""
        self.since, self.open, self.asks, self.waiting, self.over = time, None, [], [], number or -1
        self.pictured = -1
        self.channel.__init__(self.limit)
        self.channel.high = self.joined = number
        for scope in self.scopes.values():
            scope.__init__(self.limit)
            scope.high, scope.proof = 0, number
        for inst in self.rows.values():
            inst.__init__(inst.scope)
            inst.at, inst.book, inst.reported, inst.mark = inst.scope.high, 0, (LATEST, None, NONE), (LATEST, 0, None)
        self.out.append(("restart", 0))

    def forget_all(self, time):
        """Nothing is known of any book, nor of the channel."""
        self.since, self.open, self.asks, self.waiting, self.over = max(self.since, time), None, [], [], -1
        self.channel.__init__(self.limit)
        self.joined = EVER
        for scope in self.scopes.values():
            scope.__init__(self.limit)
        for inst in self.rows.values():
            inst.__init__(inst.scope)
            inst.cause, inst.reported, inst.mark = RESET, (STALE, RESET, NONE), (STALE, 0, RESET)
        self.returned, self.pictured = True, -1
        self.out.append(("forget", 0))

    def spoil(self, row):
        """Not an input: the builder errs, which only an audit finds."""
        self.rows[row].book = chain(self.rows[row].book, 1)

    def distrust(self, row, cause):
        """The book is not the exchange's: only a snapshot after what was applied helps."""
        inst = self.rows[row]
        if inst.at is not None:
            inst.lost = max(inst.lost, inst.scope.reach(inst.at))
        inst.at, inst.cause, inst.number, inst.refreshed = None, cause, 0, None
        self.settle()

    def tick(self, now):
        self.now = now
        for ask in list(self.asks):
            first, last, due, end = ask
            parts = [(max(a, first), min(b, last)) for a, b in self.channel.holes if a <= last and b >= first]
            if not parts or now >= end:
                self.asks.remove(ask)
            elif now >= due:
                self.out += [("ask", 0, a, b) for a, b in reversed(parts)]
                ask[2] = now + self.repeat
                if not self.repeat:
                    self.asks.remove(ask)

    def refuse_before(self, time):
        """Snapshots from before are of no use: numbers have begun anew."""
        self.since = max(self.since, time)

    # ---------------------------------------------------------------- inside
    def is_of_before(self, inst, message, n):
        """Numbers grow with the messages: one that messages before the proof cannot have was over when that came."""
        return message < self.proof(inst.scope) and n > inst.proved

    def proof(self, scope):
        return scope.pictured if self.channel.high is None else max(scope.proof, min(scope.pictured, self.joined))

    def begin_anew(self, inst, row, n, over):
        """The numbers of an instrument have begun anew without a word, and are at n. Messages up to `over` that are
        missing may have the old ones."""
        self.over, self.asks = over, []
        if self.open is not None and self.open[0] == row:
            self.open = None
        scope = inst.scope
        scope.holes, scope.floor, scope.high = [], max(n - 1, 0), n - 1 if n else None
        self.forget(inst, row, EVER)
        kept = inst.reported, inst.mark, inst.high_in, inst.proved
        inst.__init__(scope)
        inst.reported, inst.mark, inst.high_in, inst.proved = kept
        inst.cause, self.returned = RESET, True

    def lose(self, first, last):
        if self.channel.high is None:
            self.joined = last
            self.channel.take(last)
            self.channel.floor = last
        elif last <= self.channel.high:
            return
        else:
            first = self.channel.high + 1
            self.channel.miss(first, last)
            self.channel.high = last
        self.channel.since = self.now
        if self.wait == 0:
            self.out.append(("ask", 0, first, last))
        if self.wait or self.repeat:
            self.asks.append([first, last, self.now + (self.wait or self.repeat), self.now + self.give_up])
            self.asks = self.asks[-16:]

    def is_doubtful(self, scope):
        if self.style == "channel":
            return False
        return self.channel.high is None or scope.proof < self.channel.missing()

    def prove(self, scope, message, number):
        """Whatever the scope lost up to this message is known to be missing. Before it are numbers up to this one."""
        before = self.proof(scope)
        if self.channel.high is None:
            scope.pictured = max(scope.pictured, message)
        else:
            scope.proof = max(scope.proof, min(message, self.channel.high))
        for inst in self.rows.values():
            inst.retell = inst.retell or (inst.scope is scope and inst.reported[2] == CHANNEL)
            if inst.scope is scope and self.proof(scope) > before:
                inst.proved = number

    def number(self, scope, n, message):
        known, before = scope.high, scope.missing()
        is_new = scope.take(n)
        if scope.missing() > before:
            scope.since = self.now
        # A step of one proves only what was lost before the message that makes it.
        if self.is_doubtful(scope) and (known is None or n - 1 == known) and message > self.channel.missing():
            self.prove(scope, message, n - 1)
        return is_new

    def missing(self, scope):
        return EVER if scope is self.channel and scope.high is None else scope.missing()

    def blocked(self, inst):
        return inst.at is None or max(inst.lost, self.missing(inst.scope)) > inst.at or (
            self.pessimistic and self.is_doubtful(inst.scope))

    def is_useful(self, inst, number):
        need = max(inst.lost, inst.scope.floor)
        if inst.at is None or need > inst.at:
            return number >= max(need, inst.refreshed or 0)
        return number > inst.scope.reach(inst.at)

    def load(self, inst, row, number, book, message):
        inst.at = inst.last = number
        inst.pictured, self.pictured = message, max(self.pictured, self.part_time)
        inst.book, inst.refreshed, inst.retell = book, None, True
        self.out.append(("load", row, number))
        if self.style == "instrument":
            inst.scope.forget(number)
        self.forget(inst, row, number)  # an entry with the snapshot's own number is in it

    def keep(self, inst, row, n, value):
        if inst.at is not None and n <= inst.at:
            return
        if not self.blocked(inst):
            self.apply(inst, row, n)
            inst.book, inst.last = chain(inst.book, value), n
            self.out.append(("apply", row, value))
            return
        if self.refresh and (inst.at is None or max(inst.lost, self.missing(inst.scope)) > inst.at):
            self.pass_on(inst, row, n, value)
        if n <= inst.lost and (inst.at is None or inst.lost > inst.at):
            return  # of no use to any snapshot that will do
        if len(inst.queue) >= self.room:
            gone = min(inst.queue[0][0], n)
            self.abandon(inst, row, gone)
            if gone == n:
                return
        if sum(len(self.rows[r].queue) for r in self.waiting) >= self.pool:
            # The one that waits longest, but for those that get what waits at the end of the message.
            victim = next((r for r in self.waiting if self.blocked(self.rows[r])), None)
            gone = n if victim is None else self.rows[victim].queue[0][0]
            if victim in (None, row):
                gone = min(gone, n)
            self.abandon(self.rows[victim or row], victim or row, gone)
            if victim in (None, row) and gone == n:
                return
        self.insert(inst, row, n, value)

    def insert(self, inst, row, n, value):
        if not inst.queue:
            self.waiting.append(row)
        insort(inst.queue, (n, value), key=lambda q: q[0])

    def abandon(self, inst, row, n):
        """Kept entries up to a number go: only a snapshot that has them will do."""
        self.forget(inst, row, n)
        inst.lost = max(inst.lost, n)
        self.out.append(("lost", row, n))

    def pass_on(self, inst, row, n, value):
        """The book goes on from nothing, once a replay had its time."""
        missing = self.missing(inst.scope)
        if self.now - inst.scope.since < self.patience:
            inst.refreshed = None  # what it does not get now is missing
            return
        if inst.at is not None:
            (_, inst.cause, _), inst.number = self.judge(inst)
            inst.lost, inst.at = max(inst.lost, inst.scope.reach(inst.at)), None
        if n < inst.scope.high:
            inst.refreshed = None  # out of order: the rows begin anew with the next one
            return
        if inst.refreshed is None or inst.refreshed < missing:
            inst.refreshed = missing
            self.out.append(("refresh", row))
            self.out += [("apply", row, v) for m, v in inst.queue if m > max(missing, inst.lost)]
        self.out.append(("apply", row, value))

    def apply(self, inst, row, last):
        """What waits with numbers up to this one."""
        for inst.last, value in [q for q in inst.queue if q[0] <= last]:
            inst.book = chain(inst.book, value)
            self.out.append(("apply", row, value))
        self.forget(inst, row, last)

    def forget(self, inst, row, last):
        inst.queue = [q for q in inst.queue if q[0] > last]
        if not inst.queue and row in self.waiting:
            self.waiting.remove(row)

    def drain(self, inst, row):
        if not self.blocked(inst):
            self.apply(inst, row, EVER)
            inst.at = max(inst.at, inst.scope.high or 0)

    def settle(self):
        if self.channel.high is not None:
            for scope in self.scopes.values():
                scope.proof = max(scope.proof, min(scope.pictured, self.joined))
        for row, inst in self.rows.items():
            self.drain(inst, row)
            reported, since = self.judge(inst)
            mark = (reported[0], since, reported[1])
            if reported == inst.reported and not (inst.retell and reported[0] != LATEST):
                mark = inst.mark
            if mark != inst.mark:
                self.out.append(("state", row, *mark))
            inst.reported, inst.mark, inst.retell = reported, mark, False

    def judge(self, inst):
        """State, cause and what the number counts; the number."""
        scope = inst.scope
        if inst.at is None:
            return (STALE, inst.cause, NONE), inst.number
        if inst.lost > inst.at:
            return (STALE, QUEUE, NONE), 0
        if self.missing(scope) > inst.at:
            if self.style == "channel":
                return (STALE, JOIN if inst.at < self.joined else GAP, CHANNEL), self.first(scope, inst.at)
            return (STALE, GAP, SCOPE), self.first(scope, inst.at)
        if self.is_doubtful(scope):
            known = scope.pictured if self.channel.high is None else scope.proof
            return (STALE if self.pessimistic else SUSPECT, JOIN if known < self.joined else GAP, CHANNEL), self.first(
                self.channel, known)
        return (LATEST, None, NONE), 0

    def first(self, scope, n):
        """The lowest missing number after n; 1 where that is not known any more."""
        if self.channel.high is None:
            return n + 1
        return 1 if n < scope.floor else scope.first_above(n)


def join(parts):
    """Parts are (index, how many, book): the book, or something that is no book."""
    if [p[0] for p in parts] == list(range(parts[0][1])) and len({p[2] for p in parts}) == 1:
        return parts[0][2]
    book = 1
    for part in parts:
        for value in part:
            book = chain(book, value)
    return book
