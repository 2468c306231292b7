#include "host/fix/step_session.hpp"

#include <algorithm>
#include <utility>

#include "host/fix/fix_tags.hpp"
#include "host/fix/fix_text.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::fix {
namespace {

constexpr std::string_view kStep = "STEP.1.0.0";
constexpr std::string_view kInner = "FIXT.1.1";
constexpr std::string_view kInnerBegins = "8=FIXT.1.1\1";
constexpr std::size_t kHeadBytes = 4'096;   ///< Of a message, besides its data.
constexpr std::size_t kReadBytes = 16'384;  ///< The least room for bytes that come.
constexpr std::uint32_t kMostDoublings = 16;
constexpr std::uint64_t kZoneNs = 8 * 3'600 * kNsPerSecond;  ///< The exchanges' clocks are ahead of UTC.

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The data of a message.
struct Data {
  bool is_sound = false;                               ///< Every byte belongs to a field, and lengths are right.
  std::optional<std::span<const std::byte>> raw = {};  ///< Nothing: the message has none.
};

Data data_of(std::span<const std::byte> frame) noexcept {
  Data found;
  FixReader reader(frame);
  bool is_announced = false;
  std::uint32_t last = 0;
  while (const auto field = reader.next()) {
    last = field->tag;
    const bool is_raw = field->tag == kRawData;
    if (is_raw != is_announced) return {};           // one without the other
    if (is_raw && found.raw.has_value()) return {};  // a second one
    if (is_raw) found.raw = std::as_bytes(std::span(field->value.data(), field->value.size()));
    is_announced = field->tag == kRawDataLength;
    if (is_announced && !number_of(field->value)) return {};
  }
  // Data that are said to be longer would have the check sum in them.
  found.is_sound = last == kCheckSum && reader.at() == frame.size();
  return found;
}

/// The presence map of a message that does not name its template, changed so that it does, and the identifier. FAST:
/// the first bit of the map says whether the identifier follows it.
class NamedMap {
 public:
  /// The longest map that is changed, and an identifier.
  static constexpr std::size_t kMostMap = 16;
  static constexpr std::size_t kMostId = 5;
  static_assert(kMostMap + kMostId == kMostStepHead);

  NamedMap(std::span<const std::byte> data, std::uint32_t id) noexcept {
    constexpr std::byte kStop{0x80};
    constexpr std::byte kNamed{0x40};
    if (data.empty() || (data[0] & kNamed) != std::byte{0}) return;
    std::size_t size = 1;
    while (size <= data.size() && size <= kMostMap && (data[size - 1] & kStop) == std::byte{0}) ++size;
    if (size > data.size() || size > kMostMap) return;  // no map: that is for the decoder to say
    map_ = size;
    std::copy_n(data.begin(), size, bytes_.begin());
    bytes_[0] |= kNamed;
    std::size_t digits = 1;
    for (std::uint32_t rest = id >> 7; rest != 0; rest >>= 7) ++digits;
    for (std::size_t i = digits; i > 0; --i, id >>= 7) bytes_[size + i - 1] = static_cast<std::byte>(id & 0x7F);
    size_ = size + digits;
    bytes_[size_ - 1] |= kStop;
  }
  /// Bytes of the message that these are in place of.
  [[nodiscard]] std::size_t map() const noexcept { return map_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kMostMap + kMostId> bytes_{};
  std::size_t map_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

std::string_view to_text(StepEnd end) noexcept {
  constexpr std::array<std::string_view, kStepEnds> kTexts = {"failed",    "refused", "logged out", "closed",
                                                              "malformed", "silent",  "flooded",    "stuffed"};
  return kTexts[static_cast<std::size_t>(end)];
}

StepSession::StepSession(StepOptions options, const StepLimits& limits, StepSink& sink)
    : options_(std::move(options)),
      limits_(limits),
      sink_(sink),
      frame_bytes_(limits.data_bytes + kHeadBytes),
      buffer_bytes_(frame_bytes_ + kReadBytes),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_)) {}

// The connection.

void StepSession::tick(const Now& now) {
  switch (state_) {
    case State::Idle:
      if (now.monotonic_ns < not_before_ns_) return;
      state_ = State::Connecting;
      ++counts_.connections;
      step_ns_ = now.monotonic_ns;
      strange_ = 0;
      filled_ = 0;
      has_brought_ = has_probed_ = is_blocked_ = false;
      return sink_.connect();
    case State::Connecting:
    case State::LoggingOn:
      if (now.monotonic_ns - step_ns_ > limits_.patience_ns) end(StepEnd::Silent, now);
      return;
    case State::LoggedOn:
      if (is_blocked_) take_messages(now);
      if (is_logged_on()) watch(now);
      return;
    case State::Stopped: return;
  }
}

std::uint64_t StepSession::next_tick_ns() const noexcept {
  switch (state_) {
    case State::Idle: return not_before_ns_;
    case State::Connecting:
    case State::LoggingOn: return step_ns_ + limits_.patience_ns + 1;
    case State::LoggedOn: break;
    case State::Stopped: return kNever;
  }
  if (heartbeat_ns() == 0) return kNever;
  const std::uint64_t beat_ns = sent_ns_ + heartbeat_ns();
  if (is_blocked_) return beat_ns;
  const std::uint64_t silent_ns = heard_ns_ + silence_ns() + 1;
  return std::min(beat_ns, has_probed_ ? std::max(silent_ns, probed_ns_ + silence_ns()) : silent_ns);
}

void StepSession::connected(const Now& now) {
  if (state_ != State::Connecting) return;
  state_ = State::LoggingOn;
  step_ns_ = heard_ns_ = now.monotonic_ns;
  log_on(now);
}

void StepSession::closed(const Now& now) {
  end(is_logged_on() ? StepEnd::Closed : StepEnd::Refused, now, false);
}

void StepSession::stop(const Now& now) {
  if (is_logged_on()) (void)send("5", {}, now);
  if (state_ != State::Idle && state_ != State::Stopped) sink_.close();
  state_ = State::Stopped;
}

void StepSession::end(StepEnd why, const Now& now, bool is_open_yet) {
  if (state_ == State::Idle || state_ == State::Stopped) return;
  state_ = State::Idle;
  is_blocked_ = false;
  ++counts_.ends[static_cast<std::size_t>(why)];
  if (is_open_yet) sink_.close();
  fruitless_ = has_brought_ ? 0 : std::min(fruitless_ + 1, kMostDoublings);
  not_before_ns_ = now.monotonic_ns + std::min(limits_.retry_ns << fruitless_, limits_.longest_retry_ns);
  sink_.ended(why);
}

// What is sent.

bool StepSession::send(std::string_view type, std::span<const FixField> fields, const Now& now) {
  std::array<char, 512> out;
  const FixText time = FixText::second(now.wall_ns + kZoneNs);
  const std::size_t size = write_message(
      out, kStep,
      {.type = type, .sender = options_.sender, .target = options_.target, .number = 0, .time = time.view()}, fields);
  sent_ns_ = now.monotonic_ns;
  if (sink_.send(std::span(out).first(size))) return true;
  end(StepEnd::Stuffed, now);
  return false;
}

void StepSession::log_on(const Now& now) {
  const FixText heartbeat = FixText::number(options_.heartbeat_s);
  std::array<FixField, 4> fields = {{{kEncryptMethod, "0"}, {kHeartBtInt, heartbeat.view()}, {}, {}}};
  std::size_t count = 2;
  if (!options_.password.empty()) fields[count++] = {kPassword, options_.password};
  if (!options_.version.empty()) fields[count++] = {kDefaultApplVerId, options_.version};
  (void)send("A", std::span(fields).first(count), now);
}

std::uint64_t StepSession::heartbeat_ns() const noexcept {
  return options_.heartbeat_s * kNsPerSecond;
}

/// How long a server may say nothing.
std::uint64_t StepSession::silence_ns() const noexcept {
  return heartbeat_ns() + heartbeat_ns() / 5;
}

/// Heartbeats both ways: a server that says nothing is asked, and then given up.
void StepSession::watch(const Now& now) {
  const std::uint64_t every = heartbeat_ns();
  if (every == 0) return;
  // While a message waits for room, what follows it is not read.
  const std::uint64_t silent = is_blocked_ ? 0 : now.monotonic_ns - heard_ns_;
  const std::uint64_t patience = silence_ns();
  // The answer has time of its own: when this process was held up, what the server said is not read yet.
  if (silent > patience && has_probed_ && now.monotonic_ns - probed_ns_ >= patience) return end(StepEnd::Silent, now);
  if (silent > patience && !has_probed_) {
    has_probed_ = true;
    probed_ns_ = now.monotonic_ns;
    const FixText id = FixText::number(now.wall_ns);
    const FixField field{kTestReqId, id.view()};
    (void)send("1", std::span(&field, 1), now);
  } else if (now.monotonic_ns - sent_ns_ >= every) {
    (void)send("0", {}, now);
  }
}

// What comes.

void StepSession::filled(std::size_t count, const Now& now) {
  if (!is_open()) return;
  filled_ += count;
  take_messages(now);
}

void StepSession::take_messages(const Now& now) {
  is_blocked_ = false;
  std::size_t at = 0;
  while (true) {
    const std::span<const std::byte> rest(buffer_.get() + at, filled_ - at);
    const auto size = fix_frame(rest, kStep);
    if (!size) break;
    if (*size == 0 || *size > frame_bytes_) return end(StepEnd::Malformed, now);
    if (rest.size() < *size) break;
    const auto frame = rest.first(static_cast<std::size_t>(*size));
    if (is_logged_on() && !sink_.has_room(frame.size())) {
      is_blocked_ = true;
      break;
    }
    if (!take(frame, now)) return;
    at += frame.size();
  }
  if (at != 0) std::copy(buffer_.get() + at, buffer_.get() + filled_, buffer_.get());
  filled_ -= at;
}

bool StepSession::take(std::span<const std::byte> frame, const Now& now) {
  const std::string_view type = has_right_sum(frame) ? type_of(frame) : std::string_view();
  if (type.empty()) {
    end(StepEnd::Malformed, now);
    return false;
  }
  heard_ns_ = now.monotonic_ns;
  has_probed_ = false;
  if (state_ == State::LoggingOn) return take_before_log_on(type, now);
  if (type == "0") {
    note_other();
    return true;
  }
  if (type == "1") return answer_probe(frame, now);
  if (type == "5") {
    if (send("5", {}, now)) end(StepEnd::LoggedOut, now);
    return false;
  }
  // Log-on, requests to resend, rejects, gaps filled: of no meaning here.
  if (type == "A" || type == "2" || type == "3" || type == "4" || type == "j") return bear(now);
  return take_data(frame, now);
}

bool StepSession::take_before_log_on(std::string_view type, const Now& now) {
  if (type == "5" || type == "3") {
    end(StepEnd::Refused, now);
    return false;
  }
  if (type != "A") return bear(now);
  state_ = State::LoggedOn;
  ++counts_.log_ons;
  if (std::exchange(has_followed_, false)) ++number_;
  sink_.logged_on();
  return true;
}

bool StepSession::answer_probe(std::span<const std::byte> frame, const Now& now) {
  FixReader reader(frame);
  while (const auto field = reader.next()) {
    if (field->tag != kTestReqId) continue;
    return is_fix_value(field->value) ? send("0", std::span(&*field, 1), now) : bear(now);
  }
  return bear(now);
}

bool StepSession::take_data(std::span<const std::byte> frame, const Now& now) {
  const Data data = data_of(frame);
  if (!data.is_sound || (data.raw && data.raw->size() > limits_.data_bytes)) {
    end(StepEnd::Malformed, now);
    return false;
  }
  if (!data.raw) {
    note_other();
    return true;
  }
  std::span<const std::byte> rest = *data.raw;
  if (!text_of(rest).starts_with(kInnerBegins)) return hand_on(type_of(frame), rest, now);
  while (!rest.empty()) {
    const std::uint64_t size = fix_frame(rest, kInner).value_or(0);
    const bool is_whole = size != 0 && size <= rest.size();
    const auto inner = rest.first(is_whole ? static_cast<std::size_t>(size) : 0);
    const Data inside = is_whole && has_right_sum(inner) ? data_of(inner) : Data{};
    if (!inside.is_sound) {
      end(StepEnd::Malformed, now);
      return false;
    }
    if (!inside.raw) {
      note_other();
    } else if (!hand_on(type_of(inner), *inside.raw, now)) {
      return false;
    }
    rest = rest.subspan(inner.size());
  }
  return true;
}

bool StepSession::hand_on(std::string_view type, std::span<const std::byte> data, const Now& now) {
  if (data.empty()) return bear(now);
  has_brought_ = has_followed_ = true;
  strange_ = 0;
  ++counts_.packets;
  const auto named = std::find_if(options_.templates.begin(), options_.templates.end(),
                                  [&](const StepTemplate& one) { return one.type == type; });
  const NamedMap map(named != options_.templates.end() ? data : std::span<const std::byte>(),
                     named != options_.templates.end() ? named->id : 0);
  sink_.packet(++number_, map.bytes(), data.subspan(map.map()));
  return true;
}

void StepSession::note_other() noexcept {
  ++counts_.others;
  strange_ = 0;
}

/// A message of no use: a few in a row are borne. A session of weeks may have many: rejects of heartbeats, say.
bool StepSession::bear(const Now& now) {
  ++counts_.strange;
  if (++strange_ <= limits_.strange) return true;
  end(StepEnd::Flooded, now);
  return false;
}

}  // namespace stopbit::fix
