#include "host/lab/impair/impairer.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::impair {
namespace {

/// Independent streams of random numbers: the settings of one line leave the other lines as they
/// are.
std::uint64_t stream(std::uint64_t seed, std::uint64_t number) {
  Random random(seed + number * 0xD1B54A32D192ED03U);
  return random.next();
}

}  // namespace

const char* to_text(Event::Kind kind) noexcept {
  switch (kind) {
    case Event::Kind::Lost: return "lost";
    case Event::Kind::LostOnBoth: return "lost-on-both";
    case Event::Kind::Dead: return "dead";
    case Event::Kind::Doubled: return "doubled";
    case Event::Kind::HeldBack: return "held-back";
    case Event::Kind::Damaged: return "damaged";
    case Event::Kind::Out: return "out";
  }
  return "";
}

bool Impairer::LossState::loses() noexcept {
  if (loss_.mean_burst <= 1) return random_.happens(loss_.rate);
  if (loss_.rate >= 1) return true;
  is_bad_ = is_bad_ ? !random_.happens(1 / loss_.mean_burst)
                    : random_.happens(loss_.rate / (loss_.mean_burst * (1 - loss_.rate)));
  return is_bad_;
}

Impairer::Line::Line(const LineOptions& line_options, std::uint64_t seed)
    : options(line_options), loss(line_options.loss, stream(seed, 1)), random(stream(seed, 2)) {
  options.reorder_depth = std::clamp(options.reorder_depth, 1U, kMaxReorderDepth);
}

Impairer::Impairer(const Options& options, Log log)
    : options_(options), log_(std::move(log)), both_(options.both, stream(options.seed, 1)) {
  options_.lines = std::clamp<std::size_t>(options_.lines, 1, kMaxLines);
  for (std::size_t i = 0; i < options_.lines; ++i) lines_.emplace_back(options_.line[i], stream(options.seed, 2 + i));
}

void Impairer::push(std::span<const std::byte> packet, std::uint64_t now_ns) {
  const bool lost_on_both = both_.loses();
  for (std::size_t i = 0; i < lines_.size(); ++i) push(i, packet, now_ns, lost_on_both);
  ++packets_;
}

void Impairer::push(std::size_t index, std::span<const std::byte> packet, std::uint64_t now_ns, bool lost_on_both) {
  Line& line = lines_[index];
  const bool is_lost = line.loss.loses();
  if (packets_ == line.options.dies_at) let_first_go(line, line.held_back.size(), now_ns);  // what is under way arrives
  if (packets_ >= line.options.dies_at && packets_ < line.options.returns_at) {
    return tell(Event::Kind::Dead, index, packets_, now_ns);
  }
  if (lost_on_both || is_lost) {
    return tell(lost_on_both ? Event::Kind::LostOnBoth : Event::Kind::Lost, index, packets_, now_ns);
  }
  const bool is_doubled = line.random.happens(line.options.duplicate);
  if (is_doubled) tell(Event::Kind::Doubled, index, packets_, now_ns);
  for (int i = 0; i < (is_doubled ? 2 : 1); ++i) {
    Copy copy = make_copy(packet, index);
    if (packet.size() > options_.corrupt_from && line.random.happens(line.options.corrupt)) {
      const std::uint64_t bit =
          options_.corrupt_from * 8 + line.random.below((packet.size() - options_.corrupt_from) * 8);
      copy.bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      copy.damaged = true;
      tell(Event::Kind::Damaged, index, packets_, now_ns, bit);
    }
    if (line.random.happens(line.options.reorder)) {
      const auto depth = static_cast<std::uint32_t>(1 + line.random.below(line.options.reorder_depth));
      tell(Event::Kind::HeldBack, index, packets_, now_ns, depth);
      line.held_back.push_back({std::move(copy), depth});
      if (line.held_back.size() > std::max<std::size_t>(line.options.reorder_depth, kMaxHeldBack)) {
        let_first_go(line, 1, now_ns);
      }
    } else {
      let_go(line, std::move(copy), now_ns);
    }
  }
}

/// The copy goes its way, and with it those of which it was the last to overtake them.
void Impairer::let_go(Line& line, Copy copy, std::uint64_t now_ns) {
  copy.time_ns = now_ns + line.options.delay_ns;
  line.on_its_way.push_back(std::move(copy));
  std::size_t kept = 0;
  for (HeldBack& held : line.held_back) {
    if (--held.left == 0) {
      held.copy.time_ns = now_ns + line.options.delay_ns;
      line.on_its_way.push_back(std::move(held.copy));
    } else {
      if (&held != &line.held_back[kept]) line.held_back[kept] = std::move(held);
      ++kept;
    }
  }
  line.held_back.resize(kept);
}

/// Those held back longest, whatever was to overtake them.
void Impairer::let_first_go(Line& line, std::size_t count, std::uint64_t now_ns) {
  for (std::size_t i = 0; i < count; ++i) {
    Copy& copy = line.held_back[i].copy;
    copy.time_ns = now_ns + line.options.delay_ns;
    line.on_its_way.push_back(std::move(copy));
  }
  line.held_back.erase(line.held_back.begin(), line.held_back.begin() + static_cast<std::ptrdiff_t>(count));
}

void Impairer::flush(std::uint64_t now_ns) {
  for (Line& line : lines_) let_first_go(line, line.held_back.size(), now_ns);
}

std::optional<std::uint64_t> Impairer::next_time() const noexcept {
  std::optional<std::uint64_t> first;
  for (const Line& line : lines_) {
    if (line.on_its_way.empty()) continue;
    const std::uint64_t time = line.on_its_way.front().time_ns;
    if (!first || time < *first) first = time;
  }
  return first;
}

const Copy* Impairer::pop(std::uint64_t until_ns) {
  Line* first = nullptr;
  for (Line& line : lines_) {
    if (line.on_its_way.empty() || line.on_its_way.front().time_ns > until_ns) continue;
    if (first == nullptr || line.on_its_way.front().time_ns < first->on_its_way.front().time_ns) first = &line;
  }
  if (first == nullptr) return nullptr;
  if (out_.bytes.capacity() != 0) spare_.push_back(std::move(out_.bytes));
  out_ = std::move(first->on_its_way.front());
  first->on_its_way.pop_front();
  tell(Event::Kind::Out, out_.line, out_.packet, out_.time_ns, out_.damaged ? 1 : 0);
  return &out_;
}

Copy Impairer::make_copy(std::span<const std::byte> packet, std::size_t line) {
  Copy copy;
  if (!spare_.empty()) {
    copy.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  copy.bytes.assign(packet.begin(), packet.end());
  copy.packet = packets_;
  copy.line = static_cast<std::uint8_t>(line);
  return copy;
}

void Impairer::tell(Event::Kind kind, std::size_t line, std::uint64_t packet, std::uint64_t time_ns,
                    std::uint64_t detail) {
  if (!log_) return;
  log_({.kind = kind,
        .line = static_cast<std::uint8_t>(line),
        .detail = static_cast<std::uint32_t>(detail),
        .packet = packet,
        .time_ns = time_ns});
}

}  // namespace stopbit::impair
