// ------------------------------------------------------------------------------------------------------------ Looks
// A server that has hung up must not hold up the page.
const kPatience = 10000, kBetween = 1000, kBetweenHidden = 10000;
async function ask(path) {
  const answer = await fetch(path, {signal: AbortSignal.timeout(kPatience)});
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
function warn(text) {
  if (get("warning").textContent !== text) get("warning").textContent = text;
  get("warning").hidden = text === "";
  document.body.classList.toggle("stale", text !== "");
}
let turn = 0;
async function look() {
  try {
    const status = await ask("status.json");
    show_status(status);
    if (!about || turn % 5 === 0) {
      take_about(await ask("about.json"));
      const history = await ask("history.json");
      latest_points = history.points;
      show_rates(history.points);
      show_delays(history.points);
      show_gaps(history);
      show_errors(await ask("errors.json"));
      show_about(status);
    }
    await show_book(status.monotonic_ns);
    ++turn;
    warn("");
    document.body.dataset.turns = turn;
  } catch (error) {
    warn(`No answer from the appliance; what is below is the last that was heard. Asking on. (${error.message})`);
  }
  setTimeout(look, document.hidden ? kBetweenHidden : kBetween);
}
look();
