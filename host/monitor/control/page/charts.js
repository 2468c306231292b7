// ---------------------------------------------------------------------------------------------------------- Charts
// Each is drawn as wide as it is, and again when that changes: letters keep their size on a phone.
const kLeft = 58, kRight = 12, kBottom = 20, kTop = 12;
const charts = new Map();  // by id: {draw, at}, where at is the place of the cursor, or null
const resized = new ResizeObserver(entries => entries.forEach(entry => redraw(entry.target.id)));

function redraw(id) {
  const chart = charts.get(id), svg = get(id);
  if (!chart || svg.clientWidth === 0) return;
  const width = svg.clientWidth, height = svg.clientHeight;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const put = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    svg.append(made);
    return made;
  };
  chart.stops = chart.draw(put, width, height) || [];
  read(id);
}
// Draws now and whenever the width changes. `draw` returns what can be read: [{x, text}], from left to right.
function show(id, draw) {
  const chart = charts.get(id) || {at: null, stops: []};
  if (!charts.has(id)) {
    charts.set(id, chart);
    resized.observe(get(id));
    listen(id, chart);
  }
  chart.draw = draw;
  redraw(id);
}
// The cursor of a chart: by mouse, or by arrow keys.
function listen(id, chart) {
  const svg = get(id);
  svg.addEventListener("pointermove", event => {
    const x = event.clientX - svg.getBoundingClientRect().left;
    if (chart.stops.length === 0) return;
    chart.at = chart.stops.reduce((best, stop, i) => Math.abs(stop.x - x) < Math.abs(chart.stops[best].x - x) ? i : best, 0);
    read(id);
  });
  svg.addEventListener("pointerleave", () => { chart.at = null; read(id); });
  svg.addEventListener("blur", () => { chart.at = null; read(id); });
  svg.addEventListener("keydown", event => {
    const last = chart.stops.length - 1, at = chart.at === null ? last + 1 : chart.at;
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last}[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    chart.at = Math.min(last, Math.max(0, to));
    read(id);
  });
}
function read(id) {
  const chart = charts.get(id), svg = get(id);
  svg.querySelector(".cursor")?.remove();
  const stop = chart.at === null ? undefined : chart.stops[Math.min(chart.at, chart.stops.length - 1)];
  get(id + "_read").textContent = stop ? stop.text : "";
  if (!stop) return;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [key, value] of Object.entries({class: "cursor", x1: stop.x, x2: stop.x, y1: kTop, y2: svg.clientHeight - kBottom})) line.setAttribute(key, value);
  svg.append(line);
}

const nothing = (put, text) => { put("text", {x: 14, y: 30}, text); };
function grid(put, width, y, values, label) {
  for (const value of values) {
    put("line", {x1: kLeft, x2: width - kRight, y1: y(value), y2: y(value), class: "axis"});
    put("text", {x: kLeft - 6, y: y(value) + 4, "text-anchor": "end"}, label(value));
  }
}
function times(put, width, height, from, to, left = kLeft) {
  put("text", {x: left, y: height - 5}, clock(from));
  put("text", {x: width - kRight, y: height - 5, "text-anchor": "end"}, clock(to) + " UTC");
}
const round = ns => duration(ns).replace(/\.0+ /, " ");
// A round number of steps that reaches `most`.
function ticks(most) {
  const base = 10 ** Math.floor(Math.log10(most)), step = [1, 2, 5, 10].map(n => n * base / 2).find(n => most / n <= 4);
  return Array.from({length: Math.ceil(most / step) + 1}, (_, i) => i * step);
}

// Points are [time_ns, packets, messages, gaps, lost, errors, monotonic_ns, records, p50, p99, p999], sums since the
// start but for the last four. The first time is the wall clock's, which may be stepped: it labels the axis only.
const kPackets = 1, kMessages = 2, kGaps = 3, kMonotonic = 6, kRecords = 7, kPercentiles = [8, 9, 10];
const kNames = ["first", "second", "third"];
function steps(points) {
  return points.slice(1).map((point, i) => ({from: points[i][kMonotonic], to: point[kMonotonic], point,
    more: point.map((value, k) => value - points[i][k])})).filter(step => step.to > step.from);
}
const span = (all, width, left = kLeft) => {
  const begin = all[0].from, end = all[all.length - 1].to;
  return time => left + (time - begin) / (end - begin) * (width - left - kRight);
};

function show_rates(points) {
  show("rates", (put, width, height) => {
    const all = steps(points);
    if (all.length === 0) return nothing(put, "the first values come within 10 s");
    const rate = (step, k) => step.more[k] / (step.to - step.from) * 1e9;
    const marks = ticks(Math.max(1, ...all.map(step => Math.max(rate(step, kPackets), rate(step, kMessages)))));
    const top = marks[marks.length - 1], x = span(all, width);
    const y = value => height - kBottom - value / top * (height - kBottom - kTop);
    grid(put, width, y, marks, short);
    for (const [i, k] of [kPackets, kMessages].entries()) {
      put("path", {class: kNames[i], d: all.map((step, n) =>
        `${n ? "L" : "M"}${x(step.from).toFixed(1)} ${y(rate(step, k)).toFixed(1)}H${x(step.to).toFixed(1)}`).join("")});
    }
    times(put, width, height, points[0][0], points[points.length - 1][0]);
    return all.map(step => ({x: (x(step.from) + x(step.to)) / 2, text:
      `${clock(step.point[0])}: ${number(Math.round(rate(step, kPackets)))} packets/s, ${number(Math.round(rate(step, kMessages)))} messages/s`}));
  });
}

// A scale of powers of ten.
function powers(low, high, height) {
  const first = Math.floor(Math.log10(low)), last = Math.max(first + 1, Math.ceil(Math.log10(high)));
  const y = value => height - kBottom - (Math.log10(value) - first) / (last - first) * (height - kBottom - kTop);
  return {y, marks: Array.from({length: last - first + 1}, (_, i) => 10 ** (first + i))};
}
function show_delays(points) {
  show("delays", (put, width, height) => {
    const all = steps(points), full = all.filter(step => step.point[kRecords] > 0);
    if (full.length === 0) return nothing(put, "no records with a latency yet (captures have none)");
    const values = full.flatMap(step => kPercentiles.map(k => Math.max(1, step.point[k])));
    const {y, marks} = powers(Math.min(...values), Math.max(...values), height), x = span(all, width);
    grid(put, width, y, marks, round);
    for (const [i, k] of kPercentiles.entries()) {
      let path = "", is_open = false;
      for (const step of all) {
        if (step.point[kRecords] === 0) { is_open = false; continue; }
        path += `${is_open ? "L" : "M"}${x(step.from).toFixed(1)} ${y(Math.max(1, step.point[k])).toFixed(1)}H${x(step.to).toFixed(1)}`;
        is_open = true;
      }
      put("path", {class: kNames[i], d: path});
    }
    times(put, width, height, points[0][0], points[points.length - 1][0]);
    return full.map(step => ({x: (x(step.from) + x(step.to)) / 2, text: `${clock(step.point[0])}: 50 % within ` +
      `${duration(step.point[8])}, 99 % ${duration(step.point[9])}, 99.9 % ${duration(step.point[10])}`}));
  });
}

function show_latency(agents) {
  const counts = new Map();
  for (const agent of agents) {
    for (const [last, count] of agent.latency_buckets) {
      const place = Math.floor(4 * Math.log2(Math.max(1, last)));
      counts.set(place, (counts.get(place) || 0) + count);
    }
  }
  show("latency", (put, width, height) => {
    if (counts.size === 0) return nothing(put, "nothing yet (captures have no latency)");
    const places = [...counts.keys()].sort((a, b) => a - b);
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const first = places[0] - 2, last = places[places.length - 1] + 3;
    const x = place => kLeft + (place - first) / (last - first) * (width - kLeft - kRight);
    const marks = ticks(Math.max(...counts.values())), top = marks[marks.length - 1];
    const y = value => height - kBottom - value / top * (height - kBottom - kTop);
    grid(put, width, y, marks, short);
    for (const [place, count] of counts) {
      put("rect", {class: "first", x: x(place), width: Math.max(1, x(1) - x(0) - 1), y: y(count), height: Math.max(1, y(0) - y(count))});
    }
    for (let ns = 1; ns < 1e13; ns *= 10) {
      const at = 4 * Math.log2(ns);
      if (at >= first && x(at) < width - 50) put("text", {x: x(at), y: height - 5}, round(ns));
    }
    const quantiles = [[0.5, "50 %"], [0.99, "99 %"], [0.999, "99.9 %"]], stops = [];
    let seen = 0, row = 0;
    for (const place of places) {
      seen += counts.get(place);
      stops.push({x: x(place + 0.5), text: `up to ${duration(2 ** ((place + 1) / 4))}: ${number(counts.get(place))}; ${(100 * seen / all).toFixed(2)} % so far`});
      while (quantiles.length && seen >= quantiles[0][0] * all) {
        const is_right = x(place + 1) > width - 60;
        put("line", {class: "mark", x1: x(place + 1), x2: x(place + 1), y1: kTop, y2: y(0)});
        put("text", {x: x(place + 1) + (is_right ? -4 : 4), y: kTop + 12 + 15 * row++, "text-anchor": is_right ? "end" : "start"}, quantiles.shift()[1]);
      }
    }
    return stops;
  });
}
