"""What a browser made of the page: page_test.py PAGE.html BROWSER.log SCREENSHOT.png"""

import html.parser
import struct
import sys


class Page(html.parser.HTMLParser):
    """Rows of tables, counts of elements and texts of each element that has an id."""

    def __init__(self):
        super().__init__()
        self.rows, self.inside, self.texts, self.elements, self.bare = {}, [], {}, {}, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in ("meta", "link", "br"):
            self.bare.append((tag, attributes))
            return
        self.inside.append((tag, attributes.get("id")))
        self.bare.append((tag, attributes))
        place = self.place()
        self.elements.setdefault(place, []).append(tag)
        if tag == "tr":
            self.rows.setdefault(place, []).append([])
        if tag in ("td", "th"):
            self.rows[place][-1].append("")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data):
        place = self.place()
        self.texts[place] = self.texts.get(place, "") + data
        if self.inside and self.inside[-1][0] in ("td", "th"):
            self.rows[place][-1][-1] += data

    def place(self):
        return next((name for _, name in reversed(self.inside) if name), None)


def numeral(text):
    return int(text.replace(",", ""))


# What feed.sh and page.sh put into names and packets.
HOSTILE_TEMPLATE = "<img src=x onerror=document.title='broken'>"
HOSTILE_FIELD = "<script>document.title='broken'</script>"
HOSTILE_VALUE = "<i>x</i><script>document.title='broken'</script>"

page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    source = file.read()
page.feed(source)

channels = page.rows["channels"]
assert channels[0][:2] == ["channel", "state"], channels
by_name = {row[0]: dict(zip(channels[0], row)) for row in channels[1:]}
live = by_name["incremental"]
assert live["state"] == "live", live
assert numeral(live["packets/s"]) > 100 and numeral(live["messages/s"]) > 100, live
assert numeral(live["gaps"]) > 0 and numeral(live["lost"]) >= numeral(live["gaps"]), live
assert numeral(live["A missing"]) > numeral(live["B missing"]), live
assert "<b>odd</b>" in by_name, "a name became markup"
made = [tag for tag, _ in page.bare]
assert made.count("script") == 1 and not {"b", "img", "i", "a", "iframe"} & set(made), "a name became markup"
assert "<title>Stopbit</title>" in source, "a name became a script"

gaps = page.rows["gaps"]
assert len(gaps) > 1 and gaps[0] == ["time", "channel", "first", "numbers", "cause", "lines", "books"], gaps
assert all(row[1] == "incremental" and row[5].startswith("A was at ") and row[6] == "" for row in gaps[1:]), gaps
assert page.elements["rates"].count("path") == 2, "no rates were drawn"
assert page.elements["gap_chart"].count("rect") > 0, "no gaps were drawn"
assert page.elements["latency"].count("rect") > 3, "no latency was drawn"
assert page.elements["latency"].count("line") > 3, "no quantiles were drawn"
assert dict(page.rows["drops"][1:])["lost numbers"] != "0", page.rows["drops"]
places = [row[0] for row in page.rows["drops"][1:]]
assert places[:4] == ["NIC", "kernel", "damaged frame", "foreign"] and places[-1].startswith("overrun of book at /"), places
assert numeral(page.rows["drops"][-1][1]) > 0, page.rows["drops"]
assert len(page.rows["templates"]) > 1 and numeral(page.rows["templates"][1][1]) > 100, page.rows["templates"]

# A book of the feed with a map, and its best prices over time.
books = dict(zip(page.rows["books"][0], page.rows["books"][1]))
assert numeral(books["books"]) > 10 and numeral(books["instruments"]) >= numeral(books["books"]), books
assert "trading" in page.texts["book_head"] and "book " in page.texts["book_head"], page.texts["book_head"]
assert page.rows["book"][0] == ["bid", "at", "at", "ask"] and len(page.rows["book"]) > 2, page.rows["book"]
prices = [float(price) for price in page.rows["book"][1][1:3] if price]  # a side may be empty for a moment
assert prices and 0 < prices[0] <= prices[-1], page.rows["book"]
assert page.elements["best"].count("path") > 0, "no best prices were drawn"
assert page.elements["instruments"].count("option") >= numeral(books["books"]), "instruments cannot be chosen"

# The explanation has the template, the field, and the text that came before the fault.
errors = page.texts["errors"]
assert page.elements["errors"].count("details") == 1, page.elements["errors"]
for part in ("channel <b>odd</b>", "sequence 2, byte ", HOSTILE_TEMPLATE, HOSTILE_FIELD[:20], HOSTILE_VALUE, "Number"):
    assert part in errors, (part, errors)
assert "no explanation" not in errors, errors
assert HOSTILE_TEMPLATE in [row[0] for row in page.rows["templates"]], page.rows["templates"]
assert page.texts.get("warning", "").strip() == "", page.texts["warning"]

for tag, attributes in page.bare:
    for key in ("src", "href"):
        assert attributes.get(key, "data:,") == "data:,", f"<{tag}> loads {attributes[key]}"
with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
    complaints = [line for line in file if "CONSOLE" in line and "source: http" in line]
assert not complaints, complaints

with open(sys.argv[3], "rb") as file:
    head = file.read(24)
assert head[:8] == b"\x89PNG\r\n\x1a\n", head
width, height = struct.unpack(">II", head[16:24])
assert (width, height) == (1280, 1500), (width, height)
print("rates, gaps, latency, templates, a book and an explained error were shown")
