"""A browser looks at the page of a running appliance: page_test.py ORIGIN OUTPUT_FOLDER STOPBIT PID

What it shows, a gap's packets, hostile names and texts, the policy; then the appliance ends and starts again.
"""

import os
import signal
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "page"), os.path.join(here, "..", "..", "lib")]
import page_checks  # noqa: E402
from browser import Browser, BrowserError  # noqa: E402
from page_checks import count, rows, text  # noqa: E402

ORIGIN, OUTPUT, STOPBIT, PID = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

# What feed.sh and page.sh put into names and packets.
HOSTILE_TEMPLATE = "<img src=x onerror=document.title='broken'>"
HOSTILE_FIELD = "<script>document.title='broken'</script>"
HOSTILE_VALUE = "<i>x</i><script>document.title='broken'</script>"


def numeral(written):
    return int(written.replace(",", ""))


def open_page(browser, width=1400, height=1000, dark=False):
    tab = browser.open(ORIGIN + "/", width, height, dark)
    tab.wait("document.body.dataset.turns > 1", "the page has looked twice")
    return tab


def check_channels(tab):
    channels = rows(tab, "channels")
    assert channels[0][:2] == ["channel", "state"], channels
    by_name = {row[0]: dict(zip(channels[0], row)) for row in channels[1:]}
    live = by_name["incremental"]
    assert live["state"] == "live", live
    assert numeral(live["packets/s"]) > 100 and numeral(live["messages/s"]) > 100, live
    assert numeral(live["gaps"]) > 0 and numeral(live["lost"]) >= numeral(live["gaps"]), live
    assert numeral(live["A missing"]) > numeral(live["B missing"]), live
    assert "<b>odd</b>" in by_name, "a name became markup"
    assert "not ready" in text(tab, "health"), "the channel without packets is not told"


def check_markup(tab):
    for tag in ("b", "img", "i", "iframe", "object", "form"):
        assert count(tab, f"body {tag}") == 0, f"a name became <{tag}>"
    assert count(tab, "script") == 1, "a name became a script"
    assert "broken" not in tab.run("document.title"), "a name ran"


def check_charts(tab):
    assert count(tab, "#rates path") == 2, "no rates were drawn"
    assert count(tab, "#delays path") == 3, "no percentiles were drawn"
    assert count(tab, "#timeline path.gap") > 0 and count(tab, "#timeline rect") > 0, "neither gaps nor losses of lines"
    names = tab.run("[...document.querySelectorAll('#timeline text.name')].map(one => one.textContent)")
    assert any(name.startswith("increm"[:4]) for name in names), names
    assert count(tab, "#latency rect") > 3 and count(tab, "#latency line") > 3, "no histogram, or no quantiles"
    drops = rows(tab, "drops")[1:]
    assert dict(drops)["lost numbers"] != "0", drops
    places = [row[0] for row in drops]
    assert places[:4] == ["NIC", "kernel", "damaged frame", "foreign"] and places[-1].startswith("overrun of book at /"), places
    assert numeral(drops[-1][1]) > 0, drops
    templates = rows(tab, "templates")
    assert numeral(templates[1][1]) > 100 and HOSTILE_TEMPLATE in [row[0] for row in templates], templates


def check_about(tab):
    about = text(tab, "about")
    version = subprocess.run([STOPBIT, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    assert os.uname().nodename in about and version in about and f"process {PID}" in about, about
    images = rows(tab, "images")
    assert {row[0] for row in images[1:]} == {"cme", "odd", "sample"} and all(len(row[3]) == 16 for row in images[1:]), images
    check = subprocess.run([STOPBIT, "run", "appliance.toml", "--check"], capture_output=True, text=True, check=False).stdout
    assert all(row[3] in check for row in images[1:]), (images, check)


def check_book(tab):
    tab.wait("Number(document.querySelector('#book tbody tr')?.cells.length) === 4", "a book is shown")
    books = dict(zip(*rows(tab, "books")))
    assert numeral(books["books"]) > 10 and numeral(books["instruments"]) >= numeral(books["books"]), books
    assert "trading" in text(tab, "book_head") and "book " in text(tab, "book_head"), text(tab, "book_head")
    ladder = rows(tab, "book")
    prices = [float(price) for price in ladder[1][1:3] if price]  # a side may be empty for a moment
    assert ladder[0] == ["quantity", "bid", "ask", "quantity"] and prices and 0 < prices[0] <= prices[-1], ladder
    tab.wait("document.querySelectorAll('#best path').length > 0", "best prices are drawn")
    assert count(tab, "#instruments option") >= numeral(books["books"]), "instruments cannot be chosen"
    other = tab.run("document.querySelectorAll('#instruments option')[3].value")
    tab.run(f"(one => {{ one.value = {other!r}; one.dispatchEvent(new Event('change')); }})(document.getElementById('instrument'))")
    tab.wait(f"document.getElementById('book_head').textContent.startsWith({other!r} + ' ')", "another book is shown")


def check_errors(tab):
    """The explanation has the template, the field, and the text that came before the fault."""
    errors = text(tab, "errors")
    assert count(tab, "#errors details") == 1, errors
    for part in ("channel <b>odd</b>", "sequence 2, byte ", HOSTILE_TEMPLATE, HOSTILE_FIELD[:20], HOSTILE_VALUE, "Number"):
        assert part in errors, (part, errors)
    assert "no explanation" not in errors, errors


def drill_down(tab):
    gaps = rows(tab, "gaps")
    assert gaps[0] == ["time", "channel", "numbers", "count", "cause", "lines", "on books", "packets"], gaps
    # One of those that the exchange made; a busy machine may lose packets of its own beside them.
    is_made = "cells[1] === 'incremental' && cells[5].startsWith('A was at ') && cells[6] === ''"
    key = tab.run(f"""(() => {{ const made = [...document.querySelectorAll('#gaps tbody tr')].find(row => {{
      const cells = [...row.cells].map(cell => cell.textContent); return {is_made}; }});
      const button = made?.querySelector('button'); button?.focus(); return button?.dataset.key ?? ''; }})()""")
    assert key, gaps
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#gap_packets details').length > 0", "the packets around a gap are explained")
    assert "The recordings have none of the numbers" in text(tab, "gap_state"), text(tab, "gap_state")
    numbers = rows(tab, "gap_rows")
    missing = [row for row in numbers if row[3] == "missing"]
    assert missing and all(row[1:3] == ["-", "-"] for row in missing), numbers
    around = [row for row in numbers[1:] if row[3] == ""]
    assert any(row[1] != "-" for row in around) and any(row[2] != "-" for row in around), numbers
    packets = text(tab, "gap_packets")
    assert "the last number before the gap" in packets and "first number after" in packets and "template " in packets, packets
    command = text(tab, "gap_command").split()
    assert command[:2] == ["stopbit", "gaps"] and command[-2:] == ["--cut", "gaps"], command
    made = subprocess.run([STOPBIT, *command[1:-1], "cut"], capture_output=True, text=True, check=False)
    assert made.returncode == 0 and "packets of line A" in made.stdout, (command, made)
    page_checks.check(tab, ORIGIN, "a gap's packets")
    tab.press("Escape")
    # Unless so many gaps came meanwhile that it is no longer listed.
    listed = f"[...document.querySelectorAll('#gaps [data-key]')].some(one => one.dataset.key === {key!r})"
    tab.wait(f"document.getElementById('gap').hidden && (document.activeElement.dataset.key === {key!r} || "
             f"!{listed} && document.activeElement.id === 'timeline')", "the button has the focus again")


def check_policy(browser):
    """Of what a page could be made to do nothing works: what the checks above call no complaint is one here."""
    tab = open_page(browser)
    for attempt in ("document.body.innerHTML = '<b>x</b>'", "eval('1')", "new Function('return 1')()"):
        try:
            tab.run(f"(() => {{ {attempt} }})()")
        except BrowserError:
            continue
        raise AssertionError(f"the policy allows {attempt}")
    tab.run("""(() => { const made = document.createElement('style'); made.textContent = 'body { color: rgb(1, 2, 3) }';
      document.head.append(made); const image = new Image(); image.src = 'http://127.0.0.1:1/x.png'; document.body.append(image); })()""")
    assert tab.run("getComputedStyle(document.body).color") != "rgb(1, 2, 3)", "a style from nowhere was taken"
    refused = "fetch('http://127.0.0.1:1/').then(() => 'sent', error => error.message)"
    assert tab.run(refused) != "sent"
    assert any("Content Security Policy" in complaint for complaint in tab.complaints), tab.complaints
    tab.close()


def restart(browser):
    """The page goes on when the appliance does: it says that nothing answers, and then shows the new process."""
    tab = open_page(browser)
    os.kill(PID, signal.SIGTERM)
    tab.wait("!document.getElementById('warning').hidden", "the page says that nothing answers")
    assert "No answer" in text(tab, "warning") and count(tab, "body.stale") == 1
    with open("log2", "wb") as log:
        again = subprocess.Popen([STOPBIT, "run", "appliance.toml", "-q"], stderr=log)
    try:
        tab.wait(f"document.getElementById('about').textContent.includes('process {again.pid},')", "the new process is shown")
        tab.wait("document.getElementById('warning').hidden && document.body.dataset.turns > 2", "the page works again")
        assert len(rows(tab, "gaps")) > 1, "the gaps before the restart are gone"
        page_checks.rows(tab, "channels")
        faults = page_checks.layout_faults(tab) + [one for one in tab.complaints if "ERR_" not in one and "Failed to" not in one]
        assert not faults, faults
    finally:
        again.send_signal(signal.SIGTERM)
        assert again.wait(60) == 0
    tab.close()


def main():
    os.makedirs(OUTPUT, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
        tab = open_page(browser)
        tab.wait("document.querySelectorAll('#rates path').length === 2 && document.querySelectorAll('#delays path').length === 3 && "
                 "document.querySelectorAll('#timeline path.gap').length > 0 && document.querySelector('#errors pre')", "all is drawn")
        for part in (check_channels, check_markup, check_charts, check_about, check_book, check_errors, drill_down):
            part(tab)
        page_checks.check(tab, ORIGIN, "1400 pixels")
        tab.screenshot(f"{OUTPUT}/page.png")
        light = page_checks.colours(tab)
        faults = page_checks.keyboard_faults(tab)
        assert not faults, "\n".join(faults)
        tab.resize(360, 740)
        tab.emulate(dark=True)
        tab.wait("document.getElementById('rates').viewBox.baseVal.width < 360", "the charts are narrow")
        page_checks.check(tab, ORIGIN, "360 pixels, dark")
        assert all(one != other for one, other in zip(light, page_checks.colours(tab))), light
        tab.screenshot(f"{OUTPUT}/page-phone-dark.png")
        with open(f"{OUTPUT}/page-phone-dark.png", "rb") as file:
            head = file.read(24)
        assert head[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(head[16:20], "big") == 360, head
        tab.close()
        check_policy(browser)
        restart(browser)
    print("channels, charts, books, an explained error and gap, hostile names, the policy, 1400 and 360 pixels, a restart")


if __name__ == "__main__":
    main()
