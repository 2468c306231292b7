"""What must hold for the page of an appliance whatever it shows, as a browser lays it out."""

# A helper in the page: visible elements, and colours as a person sees them.
HELPERS = """
(() => {
  const visible = one => one.checkVisibility() && one.getClientRects().length > 0 && one.getBoundingClientRect().right > 0;
  const name = one => one.tagName.toLowerCase() + (one.id ? "#" + one.id : "") + (one.textContent ? ` "${one.textContent.trim().slice(0, 40)}"` : "");
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => { const f = c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const back = one => { for (; one; one = one.parentElement) { const c = parts(getComputedStyle(one).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const contrast = one => { const style = getComputedStyle(one), ink = parts(one.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(back(one))].sort((x, y) => y - x); return (a + .05) / (b + .05); };
  const owns_text = one => [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  window.page_checks = {visible, name, contrast, owns_text};
})()
"""


def rows(tab, table):
    """Texts of the cells of a table, with its head."""
    return tab.run(f"[...document.getElementById('{table}').rows].map(row => [...row.cells].map(cell => cell.textContent))")


def text(tab, element):
    return tab.run(f"document.getElementById('{element}').textContent")


def count(tab, selector):
    return tab.run(f"document.querySelectorAll({selector!r}).length")


def layout_faults(tab):
    """Elements that are wider than the window or leave it, cells and letters that are cut off, and bare headers."""
    tab.run(HELPERS)
    return tab.run("""
(() => {
  const {visible, name, owns_text} = page_checks, faults = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${width}`);
  for (const one of document.body.querySelectorAll("*")) {
    if (!visible(one) || one.tagName === "SCRIPT") continue;
    const box = one.getBoundingClientRect();
    if (box.right > width + 1 || box.left < -1) faults.push(`${name(one)} is from ${box.left} to ${box.right} in a window of ${width}`);
    if (one.matches(".wide, td, th, dd, dt, .badge, button, p, h1, h2, h3, summary") && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0) {
      faults.push(`${name(one)} needs ${one.scrollWidth} and has ${one.clientWidth}`);
    }
    if (one.tagName === "text" && one.namespaceURI.endsWith("svg")) {
      const room = one.ownerSVGElement.getBoundingClientRect();
      if (box.left < room.left - 1 || box.right > room.right + 1 || box.top < room.top - 1 || box.bottom > room.bottom + 1) faults.push(`${name(one)} leaves its chart`);
    }
    if (one.tagName === "TABLE" && one.tHead && (one.tBodies.length === 0 || one.tBodies[0].rows.length === 0)) faults.push(`${name(one)} has a bare header`);
    if (one.tagName === "TH" && !owns_text(one)) faults.push(`an empty header in ${one.closest("table").id}`);
    if (/^H[23]$/.test(one.tagName) && !one.closest("figcaption, article .title")) {
      const after = [...one.parentElement.children].filter(other => other !== one && visible(other) && other.getBoundingClientRect().height > 0);
      if (after.length === 0) faults.push(`nothing follows ${name(one)}`);
    }
  }
  return faults;
})()
""")


def reading_faults(tab):
    """Texts with less contrast than 4.5 to 1 (WCAG AA), and those that are too small."""
    tab.run(HELPERS)
    return tab.run("""
(() => {
  const {visible, name, contrast, owns_text} = page_checks, faults = [];
  for (const one of document.body.querySelectorAll("*")) {
    if (one.tagName === "SCRIPT" || !owns_text(one) || !visible(one) || one.closest("body.stale")) continue;
    if (contrast(one) < 4.5) faults.push(`${name(one)} has a contrast of ${contrast(one).toFixed(2)}`);
    if (parseFloat(getComputedStyle(one).fontSize) < 12) faults.push(`${name(one)} has letters of ${getComputedStyle(one).fontSize}`);
  }
  return faults;
})()
""")


def colours(tab):
    return tab.run("""["body", "th", ".figures > div", "svg", ".dim", ".key.first", ".key.second", ".key.third"].map(one => {
      const style = getComputedStyle(document.querySelector(one)); return style.color + " on " + style.backgroundColor; })""")


def keyboard_faults(tab):
    """What the tabulator does not reach, or where it is not to be seen."""
    tab.run(HELPERS)
    wanted = tab.run("""
(() => {
  const {visible} = page_checks;
  const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter(one => visible(one) || one.matches(".skip"));
  all.forEach((one, i) => { one.dataset.stop = i; });
  document.body.tabIndex = -1;  // from the top
  document.body.focus();
  document.body.removeAttribute("tabindex");
  return all.length;
})()
""")
    reached, faults = set(), []
    for _ in range(wanted + 5):
        tab.press("Tab")
        at = tab.run("""
(() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const style = getComputedStyle(one);
  return {stop: one.dataset.stop, name: page_checks.name(one), seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2};
})()
""")
        if at is None:
            break
        reached.add(at.get("stop"))  # none: the live page has got it since
        if not at["seen"]:
            faults.append(f"{at['name']} has the focus, which is not to be seen")
    names = tab.run("Object.fromEntries([...document.querySelectorAll('[data-stop]')].map(one => [one.dataset.stop, page_checks.name(one)]))")
    faults += [f"the tabulator does not reach {name}" for stop, name in names.items() if stop not in reached]
    faults += tab.run("""
[...document.querySelectorAll("input, select, svg[tabindex], button, summary")].filter(one => page_checks.visible(one) &&
  !(one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim())).map(one => page_checks.name(one) + " has no name")
""")
    return faults


def foreign_requests(tab, origin):
    return [address for address in tab.requests if not address.startswith((origin + "/", "data:"))]


def check(tab, origin, what):
    """All of the above at the present size, but for the keyboard."""
    faults = layout_faults(tab) + reading_faults(tab) + foreign_requests(tab, origin) + tab.complaints
    assert not faults, what + ":\n" + "\n".join(faults)
