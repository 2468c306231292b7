"""Draws the figures of a run as SVG, with gnuplot."""

import statistics
import subprocess
import sys

EXIT_ENVIRONMENT = 3

HEAD = """
set terminal svg size 960,540 dynamic background '#ffffff' font 'sans-serif,13'
set output '{output}'
set title "{title}"
set grid linecolor '#dddddd'
set border 3 linecolor '#888888'
set tics nomirror
set key top left
"""

COLOURS = ["#1b6ca8", "#d1495b", "#3a7d44", "#edae49", "#7a5195", "#555555"]
DASHES = {"quick": 2, "native": 1}


def gnuplot(script):
    try:
        done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True, check=False)
    except FileNotFoundError:
        print("bench: --plots needs gnuplot (Debian: gnuplot-nox)", file=sys.stderr)
        sys.exit(EXIT_ENVIRONMENT)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        sys.exit(1)


def percentile_plot(output, title, curves):
    """`curves`: label, figure, colour, dash. Over the percentiles, so that each nine is as wide as the one before."""
    largest = max(figure["count"] for _, figure, _, _ in curves)
    script = HEAD.format(output=output, title=title)
    script += "set logscale x\nset logscale y\nset xlabel 'percentile'\nset format y '%.0s %cs'\nset key bottom right\n"
    nines = [("0", 1), ("90", 10), ("99", 100), ("99.9", 1e3), ("99.99", 1e4), ("99.999", 1e5), ("99.9999", 1e6)]
    script += "set xtics (%s)\n" % ", ".join(f"'{label} %%' {x:.0f}" for label, x in nines)
    script += f"set xrange [1:{2 * largest}]\n"
    for i, (_, figure, _, _) in enumerate(curves):
        script += f"$curve{i} << END\n"
        for share, value in figure["points"]:
            x = 1 / (1 - share) if share < 1 else figure["count"]
            script += f"{x} {max(value, 1) * 1e-9}\n"
        script += "END\n"
    script += "plot " + ", ".join(
        f"$curve{i} using 1:2 with lines linewidth 2 linecolor '{colour}' dashtype {dash} title \"{label}\""
        for i, (label, _, colour, dash) in enumerate(curves)
    )
    gnuplot(script + "\n")


def bar_plot(output, title, unit, names, series):
    """`series`: label to name to (low, median, high)."""
    script = HEAD.format(output=output, title=title)
    script += "set style data histogram\nset style histogram errorbars gap 1 linewidth 1.5\nset style fill solid 0.9 noborder\n"
    script += f"set ylabel '{unit}'\nset yrange [0:*]\nset xtics rotate by -25\nset key top right\nset bmargin 6\n"
    for i, values in enumerate(series.values()):
        script += f"$bars{i} << END\n"
        for name in names:
            low, median, high = values.get(name, (0, 0, 0))
            script += f'"{name}" {median} {low} {high}\n'
        script += "END\n"
    script += "plot " + ", ".join(
        f"$bars{i} using 2:3:4:xtic(1) linecolor '{COLOURS[i % len(COLOURS)]}' title \"{label}\""
        for i, label in enumerate(series)
    )
    gnuplot(script + "\n")


def draw(result, folder):
    folder.mkdir(parents=True, exist_ok=True)
    figures = {figure["name"]: figure for figure in result["figures"] if figure["samples"]}
    split = [name.split("/") for name in figures]
    engines = [engine for engine in ("native", "quick") if any(engine in parts for parts in split)]
    drawn = []

    def draw_percentiles(kind, workload, title, wanted):
        curves = [(label, figures[name], colour, dash) for label, name, colour, dash in wanted if name in figures]
        if curves:
            drawn.append(folder / f"{kind}-{workload}.svg")
            percentile_plot(drawn[-1], f"{workload}: {title}", curves)

    for workload in dict.fromkeys(parts[1] for parts in split if parts[0] == "latency"):
        base = f"latency/{workload}"
        draw_percentiles("latency", workload, "a datagram by itself", [
            (f"{engine}, {mode}", f"{base}/{engine}/{mode}", COLOURS[m], DASHES[engine])
            for m, mode in enumerate(("warm", "cold")) for engine in engines])
        draw_percentiles("load", workload, f"from due to decoded, {engines[0]}", [
            (f"{load} % of capacity", f"{base}/{engines[0]}/load{load}", COLOURS[i], 1) for i, load in enumerate((10, 50, 80, 95))])
    for workload in dict.fromkeys(parts[1] for parts in split if parts[0] == "e2e"):
        at = max(("near", "far"), key=lambda distance: figures.get(f"e2e/{workload}/{engines[0]}/{distance}/visible", {"count": 0})["count"])
        base = f"e2e/{workload}/{engines[0]}/{at}"
        draw_percentiles("e2e", workload, f"from datagram to a record in another process, {engines[0]}, processors {at}", [
            (label, f"{base}/{name}", COLOURS[i], 1) for i, (label, name) in enumerate((
                ("decoded to private memory", "decode"), ("first slot visible", "visible"), ("whole record read", "read"),
                ("first slot visible, at 80 % load", "load80")))])

    decode = [parts for parts in split if parts[0] == "decode" and len(parts) == 3 and not parts[1].startswith("worst-")]
    if decode:
        series = {}
        for _, workload, engine in decode:
            samples = figures[f"decode/{workload}/{engine}"]["samples"]
            series.setdefault(engine, {})[workload] = (min(samples), statistics.median(samples), max(samples))
        drawn.append(folder / "decode.svg")
        bar_plot(drawn[-1], "ns per message", "ns", list(dict.fromkeys(parts[1] for parts in decode)), series)
    for path in drawn:
        print(f"plot: {path}", file=sys.stderr)
