// ----------------------------------------------------------------------------------------------------------- Books
// The chosen instrument, and its best prices: [monotonic_ns, bid, ask], undefined if there is none.
const kMostBest = 900;
let chosen = "", best = [];
function show_markets(markets) {
  get("markets").hidden = markets.length === 0;
  table("books", ["ring", "instruments", "books", "latest", "suspect", "stale"], markets.map(m =>
    [m.events, number(m.instruments), number(m.books), number(m.latest), fault(m.suspect), fault(m.stale)]));
  const select = get("market"), names = markets.map(m => m.events);
  if (names.join("\n") === [...select.options].map(option => option.text).join("\n")) return;
  select.replaceChildren(...names.map((name, i) => new Option(name, i)));
  get("market_label").hidden = markets.length < 2;
  chosen = "";
}
async function list_instruments() {
  const known = await ask("instruments.json?market=" + get("market").value);
  if (known.error) return;
  get("instruments").replaceChildren(...known.instruments.map(key => new Option(key)));
  choose(get("instrument").value || known.instruments[0] || "");
}
function choose(key) {
  if (get("instrument").value !== key) get("instrument").value = key;
  chosen = key;
  best = [];
}
get("market").addEventListener("change", () => choose(""));
get("instrument").addEventListener("change", event => choose(event.target.value.trim()));

async function show_book(time) {
  if (get("markets").hidden) return;
  if (!chosen) await list_instruments();  // the table may have none yet
  if (!chosen) return;
  const wanted = chosen;
  const book = await ask(`book.json?market=${get("market").value}&instrument=${encodeURIComponent(wanted)}`);
  if (wanted !== chosen) return;
  get("book_head").textContent = book.error || [book.key, book.name, "trading " + book.trading, "book " + book.book,
    book.last && "last " + book.last].filter(Boolean).join(" \u00b7 ");
  get("book_head").className = book.error || book.book !== "latest" ? "bad" : "";
  const row = (side, i) => side[i] === undefined ? ["", ""] : side[i] === null ? ["?", "?"] : side[i];
  const bids = book.error ? [] : book.bids, asks = book.error ? [] : book.asks;
  table("book", ["quantity", "bid", "ask", "quantity"], Array.from({length: Math.max(bids.length, asks.length)}, (_, i) =>
    [row(bids, i)[1], row(bids, i)[0], ...row(asks, i)]), book.error ? "" : "The book is empty.");
  const price = side => side[0] && side[0][0] !== "market" ? Number(side[0][0]) : undefined;
  if (best.length && best[best.length - 1][0] >= time) return;  // the same status
  best.push([time, price(bids), price(asks)]);
  if (best.length > kMostBest) best.shift();
  show_best();
}

function show_best() {
  show("best", (put, width, height) => {
    const all = best.flatMap(point => point.slice(1)).filter(value => value !== undefined);
    if (best.length < 2 || all.length === 0) return nothing(put, "no prices yet");
    const low = Math.min(...all), high = Math.max(...all), margin = (high - low || Math.abs(high) || 1) * 0.1;
    const y = value => kTop + (high + margin - value) / (high - low + 2 * margin) * (height - kBottom - kTop);
    const from = best[0][0], to = best[best.length - 1][0];
    const x = at => kLeft + (at - from) / (to - from) * (width - kLeft - kRight);
    const label = value => String(Number(value.toPrecision(7)));
    grid(put, width, y, new Set([low, high]), label);
    for (const [i, k] of [1, 2].entries()) {
      let path = "", is_open = false;
      for (const point of best) {
        if (point[k] === undefined) { is_open = false; continue; }
        const at = x(point[0]).toFixed(1), level = y(point[k]).toFixed(1);
        path += is_open ? `H${at}V${level}` : `M${at} ${level}`;
        is_open = true;
      }
      if (path) put("path", {class: kNames[i], d: path});
    }
    put("text", {x: kLeft, y: height - 5}, `${duration(to - from)} ago`);
    put("text", {x: width - kRight, y: height - 5, "text-anchor": "end"}, "now");
    const say = value => value === undefined ? "none" : label(value);
    return best.map(point => ({x: x(point[0]), text: `${duration(to - point[0])} ago: bid ${say(point[1])}, ask ${say(point[2])}`}));
  });
}
