#include "host/appliance/housekeeper.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "decoder/record/text.hpp"
#include "host/appliance/distribution.hpp"
#include "host/appliance/republication.hpp"
#include "host/os/readable.hpp"
#include "microcode/base/error_code.hpp"

namespace stopbit::appliance {
namespace {

using Level = Change::Level;

std::string_view reason_text(std::uint8_t reason) {
  switch (static_cast<arbitrate::NewRun::Reason>(reason)) {
    case arbitrate::NewRun::Reason::Start: return "start";
    case arbitrate::NewRun::Reason::Sender: return "another sender";
    case arbitrate::NewRun::Reason::Cycle: return "cycle";
    case arbitrate::NewRun::Reason::SequenceReset: return "sequence reset";
    case arbitrate::NewRun::Reason::Back: return "the previous run continues";
  }
  return "unknown";
}

/// Faults of books by which an entry contradicts what is known.
constexpr auto kContradictions = [] {
  std::array<std::string_view, market::kFaults> names{};
  std::size_t count = 0;
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what) \
  if (market::Cause::cause == market::Cause::Contradiction) names[count++] = name;
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
  return names;
}();

/// The appliance's own segment is well-formed.
counters::Reader open_reader(const Appliance& appliance) {
  Result<counters::Reader> reader = counters::Reader::over(appliance.segment().bytes());
  if (!reader) std::abort();
  return std::move(reader).value();
}

}  // namespace

std::string_view to_text(Change::Level level) noexcept {
  switch (level) {
    case Level::Info: return "info";
    case Level::Warning: return "warning";
    case Level::Error: return "error";
  }
  return "error";
}

std::string to_text(const Change& change) {
  std::string out = "what=";
  record::append_json_string(out, change.what, false);
  for (const auto& [key, value] : change.fields) {
    out += ' ' + key + '=';
    const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) {
      out += value;
    } else {
      record::append_json_string(out, value, false);
    }
  }
  return out;
}

Housekeeper::Housekeeper(Appliance& appliance, Clocks clocks, Report report)
    : appliance_(appliance),
      clocks_(std::move(clocks)),
      report_(std::move(report)),
      gaps_(appliance.settings().state_folder, appliance.settings().keep_days),
      reader_(open_reader(appliance)) {}

Status Housekeeper::prepare() {
  if (Status made = gaps_.prepare(); !made) return made;
  const std::uint64_t now = clocks_.wall();
  const GapHistory history =
      read_gaps(appliance_.settings().state_folder, now > kDayNs ? now - kDayNs : 0, kRecentGaps);
  recent_.assign(history.gaps.begin(), history.gaps.end());
  tell_book_starts();
  follow_rings();
  return Done{};
}

void Housekeeper::step() {
  const Now both = clocks_.now();
  const std::uint64_t now = both.monotonic_ns;
  if (listening_since_ns_ == 0) listening_since_ns_ = now;
  watch_clock(both);
  AgentEvent notice;
  for (std::size_t i = 0; i < kNoticesAtATime && appliance_.next_event(notice); ++i) take(notice);
  appliance_.retire();
  if (const std::string what = appliance_.take_card_fault(); !what.empty()) {
    report_({Level::Warning, "card wrong", {{"ring", appliance_.on_card()}, {"sent", what}}});
  }
  if (const std::string why = appliance_.take_card_failure(); !why.empty()) {
    report_({Level::Error, "card fails", {{"ring", appliance_.on_card()}, {"why", why}}});
  }
  if (const Appliance::CardNews news = appliance_.tend_card(now); !news.text.empty()) {
    report_(news.is_back
                ? Change{Level::Info, "card back", {{"ring", appliance_.on_card()}, {"what", news.text}}}
                : Change{Level::Warning, "card not back", {{"ring", appliance_.on_card()}, {"why", news.text}}});
  }
  report_distribution();
  save_books(false);
  appliance_.beat();
  appliance_.note_sessions(both);
  appliance_.housekeeper_counter_set().running_ns.set(now - listening_since_ns_);
  if (now >= next_clean_ns_) {
    next_clean_ns_ = now + kCleanNs;
    gaps_.clean(both);
  }
  if (now < next_look_ns_) return;
  next_look_ns_ = now + kLookNs;
  look(both);
}

void Housekeeper::finish() {
  save_books(true);
}

void Housekeeper::tell_book_starts() {
  for (const Appliance::BookStart& start : appliance_.book_starts()) {
    const RecordOutput& output = *appliance_.outputs()[start.output];
    const std::string& ring = output.plan().events.ring;
    if (!start.why_not.empty()) {
      Change change{Level::Warning,
                    "books begin anew",
                    {{"ring", ring}, {"why", start.why_not}, {"definitions", std::to_string(start.instruments)}}};
      if (start.left_out != 0) change.fields.push_back({"without_room", std::to_string(start.left_out)});
      report_(std::move(change));
      continue;
    }
    const std::uint64_t now = clocks_.wall();
    report_({Level::Info,
             "books taken over",
             {{"ring", ring},
              {"instruments", std::to_string(start.instruments)},
              {"books", std::to_string(start.books)},
              {"saved", os::duration_text(now > start.saved_ns ? now - start.saved_ns : 0) + " ago"}}});
  }
}

/// A writer for each ring whose books are saved. Rings come and go with the settings.
void Housekeeper::follow_rings() {
  const Settings& settings = appliance_.settings();
  for (std::size_t o = 0; o < appliance_.outputs().size(); ++o) {
    RecordOutput& output = *appliance_.outputs()[o];
    if (output.save_queue() == nullptr) continue;
    const auto writer = std::find_if(book_writers_.begin(), book_writers_.end(),
                                     [&](const BookWriter& one) { return &one.output() == &output; });
    if (!appliance_.has_output_ended(o)) {
      if (writer == book_writers_.end()) {
        book_writers_.emplace_back(output, settings.state_folder, settings.books.save_ns);
      }
      continue;
    }
    if (writer != book_writers_.end()) {
      writer->abandon();
      book_writers_.erase(writer);
    }
    output.end_saving();
  }
}

void Housekeeper::save_books(bool is_last) {
  follow_rings();
  const Now now = clocks_.now();
  for (BookWriter& writer : book_writers_) {
    const BookWriter::News news = is_last ? writer.finish(now.wall_ns) : writer.step(now.monotonic_ns);
    if (news.fails) report_({Level::Error, "books not saved", {{"ring", writer.ring()}, {"why", news.why}}});
    if (news.goes_on) report_({Level::Info, "books saved again", {{"ring", writer.ring()}}});
  }
}

/// Watches the wall clock. Nothing here is decided by it, but records and logs have its times.
void Housekeeper::watch_clock(const Now& now) {
  const auto offset = static_cast<std::int64_t>(now.wall_ns - now.monotonic_ns);
  const std::int64_t step = clock_is_known_ ? offset - clock_offset_ns_ : 0;
  // A clock that is slewed moves by at most half a millisecond a second.
  const auto slewed = static_cast<std::int64_t>(kClockToleranceNs + (now.monotonic_ns - clock_seen_ns_) / 1'000);
  clock_is_known_ = true;
  clock_offset_ns_ = offset;
  clock_seen_ns_ = now.monotonic_ns;
  if (step > slewed || -step > slewed) {
    const std::string by =
        (step < 0 ? "-" : "+") + os::duration_text(static_cast<std::uint64_t>(step < 0 ? -step : step));
    report_({Level::Warning, "clock stepped", {{"by", by}}});
    appliance_.count_clock_step();
    clock_stepped_ns_ = now.monotonic_ns;
  }
  const ClockStatus status = clocks_.status();
  const bool is_synchronised = status == ClockStatus::Synchronised || status == ClockStatus::LeapSecond;
  if (is_synchronised != clock_is_synchronised_) {
    clock_is_synchronised_ = is_synchronised;
    if (is_synchronised) {
      report_({Level::Info, "clock synchronised", {}});
    } else {
      report_({Level::Warning, "clock not synchronised", {{"times", "less accurate"}}});
    }
  }
  if (status == ClockStatus::LeapSecond && !std::exchange(leap_second_is_reported_, true)) {
    report_({Level::Warning, "leap second", {{"when", "at the end of the day, UTC"}}});
  }
  leap_second_is_reported_ = status == ClockStatus::LeapSecond;
  const bool has_stepped = clock_stepped_ns_ != 0 && now.monotonic_ns - clock_stepped_ns_ < kStepDistrustNs;
  appliance_.trust_clock(is_synchronised && !has_stepped);
}

void Housekeeper::report_distribution() {
  Distribution* const distribution = appliance_.distribution();
  std::string line;
  while (distribution != nullptr && distribution->next_line(line)) {
    report_({Level::Info, "nic", {{"text", std::exchange(line, {})}}});
  }
  for (const auto& republication : appliance_.republications()) {
    while (republication->next_line(line)) {
      report_({Level::Info, "multicast", {{"name", republication->name()}, {"text", std::exchange(line, {})}}});
    }
  }
}

void Housekeeper::take(const AgentEvent& notice) {
  if (notice.kind == AgentEvent::Kind::Image) {
    report_({Level::Info,
             "layout changed",
             {{"ring", appliance_.outputs().at(notice.channel)->label()},
              {"image", appliance_.image_of(notice.channel)},
              {"generation", std::to_string(notice.first)}}});
    return;
  }
  const feed::Channel& channel = appliance_.channel(notice.channel);
  switch (notice.kind) {
    case AgentEvent::Kind::Gap: take_gap(notice, channel); break;
    case AgentEvent::Kind::Late: {
      LateEntry late{.time_ns = notice.time_ns,
                     .channel = channel.name,
                     .first = notice.first,
                     .count = notice.count,
                     .late_by_ns = notice.stall_ns,
                     .replayed = notice.replayed,
                     .epoch = notice.epoch};
      if (late.replayed != 0) note_quota(late, notice.channel);
      gaps_.add(late);
      std::any_of(recent_.rbegin(), recent_.rend(), [&](GapEntry& gap) { return add_late(gap, late); });
      break;
    }
    case AgentEvent::Kind::Books: take_books(notice, channel); break;
    case AgentEvent::Kind::Run:
      report_({Level::Info,
               "run begins",
               {{"channel", channel.name},
                {"reason", std::string(reason_text(notice.detail))},
                {"sequence", std::to_string(notice.first)},
                {"epoch", std::to_string(notice.epoch)}}});
      break;
    case AgentEvent::Kind::Stale:
      report_({Level::Error,
               "stale",
               {{"channel", channel.name},
                {"datagrams", std::to_string(notice.count)},
                {"code", std::string(code_text(static_cast<ErrorCode>(notice.detail)))}}});
      break;
    case AgentEvent::Kind::Blind:
      report_({Level::Error,
               "stale",
               {{"channel", channel.name},
                {"why", "packets arrive, but none are delivered"},
                {"for", os::duration_text(notice.count)}}});
      break;
    case AgentEvent::Kind::Conflict:
      report_({Level::Error,
               "copies differ",
               {{"channel", channel.name},
                {"sequence", std::to_string(notice.first)},
                {"line", notice.detail == 0 ? "A" : "B"}}});
      break;
    case AgentEvent::Kind::Recovered: report_({Level::Info, "recovered", {{"channel", channel.name}}}); break;
    case AgentEvent::Kind::Image: break;
  }
}

/// Certain facts first; then events of this machine; then the lines.
GapCause Housekeeper::cause_of(const AgentEvent& notice, bool is_line_down) noexcept {
  using arbitrate::GapReason;
  const auto reason = static_cast<GapReason>(notice.detail);
  if (reason == GapReason::Down) return GapCause::ApplianceDown;
  if (reason == GapReason::Switch) return GapCause::Switched;
  if (notice.dropped_here) return GapCause::LocalDrop;
  if (reason == GapReason::Room) return notice.stall_ns != 0 ? GapCause::LocalStall : GapCause::NoRoom;
  return is_line_down ? GapCause::LineDown : GapCause::LostOnBoth;
}

GapEntry Housekeeper::entry_of(const AgentEvent& notice, const feed::Channel& channel, std::uint64_t silence_ns) {
  GapEntry gap{.time_ns = notice.time_ns,
               .channel = channel.name,
               .feed = {},
               .first = notice.first,
               .count = notice.count,
               .epoch = notice.epoch,
               .lines = {},
               .stall_ns = notice.stall_ns};
  bool is_down = false;
  for (std::size_t i = 0; i < gap.lines.size(); ++i) {
    const arbitrate::Gap::Had& had = notice.lines[i];
    GapEntry::Had& to = gap.lines[i];
    to.exists = channel.lines[i].has_value();
    to.heard = had.heard;
    to.passed = had.passed;
    to.last_sequence = had.last_sequence;
    to.silent_ns = had.last_t_ns != 0 && notice.after_t_ns > had.last_t_ns ? notice.after_t_ns - had.last_t_ns : 0;
    // A line that has kept step up to the gap is not down, however long nothing was sent; nor is one whose port has not
    // been read up to there.
    const std::uint64_t gap_ns = notice.before_t_ns != 0 ? notice.before_t_ns : notice.after_t_ns;
    const std::uint64_t until = std::min(gap_ns, notice.read_until_ns);
    const bool is_silent = had.last_t_ns == 0 || (until > had.last_t_ns && until - had.last_t_ns > silence_ns);
    if (to.exists && !had.passed && is_silent) is_down = true;
  }
  gap.cause = cause_of(notice, is_down);
  return gap;
}

void Housekeeper::take_gap(const AgentEvent& notice, const feed::Channel& channel) {
  GapEntry gap = entry_of(notice, channel, appliance_.settings().silence_ns);
  if (gap.time_ns == 0) gap.time_ns = clocks_.wall();
  gap.feed = appliance_.feed_of(notice.channel);
  gaps_.add(gap);
  recent_.push_back(gap);
  if (recent_.size() > kRecentGaps) recent_.pop_front();
  report_({Level::Warning,
           "gap",
           {{"channel", gap.channel},
            {"first", std::to_string(gap.first)},
            {"count", std::to_string(gap.count)},
            {"cause", std::string(to_text(gap.cause))},
            {"lines", lines_text(gap)}}});
}

void Housekeeper::take_books(const AgentEvent& notice, const feed::Channel& channel) {
  const market::LossEffect& effect = notice.effect;
  const BooksEntry entry{.time_ns = notice.time_ns != 0 ? notice.time_ns : clocks_.wall(),
                         .channel = channel.name,
                         .first = notice.first,
                         .epoch = notice.epoch,
                         .books = {.hit = effect.books,
                                   .stale = effect.stale,
                                   .by_snapshot = effect.by_snapshot,
                                   .by_message = effect.by_message,
                                   .refreshed = effect.refreshed,
                                   .cycles = effect.cycles,
                                   .longest_ns = effect.longest_ns}};
  gaps_.add(entry);
  std::any_of(recent_.rbegin(), recent_.rend(), [&](GapEntry& gap) { return add_books(gap, entry); });
}

void Housekeeper::report_line(const std::string& channel, char line, bool is_silent, const LineStatus& status) {
  const std::string name(1, line);
  if (is_silent) {
    const std::string since = status.last_arrival_ns == 0 ? "ever" : os::duration_text(status.age_ns);
    report_({Level::Warning,
             "line silent",
             {{"channel", channel}, {"line", name}, {"for", since}, {"group", status.address}}});
  } else {
    report_({Level::Info, "line speaks", {{"channel", channel}, {"line", name}, {"group", status.address}}});
  }
}

void Housekeeper::watch(const std::string& what, const char* key, const std::string& name, std::uint64_t value,
                        Level level, std::uint64_t now, std::string_view why) {
  watch(watched_[{what, name}], what, key, name, value, level, now, why);
}

void Housekeeper::watch(Watched& watched, const std::string& what, const char* key, const std::string& name,
                        std::uint64_t value, Level level, std::uint64_t now, std::string_view why) {
  if (value < watched.reported) watched.reported = value;
  if (value == watched.reported || now < watched.next_ns) return;
  Change change{
      level, what, {{key, name}, {"more", std::to_string(value - watched.reported)}, {"all", std::to_string(value)}}};
  if (!why.empty()) change.fields.emplace_back("why", why);
  report_(change);
  watched = {.reported = value, .next_ns = now + kRepeatNs};
}

void Housekeeper::look_at_gap_log() {
  appliance_.housekeeper_counter_set().gaps_not_written.set(gaps_.lost());
  if (gaps_.is_failing() == gap_log_fails_) return;
  gap_log_fails_ = gaps_.is_failing();
  if (gap_log_fails_) {
    report_({Level::Error, "gaps not written", {{"why", gaps_.problem()}}});
  } else {
    report_({Level::Info, "gaps written again", {{"not_written", std::to_string(gaps_.lost())}}});
  }
}

/// An agent that hangs is not ended: the other ones go on, and its rings keep what they have. A lossless ring whose
/// reader takes nothing makes its agent wait, too.
void Housekeeper::look_at_agents(const StatusReport& status, std::uint64_t now) {
  stalled_.resize(status.agents.size());
  std::size_t stalled = 0;
  for (std::size_t i = 0; i < status.agents.size(); ++i) {
    const AgentStatus& agent = status.agents[i];
    const std::uint64_t last = std::max(agent.last_alive_ns, listening_since_ns_);
    const bool is_stalled = !appliance_.has_ended(i) && now > last && now - last > kStalledNs;
    if (is_stalled) ++stalled;
    if (is_stalled == stalled_[i]) continue;
    stalled_[i] = is_stalled;
    if (is_stalled) {
      report_({Level::Error, "agent stalled", {{"agent", agent.name}, {"for", os::duration_text(now - last)}}});
    } else {
      report_({Level::Info, "agent goes on", {{"agent", agent.name}}});
    }
  }
  appliance_.housekeeper_counter_set().agents_stalled.set(stalled);
  const auto live = std::count_if(status.channels.begin(), status.channels.end(),
                                  [](const ChannelStatus& channel) { return channel.state == ChannelState::Live; });
  summary_ = std::to_string(live) + " of " + std::to_string(status.channels.size()) + " channels live";
  if (stalled != 0) summary_ += ", " + std::to_string(stalled) + " agents stalled";
  if (gap_log_fails_) summary_ += ", gaps not written";
  if (recorder_fails_) summary_ += ", recording stopped";
}

void Housekeeper::look_at_recorder(const RecorderStatus& recorder, std::uint64_t now) {
  const bool fails = recorder.failing_lines != 0;
  if (fails != recorder_fails_) {
    if (fails) {
      report_({Level::Error,
               "recording stops",
               {{"lines", std::to_string(recorder.failing_lines)}, {"why", recorder.problem}}});
    } else {
      report_({Level::Info, "recording goes on", {{"not_recorded", std::to_string(recorder.failed)}}});
    }
    recorder_fails_ = fails;
  }
  watch("disk too slow", "thread", "recorder", recorder.no_room, Level::Warning, now);
  watch("not frozen", "thread", "recorder", recorder.refused_freezes, Level::Warning, now);
  if (now < next_count_ns_) return;
  next_count_ns_ = now + kCountNs;
  appliance_.recording()->count_frozen();
}

void Housekeeper::look_at_readers(const StatusReport& status, std::uint64_t now) {
  const auto report = [&](Level level, const char* what, const auto& key) {
    const auto& [ring, name, process] = key;
    report_({level, what, {{"reader", name}, {"ring", ring}, {"process", std::to_string(process)}}});
  };
  decltype(readers_) seen_now;
  status.for_each_ring([&](const std::string& ring, const std::vector<ring::SeenReader>& readers) {
    for (const ring::SeenReader& seen : readers) {
      const auto key = std::tuple(ring, seen.name, seen.pid);
      const auto before = readers_.find(key);
      const bool is_known = before != readers_.end();
      const bool was_running = is_known && before->second.is_running;
      if (!is_known && seen.is_running) report(Level::Info, "reader comes", key);
      if (was_running && !seen.is_running) report(Level::Warning, "reader gone", key);
      KnownReader& known = seen_now[key];
      if (is_known) known.lost = before->second.lost;
      known.is_running = seen.is_running;
      watch(known.lost, "overrun", "reader", seen.name + " at " + ring, seen.lost_records, Level::Warning, now);
    }
  });
  for (const auto& [key, known] : readers_) {
    if (known.is_running && !seen_now.contains(key)) report(Level::Info, "reader leaves", key);
  }
  readers_ = std::move(seen_now);
}

/// Files in shared memory that this user or root has made shorter. The appliance goes on without them.
void Housekeeper::look_at_files() {
  std::set<std::string> truncated;
  if (watch_ != nullptr) {
    for (std::string& ring : watch_->truncated()) truncated.insert(std::move(ring));
  }
  if (appliance_.segment().is_broken()) truncated.insert(appliance_.segment().path());
  for (const std::string& file : truncated) {
    if (truncated_.contains(file)) continue;
    report_({Level::Error,
             "file truncated",
             {{"file", file}, {"effect", "readers see no new data until the appliance is restarted"}}});
  }
  truncated_ = std::move(truncated);
}

void Housekeeper::note_quota(LateEntry& late, std::size_t channel) {
  const Settings& settings = appliance_.settings();
  const auto service =
      std::find_if(settings.replays.begin(), settings.replays.end(), [&](const ReplaySettings& replay) {
        return settings.feeds[replay.feed].description.name == appliance_.feed_of(static_cast<std::uint32_t>(channel));
      });
  if (service == settings.replays.end()) return;
  const auto value = [&](const char* name) { return reader_.value(name, {{"service", service->name}}); };
  late.quota = value("replay_quota");
  late.quota_used = late.quota - std::min(late.quota, value("replay_quota_left"));
}

bool Housekeeper::is_open(const StatusReport& status, const MarketStatus& market) const {
  const auto& outputs = appliance_.outputs();
  const auto output = std::find_if(outputs.begin(), outputs.end(), [&](const auto& one) {
    return one != nullptr && one->plan().events.ring == market.name;
  });
  if (output == outputs.end()) return false;
  const std::string& ring = (*output)->plan().ring;
  return std::any_of(status.channels.begin(), status.channels.end(), [&](const ChannelStatus& channel) {
    return channel.ring == ring && channel.state != ChannelState::Closed;
  });
}

/// Books that do not become right in the time in which they should, and what contradicts them. Outside of sessions no
/// snapshots come.
void Housekeeper::look_at_books(const StatusReport& status, const MarketStatus& market, std::uint64_t now) {
  const bool is_of_session = is_open(status, market);
  BookFaults& faults = book_faults_[market.name];
  const bool is_stale = is_of_session && market.stale_limit_ns != 0 && market.stale_for_ns > market.stale_limit_ns;
  if (is_stale && !faults.is_stale) {
    report_({Level::Warning,
             "books stale",
             {{"ring", market.name},
              {"books", std::to_string(market.stale)},
              {"for", os::duration_text(market.stale_for_ns)},
              {"limit", os::duration_text(market.stale_limit_ns)}}});
  }
  if (!is_stale && faults.is_stale) report_({Level::Info, "books right again", {{"ring", market.name}}});
  faults.is_stale = is_stale;
  if (is_of_session && !faults.is_open) faults.opened = now;
  faults.is_open = is_of_session;
  const std::uint64_t announced = market.announced_cycle_ns;
  const std::uint64_t open_ns = now - faults.opened;
  // A cycle that is longer than the market has been open has the pause before in it, until two whole ones have come.
  const bool has_pause = market.cycle_ns > open_ns && open_ns <= 3 * announced;
  const bool is_slow = is_of_session && announced != 0 && market.cycle_ns > announced + announced / 2 && !has_pause;
  if (is_slow && !faults.is_slow) {
    report_({Level::Warning,
             "snapshots late",
             {{"ring", market.name},
              {"cycle", os::duration_text(market.cycle_ns)},
              {"announced", os::duration_text(announced)}}});
  }
  if (!is_slow && faults.is_slow) report_({Level::Info, "snapshots in time", {{"ring", market.name}}});
  faults.is_slow = is_slow;
  std::uint64_t contradictions = 0;
  for (const auto& [fault, count] : market.faults) {
    const bool is_known = std::find(kContradictions.begin(), kContradictions.end(), fault) != kContradictions.end();
    if (is_known) contradictions += count;
  }
  for (const auto& [what, count] : market.counts) {
    if (what == "differences") contradictions += count;
  }
  watch("books contradicted", "ring", market.name, contradictions, Level::Error, now);
}

/// A service that does not do what it should, and a quota that ends.
void Housekeeper::look_at_replay(const ReplayStatus& replay, std::uint64_t now) {
  const bool is_low = replay.quota_left * 5 < replay.quota;
  bool& was_low = low_quotas_[replay.name];
  if (is_low && !was_low) {
    report_({Level::Warning,
             "replay quota low",
             {{"service", replay.name},
              {"left", std::to_string(replay.quota_left)},
              {"of", std::to_string(replay.quota)}}});
  }
  was_low = is_low;
  watch("replay fails", "service", replay.name, replay.broken + replay.stalled + replay.malformed + replay.flooded,
        Level::Warning, now);
  watch("not replayed", "service", replay.name, replay.no_quota + replay.not_brought + replay.no_room, Level::Warning,
        now);
  watch("replay quota not stored", "service", replay.name, replay.not_stored, Level::Error, now);
}

/// A channel that comes back is a new one.
void Housekeeper::forget_removed(const StatusReport& status) {
  const auto is_gone = [&](const std::string& name) {
    return std::none_of(status.channels.begin(), status.channels.end(),
                        [&](const ChannelStatus& channel) { return channel.name == name; });
  };
  std::erase_if(states_, [&](const auto& known) { return is_gone(known.first); });
  std::erase_if(silent_, [&](const auto& known) { return is_gone(known.first.first); });
}

void Housekeeper::look(const Now& both) {
  const std::uint64_t now = both.monotonic_ns;
  (void)reader_.refresh();  // the appliance's own
  const StatusReport status = read_status(reader_, both, watch_);
  forget_removed(status);
  for (const ChannelStatus& channel : status.channels) {
    const auto [state, is_new] = states_.try_emplace(channel.name, ChannelState::Waiting);
    // Agents report stale and recovered themselves, with details.
    const bool is_reported_by_agent = state->second == ChannelState::Stale || channel.state == ChannelState::Stale;
    if (state->second != channel.state) {
      if (!is_reported_by_agent)
        report_({channel.state == ChannelState::Silent ? Level::Error : Level::Info,
                 "channel state",
                 {{"channel", channel.name},
                  {"before", std::string(to_text(state->second))},
                  {"now", std::string(to_text(channel.state))}}});
      state->second = channel.state;
    }
    for (std::size_t i = 0; i < channel.lines.size(); ++i) {
      const LineStatus& line = channel.lines[i];
      if (!line.exists) continue;
      const char letter = i == 0 ? 'A' : 'B';
      // A line that has not begun is no news before its time is over. Ports may have taken long to open.
      if (line.last_arrival_ns == 0 && now - listening_since_ns_ <= appliance_.settings().silence_ns) continue;
      const auto [silent, is_first] = silent_.try_emplace({channel.name, letter}, false);
      if (silent->second != line.is_silent) report_line(channel.name, letter, line.is_silent, line);
      silent->second = line.is_silent;
    }
  }
  for (const PortStatus& port : status.ports) {
    watch("dropped by the card", "port", port.name, port.nic, Level::Warning, now);
    watch("dropped by the kernel", "port", port.name, port.kernel, Level::Warning, now);
    watch("port fails", "port", port.name, port.failures, Level::Error, now);
  }
  if (const StepDesk* const sessions = appliance_.step_desk()) {
    for (const StepDesk::Ends& one : sessions->ends()) {
      watch("session ended", "server", net::to_text(one.server), one.count, Level::Warning, now,
            fix::to_text(one.last));
    }
  }
  for (const AgentStatus& agent : status.agents) {
    watch("notices lost", "agent", agent.name, agent.notices_lost, Level::Warning, now);
  }
  for (const ReplayStatus& replay : status.replays) look_at_replay(replay, now);
  for (const MarketStatus& market : status.markets) look_at_books(status, market, now);
  look_at_readers(status, now);
  look_at_files();
  if (status.recorder.exists) look_at_recorder(status.recorder, now);
  look_at_gap_log();
  look_at_agents(status, now);
}

}  // namespace stopbit::appliance
