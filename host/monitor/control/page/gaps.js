// ------------------------------------------------------------------------------------------------------------ Gaps
const kLane = 34, kMostLanes = 24, kLossStep = 3e10;
let channels = [], appliance = "", gaps = [], chosen_gap = -1, opened_gap = null;
const range = gap => gap.count > 1 ? `${gap.first}-${gap.first + gap.count - 1}` : String(gap.first);

// A lane for each channel: bars of what each line lost upwards (A) and downwards (B), and a diamond for each gap. The
// losses go by the clock that is never stepped; the times of gaps are brought to it.
function show_timeline(history) {
  const points = history.points, all = steps(points);
  const lost = new Set(history.line_losses.map(loss => loss[1]));
  for (const gap of history.gaps) lost.add(gap.channel);
  const lanes = [...channels].sort((a, b) => lost.has(b) - lost.has(a)).slice(0, kMostLanes);
  get("timeline").style.height = `${Math.max(2, lanes.length + (channels.length > lanes.length)) * kLane + kTop + kBottom}px`;
  show("timeline", (put, width, height) => {
    if (all.length === 0) return nothing(put, "the first values come within 10 s");
    // Names get the room that they need, up to a third; longer ones are cut.
    const labels = lanes.map(name => put("text", {class: "name"}, name));
    const left = Math.min(Math.max(kLeft, ...labels.map(label => label.getComputedTextLength() + 18)), Math.max(kLeft, width * 0.3));
    const begin = all[0].from, end = all[all.length - 1].to, x = span(all, width, left);
    const last = points[points.length - 1], inside = time => Math.min(width - kRight, Math.max(left, x(time)));
    const most = Math.max(1, ...history.line_losses.map(loss => loss[3]));
    for (const [i, name] of lanes.entries()) {
      const middle = kTop + kLane * (i + 0.5);
      put("line", {class: "lane", x1: left, x2: width - kRight, y1: middle, y2: middle});
      for (const [key, value] of Object.entries({x: 10, y: middle + 4})) labels[i].setAttribute(key, value);
      for (let shown = name; shown.length > 1 && labels[i].getComputedTextLength() > left - 16;) labels[i].textContent = (shown = shown.slice(0, -1)) + "\u2026";
    }
    if (channels.length > lanes.length) put("text", {x: left, y: kTop + kLane * (lanes.length + 0.6)}, `and ${plural(channels.length - lanes.length, "channel")} more`);
    for (const [from, channel, line, numbers] of history.line_losses) {
      const lane = lanes.indexOf(channel);
      if (lane < 0) continue;
      const first = inside(from), right = inside(from + kLossStep), tall = 2 + 10 * Math.log1p(numbers) / Math.log1p(most);
      const middle = kTop + kLane * (lane + 0.5);
      put("rect", {class: kNames[line], x: first, width: Math.max(2, right - first - 1), y: line ? middle + 1 : middle - 1 - tall, height: tall});
    }
    const stops = [];
    for (const [i, gap] of gaps.entries()) {
      const at = last[kMonotonic] - (last[0] - gap.time_ns), lane = lanes.indexOf(gap.channel);
      if (at < begin || at > end || lane < 0) continue;
      const cx = x(at), cy = kTop + kLane * (lane + 0.5), r = 6;
      const mark = put("path", {class: i === chosen_gap ? "gap chosen" : "gap", d: `M${cx - r} ${cy}L${cx} ${cy - r}L${cx + r} ${cy}L${cx} ${cy + r}Z`});
      mark.addEventListener("click", () => open_gap(gap));
      stops.push({x: cx, gap: i, text: `${gap.time.slice(11, 19)}: ${range(gap)} of ${gap.channel}, ${gap.cause}`});
    }
    times(put, width, height, points[0][0], last[0], left);
    return stops.sort((a, b) => a.x - b.x);
  });
}
get("timeline").addEventListener("keydown", event => {
  const chart = charts.get("timeline"), stop = chart && chart.at !== null ? chart.stops[chart.at] : undefined;
  if (event.key !== "Enter" || !stop) return;
  event.preventDefault();
  open_gap(gaps[stop.gap]);
});

function had(line, name) {
  if (!line) return "";
  if (!line.heard) return `${name} received nothing`;
  return `${name} was at ${line.last}` + (line.passed || !line.silent_ns ? "" : `, silent for ${duration(line.silent_ns)}`);
}
function hit(books) {
  if (!books) return "";
  const stale = books.stale ? `, ${number(books.stale)} stale` : "";
  const healed = books.open ? `${number(books.open)} not right after` : "all right within";
  return `${plural(books.hit, "book")} in doubt${stale}, ${healed} ${duration(books.longest_ns)}`;
}
function show_gaps(history) {
  gaps = history.gaps;
  show_timeline(history);
  table("gaps", ["time", "channel", "numbers", "count", "cause", "lines", "on books", "packets"], gaps.slice(-12).reverse().map(gap => {
    const button = element("button", {type: "button", "data-key": gap.key + gap.channel, "aria-label": `packets of gap ${range(gap)} of ${gap.channel}`}, "Explain");
    button.addEventListener("click", () => open_gap(gap));
    return [gap.time.slice(0, 23).replace("T", " "), gap.channel, range(gap), number(gap.count), gap.cause,
      [had(gap.a, "A"), had(gap.b, "B"), gap.replayed ? `${number(gap.replayed)} by replay` : "",
        gap.came_late ? `${number(gap.came_late)} arrived ${duration(gap.late_by_ns)} late` : ""].filter(Boolean).join(", "),
      hit(gap.books), button];
  }), "No numbers were lost in the last day.");
}

// ---- A gap's packets, out of the recordings: the server reads them in small steps, and is asked again until it is done.
let before_gap = null;  // what had the focus
function open_gap(gap) {
  before_gap = document.activeElement;
  opened_gap = gap;
  chosen_gap = gaps.indexOf(gap);
  get("gap").hidden = false;
  get("gap_head").textContent = `Gap ${range(gap)} of channel ${gap.channel}`;
  get("gap_command").textContent = `stopbit gaps ${word(appliance)} --since ${gap.time.slice(0, 19)} --channel ${word(gap.channel)} --cut gaps`;
  get("gap_state").textContent = "Looking for its packets in the recordings\u2026";
  get("gap_account").hidden = true;
  for (const id of ["gap_packets", "gap_notes"]) get(id).replaceChildren();
  table("gap_rows", [], []);
  redraw("timeline");
  get("gap").focus();
  ask_gap(gap);
}
// For a shell, whatever is in a name.
const word = text => /^[\w.:@%+,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
async function ask_gap(gap) {
  let answer;
  try {
    answer = await ask(`gap.json?channel=${encodeURIComponent(gap.channel)}&key=${encodeURIComponent(gap.key)}`);
  } catch (error) {
    answer = {state: "waiting"};  // the line above says that there is no answer
  }
  if (opened_gap !== gap) return;
  if (answer.state === "done") return show_gap(gap, answer);
  get("gap_state").textContent = answer.error ? `Its packets cannot be shown: ${answer.error}`
    : answer.state === "reading" ? `Looking for its packets in the recordings: ${number(answer.packets)} read\u2026` : "Another gap is read; this one is next\u2026";
  if (!answer.error) setTimeout(() => { if (opened_gap === gap) ask_gap(gap); }, 300);
}
function show_gap(gap, answer) {
  get("gap_state").textContent = answer.conclusion;
  get("gap_account").textContent = answer.head;
  get("gap_account").hidden = false;
  const time = text => text === null ? "-" : text.slice(11, 29);
  table("gap_rows", ["number", ...(gap.a ? ["line A"] : []), ...(gap.b ? ["line B"] : []), "state"], answer.rows.map(row => Object.assign(
    [row.first === row.last ? row.first : `${row.first}-${row.last}`, ...(gap.a ? [time(row.a)] : []), ...(gap.b ? [time(row.b)] : []),
      row.missing ? "missing" : ""], {class: row.missing ? "missing" : ""})));
  get("gap_packets").replaceChildren(...answer.explained.map(packet => element("details", {},
    element("summary", {}, packet.role || `number ${packet.sequence}`), element("pre", {tabindex: "0"}, packet.explanation))));
  get("gap_notes").textContent = [...answer.notes, answer.rows_are_whole ? "" : "Not all numbers are listed."].filter(Boolean).join(" ");
}
function close_gap() {
  if (!opened_gap) return;
  opened_gap = null;
  chosen_gap = -1;
  get("gap").hidden = true;
  redraw("timeline");
  // The table may have been made again meanwhile, or the gap be no longer among its last ones.
  const key = before_gap?.dataset.key;
  const again = before_gap?.isConnected ? before_gap : [...get("gaps").querySelectorAll("[data-key]")].find(one => one.dataset.key === key);
  (again ?? get("timeline")).focus();
}
get("gap_close").addEventListener("click", close_gap);
get("gap").addEventListener("keydown", event => { if (event.key === "Escape") close_gap(); });
