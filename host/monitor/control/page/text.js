"use strict";
// Names and texts come from files and networks: they are set as text, never as markup.
const get = id => document.getElementById(id);
const number = n => n.toLocaleString("en");
const short = n => n >= 1e9 ? (n / 1e9).toPrecision(3) + "G" : n >= 1e6 ? (n / 1e6).toPrecision(3) + "M"
  : n >= 1e4 ? (n / 1e3).toPrecision(3) + "k" : n >= 10 || n === 0 ? String(Math.round(n)) : String(Number(n.toPrecision(2)));
const digits = n => n >= 100 ? String(Math.round(n)) : n.toPrecision(3);
const duration = ns => ns < 1e3 ? Math.round(ns) + " ns" : ns < 1e6 ? digits(ns / 1e3) + " \u00b5s"
  : ns < 1e9 ? digits(ns / 1e6) + " ms" : ns < 6e11 ? digits(ns / 1e9) + " s"
  : ns < 7.2e12 ? Math.round(ns / 6e10) + " min" : ns < 1.7e14 ? Math.round(ns / 3.6e12) + " h" : Math.round(ns / 8.64e13) + " days";
const clock = ns => new Date(ns / 1e6).toISOString().slice(11, 19);
const plural = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;
const bad = text => ({bad: text});
// A count that should be 0.
const fault = n => n > 0 ? bad(number(n)) : "0";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// What each place shows: whether it shows this already.
const looks = new Map();
function is_shown(id, content) {
  const text = JSON.stringify(content, (key, value) => value instanceof Node ? value.dataset.key : value);
  if (looks.get(id) === text) return true;
  looks.set(id, text);
  return false;
}

const kMostInLine = 24;  // Longer texts may have several lines.
// Columns of text; all others are numbers.
const texts = new Set(["cause", "lines", "on books", "channel", "state", "ring", "image", "files", "why", "carrier", "packets"]);

// A table with a row for each entry. A cell is text, {bad: text} or an element. Without rows it says so instead of
// standing there with bare headers. Nothing is touched that stays the same, so that focus and selection survive.
function table(id, head, rows, none) {
  const place = get(id);
  if (is_shown(id, [head, rows, none])) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  place.replaceChildren();
  place.classList.toggle("cards", head.length > 3 && !place.classList.contains("ladder"));
  if (rows.length === 0) {
    if (none) place.append(element("caption", {}, none));
    return;
  }
  const names = place.createTHead().insertRow(), body = place.createTBody();
  for (const name of head) names.append(element("th", texts.has(name) ? {scope: "col", class: "text"} : {scope: "col"}, name));
  for (const row of rows) {
    const line = body.insertRow();
    if (row.class) line.className = row.class;
    for (const [column, cell] of row.entries()) {
      const is_bad = cell !== null && typeof cell === "object" && !(cell instanceof Node);
      const made = element("td", {"data-name": head[column]}, is_bad ? cell.bad : cell);
      made.classList.toggle("bad", is_bad);
      made.classList.toggle("text", texts.has(head[column]));
      made.classList.toggle("long", made.textContent.length > kMostInLine);
      line.append(made);
    }
  }
  if (focused) [...place.querySelectorAll("[data-key]")].find(one => one.dataset.key === focused)?.focus();
}
