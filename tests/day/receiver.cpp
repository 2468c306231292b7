#include "tests/day/receiver.hpp"

#include <algorithm>
#include <utility>

#include "tests/lib/mutant.hpp"

namespace stopbit::day {
namespace {

constexpr std::uint64_t kStallNs = 500'000;  ///< Longer than any turn of a poller that runs.
constexpr std::uint64_t kDropsExplainNs = 200'000'000;

}  // namespace

const char* to_text(Cause cause) noexcept {
  switch (cause) {
    case Cause::Lines: return "lost on the lines";
    case Cause::LineDown: return "line down";
    case Cause::LocalDrop: return "dropped here";
    case Cause::Stall: return "local stall";
    case Cause::Room: return "no room";
    case Cause::Leap: return "leap";
    case Cause::Switch: return "another run";
    case Cause::Down: return "appliance down";
    case Cause::Overtaken: return "overtaken";
    case Cause::End: return "end";
  }
  return "";
}

/// One channel.
class ArbiterReceiver::Line final : public arbitrate::Sink {
 public:
  Line(ArbiterReceiver& receiver, std::size_t index, const ChannelPlan& plan, Listener& listener)
      : receiver_(receiver), index_(index), plan_(plan), listener_(listener), arbiter(plan.options) {}

  bool deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept override {
    const bool decodes = listener_.delivered(index_, packet, epoch);
    const Identity identity = read_message(plan_, packet);
    if (identity.announces != 0) announced_ = identity.announces;
    last_ = Kept{packet.preamble.sender, packet.preamble.sequence};
    return decodes;
  }
  void gap(const arbitrate::Gap& gap) noexcept override { listener_.gap(index_, gap, {.cause = cause_of(gap)}); }
  void epoch(const arbitrate::NewRun& run) noexcept override { listener_.run(index_, run); }
  void reset(const arbitrate::NewRun& run) noexcept override { listener_.run(index_, run); }
  void conflict(const arbitrate::Conflict& conflict) noexcept override { listener_.conflict(index_, conflict); }
  void late(const arbitrate::Packet& packet, std::uint64_t late_ns) noexcept override {
    listener_.late(index_, packet, late_ns);
  }

  /// What the feed has said in a message goes back up the line, after the call that delivered it.
  void pass_announcement() {
    if (announced_ == 0) return;
    arbiter.announce(announced_);
    announced_ = 0;
  }
  [[nodiscard]] std::optional<Kept> kept() const { return last_; }

 private:
  [[nodiscard]] Cause cause_of(const arbitrate::Gap& gap) const {
    using Reason = arbitrate::GapReason;
    switch (gap.reason) {
      case Reason::Room: return Cause::Room;
      case Reason::Overtaken: return Cause::Overtaken;
      case Reason::Switch: return Cause::Switch;
      case Reason::Down: return Cause::Down;
      case Reason::End: return Cause::End;
      case Reason::Leap:
      case Reason::Window:
      case Reason::Count: break;
    }
    if (receiver_.dropped_here_ns != 0 && receiver_.clock_.now_ns - receiver_.dropped_here_ns <= kDropsExplainNs) {
      return Cause::LocalDrop;
    }
    if (receiver_.stall_end_ns >= gap.before_t_ns && receiver_.stall_begin_ns <= gap.after_t_ns &&
        receiver_.stall_end_ns != 0) {
      return Cause::Stall;
    }
    for (std::size_t i = 0; i < plan_.lines; ++i) {
      if (!gap.lines[i].passed && gap.lines[i].last_t_ns + 4 * plan_.options.window_ns < gap.after_t_ns) {
        return Cause::LineDown;
      }
    }
    return gap.reason == Reason::Leap ? Cause::Leap : Cause::Lines;
  }

  ArbiterReceiver& receiver_;
  std::size_t index_;
  const ChannelPlan& plan_;
  Listener& listener_;
  std::uint64_t announced_ = 0;
  std::optional<Kept> last_;

 public:
  arbitrate::Arbiter arbiter;
};

ArbiterReceiver::ArbiterReceiver(const Day& day, const std::vector<std::unique_ptr<ModelPort>>& ports, Clock& clock,
                                 Listener& listener, const std::vector<std::optional<Kept>>& kept)
    : day_(day),
      ports_(ports),
      clock_(clock),
      listener_(listener),
      batch_(day.batch),
      drops_(ports.size()),
      worked_ns_(clock.now_ns) {
  for (std::size_t i = 0; i < day.channels.size(); ++i) {
    lines_.push_back(std::make_unique<Line>(*this, i, day.channels[i], listener));
    if (kept[i] && day.channels[i].mode != Mode::Carousel && cases::mutant != 101) {
      lines_[i]->arbiter.resume_after(kept[i]->sender, kept[i]->last);
    }
    for (std::uint8_t line = 0; line < day.channels[i].lines; ++line) {
      targets_[group_of(static_cast<std::uint8_t>(i), line).address] = {i, static_cast<arbitrate::Line>(line)};
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) drops_[i] = ports[i]->counters().dropped_by_kernel.value();
}

ArbiterReceiver::~ArbiterReceiver() = default;

std::size_t ArbiterReceiver::do_work() {
  std::size_t count = 0;
  if (clock_.now_ns - worked_ns_ > kStallNs) {
    stall_begin_ns = worked_ns_;
    stall_end_ns = clock_.now_ns;
  }
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    ModelPort& port = *ports_[p];
    const std::size_t from_port = port.poll(batch_);
    const std::uint64_t drops = port.counters().dropped_by_kernel.value();
    if (std::exchange(drops_[p], drops) != drops) dropped_here_ns = clock_.now_ns;
    for (std::size_t i = 0; i < from_port; ++i) {
      const ingest::Arrival& arrival = batch_[i];
      const auto target = targets_.find(arrival.destination.address);
      if (target == targets_.end()) continue;
      Line& line = *lines_[target->second.first];
      arbitrate::Packet packet{
          .payload = arrival.payload,
          .preamble = net::read_preamble(day_.channels[target->second.first].framing, arrival.payload),
          .line = target->second.second,
          .time_quality = arrival.time_quality,
          .arrival_ns = arrival.arrival_ns,
          .t_ns = arrival.t_ns,
          .number = ++packets_,
          .source = cases::mutant == 108 ? 0 : arrival.source.address};
      if (cases::mutant == 102) packet.t_ns = clock_.now_ns;                               // from the time of the poll
      if (cases::mutant == 103) packet.t_ns = kBegin + (arrival.arrival_ns - kWallBegin);  // windows by the wall clock
      line.arbiter.offer(packet, line);
      line.pass_announcement();
      if (cases::mutant == 104) line.arbiter.tick(arrival.t_ns, line);  // before the other ports were read
    }
    count += from_port;
  }
  std::uint64_t until = kNever;
  for (const auto& port : ports_) until = std::min(until, port->complete_until());
  if (cases::mutant == 105) until = ports_.front()->complete_until();  // only one port is asked
  if (cases::mutant == 106) until = clock_.now_ns;                     // the time of the poll, whatever is still unread
  until_ns_ = std::max(until_ns_, until);
  std::uint64_t horizon = kNever;
  for (const auto& port : ports_) horizon = std::min(horizon, port->complete_until());
  listener_.horizon(horizon);
  for (const auto& line : lines_) {
    if (cases::mutant == 107 && count == 0) break;  // only packets close windows
    line->arbiter.tick(until_ns_, *line);
    line->pass_announcement();
  }
  worked_ns_ = clock_.now_ns;
  return count;
}

void ArbiterReceiver::finish() {
  for (const auto& line : lines_) line->arbiter.finish(*line);
}

std::uint64_t ArbiterReceiver::next_deadline() const {
  std::uint64_t deadline = kNever;
  for (const auto& line : lines_) deadline = std::min(deadline, line->arbiter.next_deadline().value_or(kNever));
  return deadline;
}

const arbitrate::Arbiter& ArbiterReceiver::arbiter(std::size_t channel) const {
  return lines_[channel]->arbiter;
}

std::vector<std::optional<Kept>> ArbiterReceiver::kept() const {
  std::vector<std::optional<Kept>> kept;
  for (const auto& line : lines_) kept.push_back(line->kept());
  return kept;
}

}  // namespace stopbit::day
