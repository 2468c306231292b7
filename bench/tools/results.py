"""Writes the figures of a run into pages of bench/results, one table each, and says which targets they meet."""

import statistics

# How far the two processors were from each other, as figures from process to process say (bench_e2e.cpp).
DISTANCES = ["near", "far"]

# Figure (*: at each distance), percentile (none: the figure itself), what it is, target, stretch. Less is better.
TARGETS = [
    ("decode/complex30000/native", None, "`complex30000`, native", "ns/msg", 125, 85),
    ("decode/cme-mdp-2012/native", None, "`cme-mdp-2012`, native", "ns/msg", 70, 45),
    ("decode/moex-asts-trades-2019/native", None, "`moex-asts-trades-2019`, native", "ns/msg", 95, 75),
    ("decode/complex30000/quick", None, "`complex30000`, interpreter", "ns/msg", 340, 250),
    ("latency/complex30000/native/cold", None, "one `complex30000` message cold, native, median", "ns", 400, 300),
    ("latency/complex30000/native/cold", "p99", "the same, 99th percentile", "ns", 1000, None),
    ("ring/processes/1_slots/lines", None, "ring: record of one slot seen by another process", "line transfers", 1.4, None),
    ("e2e/complex30000/native/*/visible-lines", None, "datagram to first slot in another process, decoding taken off, `complex30000`", "line transfers", 1.5, None),
    ("e2e/cme-mdp-2012/native/*/visible-lines", None, "the same, `cme-mdp-2012`", "line transfers", 1.5, None),
    ("e2e/moex-asts-trades-2019/native/*/visible-lines", None, "the same, `moex-asts-trades-2019`", "line transfers", 1.5, None),
    ("e2e/complex30000/native/*/slot-lines", None, "each further slot, `complex30000`", "line transfers", 0.3, None),
    ("e2e/cme-mdp-2012/native/*/slot-lines", None, "the same, `cme-mdp-2012`", "line transfers", 0.3, None),
    ("e2e/moex-asts-trades-2019/native/*/slot-lines", None, "the same, `moex-asts-trades-2019`", "line transfers", 0.3, None),
]


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


class Figures:
    def __init__(self, result):
        self.all = {figure["name"]: figure for figure in result["figures"] if figure["samples"]}

    def median(self, name, percentile=None):
        """Nothing if it was not measured."""
        if name not in self.all:
            return None
        figure = self.all[name]
        return statistics.median(figure["percentiles"][percentile] if percentile else figure["samples"])

    def cell(self, name, percentile=None):
        value = self.median(name, percentile)
        return "" if value is None else number(value) + ("" if percentile else self.mark(name))

    def mark(self, name):
        """Of a figure that other work on the core has disturbed."""
        return " ~" if self.all[name].get("disturbed") else ""

    def second_parts(self, first):
        """The workloads of a program, in their order."""
        return list(dict.fromkeys(name.split("/")[1] for name in self.all if name.startswith(first + "/")))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def targets(figures):
    """Rows of what was measured: what, unit, target, stretch, measured, verdict."""
    rows = []
    wanted = [(pattern.replace("*", distance), percentile, what + (f", processors {distance}" if "*" in pattern else ""), *rest)
              for pattern, percentile, what, *rest in TARGETS for distance in (DISTANCES if "*" in pattern else [""])]
    for name, percentile, what, unit, target, stretch in wanted:
        value = figures.median(name, percentile)
        if value is None:
            continue
        verdict = "stretch met" if stretch and value <= stretch else "met" if value <= target else f"missed: x {value / target:.2f}"
        rows.append([what, unit, f"{target}", f"{stretch or ''}", number(value) + figures.mark(name), verdict])
    return rows


def target_table(figures):
    return table(["target", "unit", "at most", "stretch", "measured", ""], targets(figures))


def decode_table(result, figures):
    rows = []
    for workload in figures.second_parts("decode"):
        facts = result["facts"].get(workload, {})
        quick, native = (f"decode/{workload}/{engine}" for engine in ("quick", "native"))
        fact = [number(facts[key]) if key in facts else "" for key in ("bytes per message", "fields per message", "slots per message")]
        rows.append([f"`{workload}`", *fact, figures.cell(quick), figures.cell(native), figures.cell(f"{native}/gain")])
    return table(["workload", "bytes", "fields", "slots", "interpreter, ns", "native, ns", "times faster"], rows)


def breakdown_table(figures):
    """Parts by workload; `all` last."""
    workloads = figures.second_parts("breakdown")
    parts = list(dict.fromkeys(name.split("/", 2)[2] for name in figures.all if name.startswith("breakdown/")))
    parts = [part for part in parts if part != "all"] + ["all"]
    rows = [[f"**{part}**" if part == "all" else part]
            + [figures.cell(f"breakdown/{workload}/{part}") or "0" for workload in workloads] for part in parts]
    return table(["instructions of a message", *(f"`{workload}`" for workload in workloads)], rows)


def floor_table(figures):
    rows = [[f"`{workload}`"] + [figures.cell(f"floor/{workload}/{part}") for part in ("floor", "native", "ratio")]
            for workload in figures.second_parts("floor")]
    return table(["workload", "floor, ns", "native, ns", "floor / native"], rows)


def field_table(figures):
    names = dict.fromkeys(name.rsplit("/", 1)[0].removesuffix("/hostile") for name in figures.all
                          if name.startswith("field/") and not name.endswith("/gain"))
    rows = [[f"`{name.removeprefix('field/')}`"] + [figures.cell(f"{name}{form}/{engine}") for engine in ("quick", "native") for form in ("", "/hostile")]
            for name in names]
    return table(["type, operator", "interpreter", "unpredictable", "native", "unpredictable"], rows)


def latency_table(figures):
    rows = []
    for workload in figures.second_parts("latency"):
        for engine in ("quick", "native"):
            for mode in ("warm", "cold"):
                name = f"latency/{workload}/{engine}/{mode}"
                if name in figures.all:
                    rows.append([f"`{workload}`, {engine}, {mode}", figures.cell(name)]
                                + [figures.cell(name, p) for p in ("p90", "p99", "p99.9")]
                                + [number(figures.all[name]["max"]), f"{figures.all[name]['count']:,}"])
    return table(["ns", "p50", "p90", "p99", "p99.9", "max", "count"], rows)


def load_table(figures, first):
    rows = []
    for workload, distance in ((workload, distance) for workload in figures.second_parts(first) for distance in ["", *DISTANCES]):
        for load in (10, 50, 80, 95):
            name = f"{first}/{workload}/native/{distance}{'/' if distance else ''}load{load}"
            if name in figures.all:
                rows.append([f"`{workload}`, {distance}{', ' if distance else ''}{load} %", figures.cell(name)]
                            + [figures.cell(name, p) for p in ("p90", "p99", "p99.9")]
                            + [number(figures.all[name]["max"]), f"{figures.all[name]['count']:,}"])
    return table(["ns", "p50", "p90", "p99", "p99.9", "max", "count"], rows)


def profile_table(result, figures):
    rows = []
    for workload in figures.second_parts("profiles"):
        facts = result["facts"].get(workload, {})
        base = f"profiles/{workload}"
        rows.append([f"`{workload}`", f"{facts['profile programs']:.0f}", number(facts["maps covered, %"])]
                    + [figures.cell(f"{base}/{part}") for part in ("quick/gain", "native/general", "native/profiled", "native/gain",
                                                                     "native/cold/general", "native/cold/profiled", "native/cold/gain")])
    return table(["workload", "programs", "maps covered, %", "interpreter, times faster", "native, ns", "with profile", "times faster",
                  "cold, ns", "with profile", "times faster"], rows)


def views_table(figures):
    rows = [[f"`{name.split('/')[2]}`", figures.cell(name)] for name in figures.all if name.startswith("read/")]
    return table(["way", "ns per message"], sorted(rows, key=lambda row: -float(row[1].replace(",", "").rstrip(" ~"))))


def e2e_table(figures):
    rows = []
    for workload in figures.second_parts("e2e"):
        for engine, distance in ((engine, distance) for engine in ("quick", "native") for distance in DISTANCES):
            base = f"e2e/{workload}/{engine}/{distance}"
            if f"{base}/visible" in figures.all:
                rows.append([f"`{workload}`, {engine}, {distance}"] + [figures.cell(f"{base}/{part}") for part in
                            ("decode", "visible", "read", "line", "visible-lines", "further-slot", "slot-lines")])
    return table(["ns, medians", "decode alone", "first slot visible", "record read", "line transfer", "visible - decode, in lines",
                  "further slot", "in lines"], rows)


# Ways of bench_wire, and what they are in words.
WIRE = [("socket", "socket port"), ("af_packet", "DPDK's `net_af_packet`"), ("clock-alone-reader", "clock alone, processor of the reader"),
        ("clock-alone-agent", "clock alone, processor of `stopbit run`")]


def wire_table(figures):
    rows = []
    for way, words in WIRE:
        for name in (name for name in figures.all if name.startswith(f"wire/{way}/")):
            rate = int(name.rsplit("/", 1)[1])
            rows.append([f"{words}, {rate:,}", figures.cell(name)] + [figures.cell(name, p) for p in ("p90", "p99", "p99.9")]
                        + [number(figures.all[name]["max"]), f"{figures.all[name]['count']:,}"])
    return table(["ns; packets a second", "p50", "p90", "p99", "p99.9", "max", "count"], rows)


def measured(result):
    machine = result["machine"]
    virtual = ", a virtual machine" if machine["virtual machine"] else ""
    return (f"Measured {result['date'][:10]} on {machine['processor']}, {machine['processors']} processors{virtual}; "
            f"{machine['compiler']}; commit {machine['commit']}; load average {result['load before']:.1f} before, "
            f"{result['load after']:.1f} after.")


# What each page says below its table.
NOTES = {
    "end-to-end": "`visible - decode` may be below one line transfer: the writer fetches the line that the reader polls while it decodes, and `decode` ends after the commit.",
    "profiles": "The first half of each workload's datagrams makes the profile programs, the second half uses them. *Maps covered* are those of the second half that have a program; the bodies of `complex30000` have none, because no map decides anything in them. Without programs both columns run the same code: their difference is noise. Profiles gain some percent in a loop, and lose on a cold message, because more code has to be fetched.",
    "reading": "Adds up prices, sizes and levels of every book update of the sample, per message of the capture. `reader` is `record::Reader`, which follows the schema; `view_checked` is the generated view with `Feed::read`, which checks the whole record first; `view` is `Feed::visit` alone; `by_hand` reads the same words by their numbers.",
    "decode": "`-fields` and `-one-slot` store the fields of an order book only (`stopbit compile --fields`). Everything is decoded all the same: the difference is the time of storing.",
    "breakdown": "Counted one by one, so other work on the machine does not matter. The code of rare paths is a part of its own, whatever it does; functions that generated code calls count as the call's part.",
    "floor": "The floor finds stop bits, extracts each entity's value, and stores the values in a record of the same number of slots as the decoder's: without templates, operators, presence or tags.",
    "wire": "A time begins when a packet is due and ends when its first record has been read. `clock alone` is the same schedule without packets. [How it is measured](../method.md#from-a-wire-to-a-record).",
}

# Plots that a page shows, if they were drawn.
PLOTS = {"decode": "decode.svg", "latency": "latency-complex30000.svg", "load": "load-complex30000.svg", "end-to-end": "e2e-complex30000.svg"}


def pages(result):
    """Pages for which the run has figures: name, title, table."""
    figures = Figures(result)
    return [(name, title, make()) for name, title, make, exists in [
        ("targets", "Targets", lambda: target_table(figures), targets(figures)),
        ("decode", "Decode speed, per message", lambda: decode_table(result, figures), figures.second_parts("decode")),
        ("breakdown", "What a message costs native code", lambda: breakdown_table(figures), figures.second_parts("breakdown")),
        ("floor", "Native code beside the floor", lambda: floor_table(figures), figures.second_parts("floor")),
        ("fields", "One field, ns", lambda: field_table(figures), figures.second_parts("field")),
        ("latency", "One datagram by itself", lambda: latency_table(figures), figures.second_parts("latency")),
        ("load", "One datagram under load, native", lambda: load_table(figures, "latency"), figures.second_parts("latency")),
        ("end-to-end", "From datagram to another process", lambda: e2e_table(figures), figures.second_parts("e2e")),
        ("end-to-end-load", "From datagram to another process under load, native: due to first slot visible",
         lambda: load_table(figures, "e2e"), figures.second_parts("e2e")),
        ("profiles", "Profiles", lambda: profile_table(result, figures), figures.second_parts("profiles")),
        ("reading", "Reading records", lambda: views_table(figures), figures.second_parts("read")),
        ("wire", "From a wire to a record", lambda: wire_table(figures), figures.second_parts("wire")),
    ] if exists]


def page(name, title, when, content, plots):
    """`plots`: the folder with the drawings, beside that of the pages."""
    parts = [f"# {title}", "<!-- written by ./dev bench --results; do not edit -->", when]
    if "~ |" in content:
        parts.append("`~`: other work disturbed too many repetitions to leave them out.")
    if name in PLOTS and (plots / PLOTS[name]).exists():
        parts.append(f"![{title}](../plots/{PLOTS[name]})")
    parts.append(content)
    if name in NOTES:
        parts.append(NOTES[name])
    return "\n\n".join(parts) + "\n"


def write(result, folder):
    """Writes NAME.md into `folder` for each table of the run. Pages without figures in the run stay as they are."""
    folder.mkdir(exist_ok=True)
    for name, title, content in pages(result):
        (folder / f"{name}.md").write_text(page(name, title, measured(result), content, folder.parent / "plots"))
