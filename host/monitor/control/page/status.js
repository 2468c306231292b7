// ---------------------------------------------------------------------------------------------------------- Status
let before = null, latest_points = [];
const is_same_run = (a, b) => a && a.pid === b.pid && a.started_ns === b.started_ns;

function show_figures(now, rates) {
  const sum = what => now.channels.reduce((all, channel) => all + what(channel), 0);
  const live = now.channels.filter(channel => channel.ready).length, total = now.channels.length;
  const point = latest_points[latest_points.length - 1];
  const figures = [["channels ready", live === total ? `${live} of ${total}` : bad(`${live} of ${total}`)],
    ["packets a second", rates ? short(rates.packets) : "-"], ["messages a second", rates ? short(rates.messages) : "-"],
    ["latency 99 %", point && point[kRecords] ? duration(point[9]) : "-"],
    ["gaps since the start", fault(sum(c => c.gaps))], ["numbers lost", fault(sum(c => c.numbers.lost))],
    ["dropped by this machine", fault(now.ports.reduce((all, p) => all + p.dropped_by_nic + p.dropped_by_kernel, 0))],
    ["distinct errors", fault(now.errors.length + now.errors_beyond)]];
  get("figures").replaceChildren(...figures.map(([name, value]) => {
    const is_bad = typeof value === "object";
    return element("div", {}, element("dt", {}, name), element("dd", is_bad ? {class: "bad"} : {}, is_bad ? value.bad : value));
  }));
  const is_good = live === total;
  get("health").textContent = is_good ? "ready" : `${plural(total - live, "channel")} not ready`;
  get("health").className = is_good ? "badge" : "badge bad";
}

function show_status(now) {
  if (before && !is_same_run(before, now)) forget();
  if (before && now.monotonic_ns === before.monotonic_ns) return;  // the same status: pages are kept for a moment
  const seconds = before ? (now.monotonic_ns - before.monotonic_ns) / 1e9 : 0;
  // A reload may have moved it in the list, or begun it anew.
  const earlier = (list, i) => before && before[list].find(x => x.name === now[list][i].name);
  const rate_of = (what, list, i) => {
    const then = earlier(list, i), more = then ? what(now[list][i]) - what(then) : -1;
    return seconds > 0 && more >= 0 ? more / seconds : null;
  };
  const rate = (...of) => { const value = rate_of(...of); return value === null ? "-" : number(Math.round(value)); };
  const total = what => now.channels.reduce((all, _, i) => all + (rate_of(what, "channels", i) || 0), 0);
  appliance = now.name;
  channels = now.channels.map(channel => channel.name);
  get("head").textContent = now.name;
  document.title = `${now.name} \u2013 Stopbit`;
  show_figures(now, seconds > 0 ? {packets: total(c => c.packets.received), messages: total(c => c.messages)} : null);
  show_about(now);
  const age = (channel, name) => {
    const line = channel.lines[name];
    if (!line) return "-";
    const text = line.last_arrival_ns ? duration(line.age_ns) : "never";
    return line.silent ? bad(text) : text;
  };
  table("channels", ["channel", "state", "A heard", "B heard", "packets/s", "messages/s", "next", "gaps", "lost",
      "A missing", "B missing", "skew 99%"],
    now.channels.map((c, i) => [c.name, c.ready ? c.state : bad(c.state), age(c, "A"), age(c, "B"),
      rate(x => x.packets.received, "channels", i), rate(x => x.messages, "channels", i), String(c.next_sequence),
      fault(c.gaps), fault(c.numbers.lost), c.lines.A ? number(c.lines.A.missing) : "-",
      c.lines.B ? number(c.lines.B.missing) : "-", c.lines.B ? duration(c.lines.B.skew_ns.p99) : "-"]), "no channels");
  table("drops", ["place", "count"], now.drops.map(drop =>
    [drop.reader ? `${drop.place} of ${drop.reader} at ${drop.ring}` : drop.place,
      drop.reader ? fault(drop.count) : number(drop.count)]));
  table("rings", ["ring", "image", "generation", "records", "records/s", "events"],
    now.rings.map((r, i) => [r.name, r.image, String(r.generation), number(r.records),
      rate(x => x.records, "rings", i), number(r.events)]), "none");
  show_markets(now.markets);
  table("ports", ["port", "frames", "frames/s", "MB", "dropped by card", "by kernel"],
    now.ports.map((p, i) => [p.name, number(p.frames), rate(x => x.frames, "ports", i), number(Math.round(p.bytes / 1e6)),
      fault(p.dropped_by_nic), fault(p.dropped_by_kernel)]), "none");
  const messages = now.rings.flatMap((r, i) => Object.entries(r.messages).map(([name, count]) => [name, count,
    seconds > 0 && earlier("rings", i) ? (count - (earlier("rings", i).messages[name] || 0)) / seconds : null, r.name]));
  table("templates", ["template", "messages", "a second", "ring"], messages.filter(([, count]) => count > 0)
    .sort((a, b) => b[1] - a[1]).map(([name, count, more, ring]) =>
      [name || "(new)", number(count), more === null ? "-" : number(Math.round(more)), ring]), "no messages yet");
  get("others").hidden = !now.nic;
  if (now.nic) show_others(now.nic);
  table("agents", ["thread", "turns", "busy", "latency 50%", "99%", "99.9%", "largest"],
    now.agents.map(a => [a.name, number(a.turns), number(a.busy_turns), ...(a.latency_ns.count
      ? [a.latency_ns.p50, a.latency_ns.p99, a.latency_ns.p999, a.latency_ns.largest].map(duration) : ["-", "-", "-", "-"])]), "none");
  show_recorder(now.recorder);
  get("beyond").textContent = now.errors_beyond ? `and ${number(now.errors_beyond)} of other kinds` : "";
  show_latency(now.agents);
  before = now;
}
// The appliance was restarted: nothing of the last run is to be compared with this one.
function forget() {
  before = null;
  best = [];
  chosen = "";
  about = null;
  turn = 0;
}

// ---- Host, version and images
let about = null, first_version = null;
function show_about(now) {
  if (!about) return;
  get("about").textContent = `${about.host} \u00b7 process ${now.pid}, for ${duration(now.running_ns)} \u00b7 ${about.version} \u00b7 ${about.system}`;
}
function take_about(made) {
  about = made;
  // Another program has another page.
  if (first_version !== null && first_version !== about.version) location.reload();
  first_version = about.version;
  table("images", ["image", "feed", "templates", "layout", "files"], about.images.map(image => [image.image, image.feed,
    number(image.templates), image.layout, image.files.map(file => `${file.name.split("/").pop()} ${file.hash}`).join(", ") +
      (image.more_files ? ` and ${image.more_files} more` : "")]), "none");
}

function show_recorder(recorder) {
  get("recorder_section").hidden = !recorder;
  if (!recorder) return;
  table("recorder", ["packets", "count"], [["written to disk", number(recorder.recorded)], ["not written", fault(recorder.failed)],
    ["without room in the queue", fault(recorder.no_room)], ["files kept because of a loss", number(recorder.frozen_files)],
    ["files not kept, for want of room", fault(recorder.refused_freezes)], ["lines that cannot be recorded", fault(recorder.failing_lines)],
    ...(recorder.problem ? [["the system says", bad(recorder.problem)]] : [])]);
}

function show_others(nic) {
  table("subscribers", ["subscriber", "ring", "state", "records", "behind", "lost", "filtered"],
    nic.publishers.flatMap(p => p.subscribers).map(s => [s.who, s.ring, s.state, number(s.records), number(s.behind),
      fault(s.lost), number(s.filtered)]), "no subscribers");
  table("publishers", ["published by", "admitted", "refused", "why", "ended", "detached"], nic.publishers.map(p =>
    [p.cut_off ? bad(p.carrier + ": restart the appliance") : p.carrier, number(p.admitted), number(p.refused),
      Object.entries(p.refusals).map(([why, count]) => `${why} ${number(count)}`).join(", "), number(p.ended), fault(p.detached)]));
  table("offers", ["attached", "now", "in all", "refused", "gets", "MB"], nic.offers.map(o => [o.name,
    number(o.attachments), number(o.attached), number(o.refused), number(o.gets), number(Math.round(o.bytes / 1e6))]));
}

// ---- Distinct errors, each with its explanation
const opened = new Set();
function show_errors(errors) {
  const place = get("errors");
  if (is_shown("errors", errors)) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.parentElement.dataset.key : undefined;
  place.replaceChildren();
  if (errors.length === 0) place.append(element("p", {class: "dim"}, "None."));
  for (const error of errors.sort((a, b) => b.last_ns - a.last_ns)) {
    const key = [error.code, error.channel, error.template_index, error.offset, error.first_ns].join();
    const summary = element("summary", {}, `${number(error.count)} \u00d7 ${error.code} ${error.meaning}, channel ` +
      `${error.channel_name || error.channel}; last ${clock(error.last_ns)}, first ${clock(error.first_ns)} at sequence ` +
      `${error.sequence}, byte ${error.offset}`);
    const details = element("details", {"data-key": key}, summary,
      element("pre", {tabindex: "0"}, error.explanation || "no explanation yet"));
    details.open = opened.has(key) || (errors.length === 1 && !opened.has("-" + key));
    details.addEventListener("toggle", () => {
      opened[details.open ? "add" : "delete"](key);
      opened[details.open ? "delete" : "add"]("-" + key);
    });
    place.append(details);
    if (key === focused) summary.focus();
  }
}
