#!/usr/bin/env python3
"""The page with answers that were kept, in a browser: its layout on a phone, on a tablet and on a desk, in light and dark;
what the keyboard reaches; and screenshots, always the same.

    screens.py PAGE.html ANSWERS.json OUTPUT_FOLDER

STOPBIT_SCREENS names a folder of earlier screenshots: these are compared with them pixel by pixel. Fonts differ between
machines, so this is for one machine.
"""

import argparse
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "lib")]
import page_checks  # noqa: E402
import png  # noqa: E402
from browser import Browser  # noqa: E402
from fixed_server import FixedServer  # noqa: E402

MOST_BYTES = 200_000
# The page looks once a second; here at once.
HASTE = "const real = window.setTimeout; window.setTimeout = (what, ms, ...more) => real(what, Math.min(ms, 5), ...more);"


def open_page(browser, server, width, height, dark=False):
    tab = browser.open(None, width, height, dark)
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=HASTE)
    tab.complaints.clear()
    tab.requests.clear()
    tab.call("Page.navigate", url=server.origin + "/")
    tab.wait("location.href.startsWith('http') && document.readyState === 'complete'", "the page is there")
    tab.wait(f"Number(document.body.dataset.turns) > {len(server.answers['books'])}", "all answers are shown")
    return tab


def keep(tab, path, height=None):
    tab.screenshot(path, height)
    png.shrink(path)
    size = os.path.getsize(path)
    assert size <= MOST_BYTES, f"{path} has {size} bytes"


def look(browser, server, output):
    shades = {}
    for width, height, dark, name in ((1400, 1000, False, "page"), (1400, 1000, True, "page-dark"), (360, 740, False, "page-phone"),
                                      (360, 740, True, None), (900, 1000, False, None), (640, 900, False, None)):
        tab = open_page(browser, server, width, height, dark)
        what = f"{width} pixels, {'dark' if dark else 'light'}"
        page_checks.check(tab, server.origin, what)
        shades[dark] = page_checks.colours(tab)
        if name:
            keep(tab, f"{output}/{name}.png", 1900 if width == 1400 else 2200)
        tab.close()
    same = [one for one, other in zip(shades[False], shades[True]) if one == other]
    assert not same, f"the same in light and dark: {same}"


def drill_down(browser, server, output):
    """A gap's packets, by keyboard alone; then the tabulator reaches everything, what has opened included."""
    tab = open_page(browser, server, 1400, 1000)
    tab.run("document.getElementById('timeline').focus()")
    tab.press("End")
    tab.wait("document.getElementById('timeline_read').textContent.includes(' of ')", "the timeline reads a gap")
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#gap_packets details').length > 0", "packets are explained")
    assert tab.run("document.activeElement.id") == "gap"
    tab.run("document.querySelector('#gap_packets details').open = true")
    rows = page_checks.rows(tab, "gap_rows")
    assert rows[0] == ["number", "line A", "line B", "state"] and any(row[3] == "missing" for row in rows), rows
    page_checks.check(tab, server.origin, "a gap's packets")
    tab.run("document.getElementById('gaps_section').scrollIntoView()")
    box = tab.run("(({top, bottom}) => [top + scrollY, bottom - top])(document.getElementById('gaps_section').getBoundingClientRect())")
    tab.screenshot(f"{output}/page-gap.png", top=box[0] - 12, height=box[1] + 24)
    png.shrink(f"{output}/page-gap.png")
    faults = page_checks.keyboard_faults(tab)
    assert not faults, "\n".join(faults)
    tab.run("document.getElementById('gap').focus()")
    tab.press("Escape")
    tab.wait("document.getElementById('gap').hidden && document.activeElement.id === 'timeline'", "the gap is closed and the timeline has the focus again")
    tab.resize(360, 740)
    tab.run("document.querySelector('#gaps button').click()")
    tab.wait("document.querySelectorAll('#gap_packets details').length > 0", "packets are explained")
    page_checks.check(tab, server.origin, "a gap's packets on a phone")
    tab.close()


def resize(browser, server):
    """Charts follow the window; their letters keep their size."""
    tab = open_page(browser, server, 1400, 1000)
    size = "(svg => [svg.viewBox.baseVal.width, svg.clientWidth])(document.getElementById('timeline'))"
    wide = tab.run(size)
    tab.resize(360, 740)
    tab.wait(f"{size}[0] === {size}[1] && {size}[0] < 360", "the chart has the new width")
    assert wide[0] == wide[1] > 1000, wide
    page_checks.check(tab, server.origin, "made narrow")
    tab.close()


def read_charts(browser, server):
    """Each chart says by its cursor what it draws, by arrow keys and by mouse."""
    tab = open_page(browser, server, 1400, 1000)
    for chart, word in (("rates", "packets/s"), ("delays", "99.9 %"), ("timeline", " of "), ("best", "ask"), ("latency", "so far")):
        tab.run(f"document.getElementById('{chart}').focus()")
        tab.press("Home")
        first = page_checks.text(tab, f"{chart}_read")
        tab.press("End")
        last = page_checks.text(tab, f"{chart}_read")
        assert word in first and word in last and first != last, (chart, first, last)
        tab.run(f"document.getElementById('{chart}').blur()")
        assert page_checks.text(tab, f"{chart}_read") == "", chart
        x, y = tab.run(f"(box => [box.left + box.width / 2, box.top + box.height / 2])((one => {{ one.scrollIntoView(); return one.getBoundingClientRect(); }})(document.getElementById('{chart}')))")
        tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        tab.wait(f"document.getElementById('{chart}_read').textContent.includes({word!r})", f"{chart} is read by the mouse")
    tab.close()


def another_program(browser, server):
    """A program of another version has another page: this one loads it."""
    tab = open_page(browser, server, 1400, 1000)
    version = server.answers["about"]["version"]
    server.answers["about"]["version"] = "stopbit 99.0"
    tab.wait("performance.getEntriesByType('navigation')[0].type === 'reload' && document.body?.textContent.includes('stopbit 99.0')", "the page is loaded again")
    server.answers["about"]["version"] = version
    tab.close()


def bad_page(browser, server):
    """The checks see what they are for."""
    tab = open_page(browser, server, 360, 740)
    for what, change in (("needs", "document.querySelector('#drops td').style.cssText = 'display: block; width: 20px; overflow: hidden'"),
                         ("in a window", "document.querySelector('h2').style.width = '500px'"),
                         ("bare header", "document.querySelector('#rings tbody').replaceChildren()"),
                         ("contrast", "document.querySelector('h2').style.color = '#aaa'")):
        tab.run(change)
        assert any(what in fault for fault in page_checks.layout_faults(tab) + page_checks.reading_faults(tab)), what
    tab.run("document.querySelector('svg').style.outline = 'none'")
    assert any("not to be seen" in fault for fault in page_checks.keyboard_faults(tab))
    tab.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("answers")
    parser.add_argument("output")
    arguments = parser.parse_args()
    os.makedirs(arguments.output, exist_ok=True)
    server = FixedServer(arguments.page, arguments.answers)
    try:
        with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
            look(browser, server, arguments.output)
            drill_down(browser, server, arguments.output)
            read_charts(browser, server)
            another_program(browser, server)
            resize(browser, server)
            bad_page(browser, server)
    finally:
        server.close()
    if earlier := os.environ.get("STOPBIT_SCREENS"):
        for name in sorted(os.listdir(arguments.output)):
            png.compare(os.path.join(earlier, name), os.path.join(arguments.output, name))
    print(f"the page at 360, 640, 900 and 1400 pixels, light and dark; screenshots: {arguments.output}")


if __name__ == "__main__":
    main()
