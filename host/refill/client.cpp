#include "host/refill/client.hpp"

#include <algorithm>

namespace stopbit::refill {
namespace {

constexpr std::uint32_t kNoticesARequest = 2;  // accepted, complete
constexpr std::uint32_t kMostDoublings = 6;
constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kDayS = 86'400;

}  // namespace

Client::Client(const Dialect& dialect, const Limits& limits, ClientSink& sink)
    : dialect_(dialect),
      limits_(limits),
      sink_(sink),
      wanted_(std::max<std::size_t>(limits.ranges, 1)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(dialect.most_bytes(limits.answer_bytes))),
      buffer_bytes_(dialect.most_bytes(limits.answer_bytes)),
      out_(std::make_unique_for_overwrite<char[]>(kSendBytes)) {}

// What is wanted.

void Client::want(Range range, const Now& now) {
  if (range.last < range.first) return;
  begin_day(now);
  if (connections_left() == 0 && state_ == State::Idle) return give_up(range, GivenUp::Quota);
  if (wanted_.empty()) not_before_ns_ = std::max(not_before_ns_, now.monotonic_ns + limits_.wait_ns);
  if (!wanted_.add(range)) give_up(range, GivenUp::Room);
}

void Client::forget() {
  wanted_.clear();
  fruitless_ = 0;
  if (state_ != State::Idle) sink_.close();
  state_ = State::Idle;
}

void Client::set_used(std::uint32_t connections, const Now& now) {
  begin_day(now);
  used_ = std::max(used_, connections);
}

std::int64_t Client::day_of(std::uint64_t wall_ns, std::int64_t day_begins_s) noexcept {
  const auto s = static_cast<std::int64_t>(wall_ns / kNsPerS) - day_begins_s;
  return s / kDayS - (s % kDayS < 0 ? 1 : 0);
}

bool Client::begins_day(std::int64_t& day, std::int64_t today) noexcept {
  const bool is_next = day < today;
  // Midnight may come twice. But a clock that was days ahead must not keep the next days from beginning.
  if (is_next || day > today + 1) day = today;
  return is_next;
}

void Client::begin_day(const Now& now) noexcept {
  if (begins_day(day_, day_of(now.wall_ns, limits_.day_begins_s))) used_ = 0;
}

void Client::give_up(Range range, GivenUp why) {
  counts_.given_up += range.last - range.first + 1;
  sink_.given_up(range, why);
}

void Client::give_up_all(GivenUp why) {
  for (const Range& range : wanted_.all()) give_up(range, why);
  wanted_.clear();
}

// Connections.

void Client::tick(const Now& now) {
  begin_day(now);
  if (state_ != State::Idle) {
    if (now.monotonic_ns - step_ns_ > limits_.patience_ns) return end(now, &counts_.stalled);
    const std::uint64_t every = dialect_.heartbeat_ns();
    if (state_ == State::Asked && every != 0 && now.monotonic_ns - sent_ns_ >= every) beat({}, now);
    return;
  }
  if (wanted_.empty()) return;
  if (connections_left() == 0) return give_up_all(GivenUp::Quota);
  if (now.monotonic_ns < not_before_ns_) return;
  state_ = State::Connecting;
  ++used_;
  ++counts_.connections;
  step_ns_ = now.monotonic_ns;
  requests_ = notices_ = strange_ = 0;
  serial_ = 0;
  filled_ = 0;
  has_brought_ = false;
  asked_ = next_request();
  sink_.connect();
}

void Client::connected(const Now& now) {
  if (state_ != State::Connecting) return;
  state_ = State::LoggingOn;
  step_ns_ = now.monotonic_ns;
  send(dialect_.log_on(room(), next_sending(now)));
  request_ = serial_;
}

Sending Client::next_sending(const Now& now) noexcept {
  sent_ns_ = now.monotonic_ns;
  return {.serial = ++serial_, .wall_ns = now.wall_ns};
}

void Client::send(std::size_t size) {
  if (size != 0) sink_.send({out_.get(), size});
}

void Client::beat(std::string_view probe, const Now& now) {
  send(dialect_.heartbeat(room(), next_sending(now), probe));
}

void Client::log_out(const Now& now) {
  send(dialect_.log_out(room(), next_sending(now)));
}

Range Client::next_request() const noexcept {
  Range range = wanted_.front();
  const std::uint64_t most = std::max<std::uint64_t>(limits_.messages_a_request, 1);
  if (range.last - range.first >= most) range.last = range.first + most - 1;
  return range;
}

/// The next request of the connection, or its end.
void Client::ask(const Now& now) {
  if (wanted_.empty() || requests_ == std::max(limits_.requests_a_connection, 1U)) {
    log_out(now);
    return end(now, nullptr);
  }
  asked_ = next_request();
  next_ = asked_.first;
  state_ = State::Asked;
  ++requests_;
  ++counts_.requests;
  send(dialect_.request(room(), next_sending(now), asked_));
  request_ = serial_;
}

void Client::end(const Now& now, std::uint64_t* why, bool is_open) {
  if (state_ == State::Idle) return;
  state_ = State::Idle;
  if (why != nullptr) ++*why;
  if (is_open) sink_.close();
  fruitless_ = why == nullptr || has_brought_ ? 0 : fruitless_ + 1;
  not_before_ns_ = now.monotonic_ns + (limits_.retry_ns << std::min(fruitless_, kMostDoublings));
  if (fruitless_ < std::max(limits_.attempts, 1U)) return;
  fruitless_ = 0;
  if (wanted_.empty() || wanted_.front().first > asked_.last) return;
  const Range front = wanted_.front();
  const Range lost{front.first, std::min(front.last, asked_.last)};
  (void)wanted_.remove(lost);  // from the beginning of a range, which needs no room
  give_up(lost, GivenUp::Attempts);
}

// Answers.

void Client::bytes(std::span<const std::byte> bytes, const Now& now) {
  while (!bytes.empty()) {
    if (state_ != State::LoggingOn && state_ != State::Asked) return;
    const std::size_t taken = std::min(bytes.size(), buffer_bytes_ - filled_);
    std::copy_n(bytes.begin(), taken, buffer_.get() + filled_);
    filled_ += taken;
    bytes = bytes.subspan(taken);
    std::size_t at = 0;
    while (true) {
      const std::span<const std::byte> rest(buffer_.get() + at, filled_ - at);
      const auto size = dialect_.frame(rest);
      if (!size) break;
      if (*size == 0 || *size > buffer_bytes_) return end(now, &counts_.malformed);
      if (rest.size() < *size) break;
      if (!take_frame(rest.first(static_cast<std::size_t>(*size)), now)) return;
      at += static_cast<std::size_t>(*size);
    }
    if (at != 0) std::copy(buffer_.get() + at, buffer_.get() + filled_, buffer_.get());
    filled_ -= at;
    // A header longer than any dialect has.
    if (filled_ == buffer_bytes_) return end(now, &counts_.malformed);
  }
}

bool Client::take_frame(std::span<const std::byte> frame, const Now& now) {
  Place place;
  while (const auto reply = dialect_.read(frame, place)) {
    if (!take(*reply, now)) return false;
  }
  return true;
}

bool Client::take(const Reply& reply, const Now& now) {
  switch (reply.kind) {
    case Reply::Kind::LoggedOn: return take_log_on(now);
    case Reply::Kind::LoggedOut: end(now, &counts_.broken); return false;
    case Reply::Kind::Probe: beat({reinterpret_cast<const char*>(reply.bytes.data()), reply.bytes.size()}, now); break;
    case Reply::Kind::Accepted: return ++notices_ <= kNoticesARequest * requests_ || bear(now);
    case Reply::Kind::Complete: return take_end(reply.request, false, now);
    case Reply::Kind::Refused: return take_end(reply.request, true, now);
    case Reply::Kind::Other: break;
    case Reply::Kind::Unreadable: ++counts_.unreadable; break;
    case Reply::Kind::Fast:
    case Reply::Kind::Message: return take_fast(reply, now);
  }
  return bear(now);
}

bool Client::take_log_on(const Now& now) {
  if (state_ != State::LoggingOn) return bear(now);
  step_ns_ = now.monotonic_ns;
  ask(now);
  return state_ != State::Idle;
}

/// The service says that it refuses, or that nothing more of an answer comes. Of an answer whose last message has come
/// already that is nothing new.
bool Client::take_end(std::uint64_t request, bool is_refusal, const Now& now) {
  const bool is_present = request == 0 || request == request_;
  if (!is_present || (state_ == State::LoggingOn && !is_refusal)) {
    return (!is_refusal && ++notices_ <= kNoticesARequest * requests_) || bear(now);
  }
  log_out(now);
  end(now, &counts_.refused);
  return false;
}

bool Client::take_fast(const Reply& reply, const Now& now) {
  const bool fits = !reply.bytes.empty() && reply.bytes.size() <= limits_.answer_bytes;
  const Answer read = fits ? sink_.read(reply.bytes) : Answer{};
  const bool is_message = read.kind == Answer::Kind::Message;
  if (reply.kind == Reply::Kind::Message && !is_message && read.kind != Answer::Kind::Unreadable) return bear(now);
  switch (read.kind) {
    case Answer::Kind::LoggedOn: return take_log_on(now);
    case Answer::Kind::LoggedOut: end(now, &counts_.broken); return false;
    case Answer::Kind::Refused: return take_end(0, true, now);
    case Answer::Kind::Other: return bear(now);
    case Answer::Kind::Message:
      // What frame and message say of the number is the same, or it is damaged.
      if (!reply.number || *reply.number == read.number) return take_message(read.number, reply.bytes, now);
      break;
    case Answer::Kind::Unreadable: break;
  }
  ++counts_.unreadable;
  return bear(now);
}

bool Client::take_message(std::uint64_t number, std::span<const std::byte> answer, const Now& now) {
  const bool is_asked_for = state_ == State::Asked && number >= next_ && number <= asked_.last;
  if (!is_asked_for) {
    ++counts_.foreign;
    return bear(now);
  }
  // It may have come by another way since the request.
  if (wanted_.contains(number)) {
    // No room: numbers before it are missing, too many times, or its reader is busy. It is asked for again.
    if (!wanted_.can_remove(number) || !sink_.message(number, answer)) {
      ++counts_.foreign;
      return bear(now);
    }
    (void)wanted_.remove({number, number});
    has_brought_ = true;
    ++counts_.messages;
  }
  next_ = number + 1;
  step_ns_ = now.monotonic_ns;
  if (number != asked_.last) return true;
  ask(now);
  return state_ != State::Idle;
}

/// An answer of no use: a few are borne.
bool Client::bear(const Now& now) {
  if (++strange_ <= limits_.strange) return true;
  end(now, &counts_.flooded);
  return false;
}

}  // namespace stopbit::refill
