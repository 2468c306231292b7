#include "host/appliance/refill/replay_feed.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::appliance {
namespace {

/// A connection's bytes may begin with the end of an answer.
constexpr std::size_t kLeastAnswerBytes = 2;

}  // namespace

ReplayFeed::ReplayFeed(std::unique_ptr<refill::Dialect> dialect, const refill::Limits& limits, std::uint32_t channel,
                       ReplayLink& link, std::shared_ptr<const Program> program, const EngineLimits& engine_limits,
                       ReplayWire& wire)
    : dialect_(std::move(dialect)),
      channel_(channel),
      link_(link),
      wire_(wire),
      engine_limits_(engine_limits),
      answer_bytes_(limits.answer_bytes),
      reader_(std::make_unique<AnswerReader>(std::move(program), engine_limits)),
      client_(*dialect_, limits, *this) {}

void ReplayFeed::set_program(std::shared_ptr<const Program> program) {
  const std::lock_guard lock(mutex_);
  next_program_ = std::move(program);
}

void ReplayFeed::take(const ReplayWant& want, const Now& now) {
  // Of another run: nothing that is still wanted has these numbers.
  if (want.epoch != epoch_) client_.forget();
  epoch_ = want.epoch;
  switch (want.kind) {
    case ReplayWant::Kind::Missing: client_.want({want.first, want.last}, now); break;
    case ReplayWant::Kind::Healed: client_.have_all(); break;
    case ReplayWant::Kind::Forget: client_.forget(); break;
  }
}

bool ReplayFeed::has_room(std::size_t bytes) const noexcept {
  const std::size_t begun = dialect_->most_bytes(answer_bytes_);
  const std::size_t answers = bytes / kLeastAnswerBytes + dialect_->most_messages(begun);
  // Many short ones, and those of the frame that has begun, which may be as long as one can be.
  const std::size_t most = answers * AnswerQueue::most_for(1) + AnswerQueue::most_for(begun + bytes);
  return link_.answers.room() >= std::min(most, link_.answers.capacity());
}

void ReplayFeed::bytes(std::span<const std::byte> bytes, const Now& now) {
  arrival_ns_ = now.wall_ns;
  client_.bytes(bytes, now);
}

void ReplayFeed::connect() {
  std::shared_ptr<const Program> program;
  {
    const std::lock_guard lock(mutex_);
    program = std::exchange(next_program_, nullptr);
  }
  if (program != nullptr) reader_ = std::make_unique<AnswerReader>(std::move(program), engine_limits_);
  wire_.connect();
}

void ReplayFeed::send(std::span<const char> bytes) {
  wire_.send(bytes);
}

bool ReplayFeed::message(std::uint64_t number, std::span<const std::byte> answer) {
  const ReplayAnswer out{
      .channel = channel_, .epoch = epoch_, .number = number, .arrival_ns = arrival_ns_, .message = answer};
  return link_.answers.push(out);
}

void ReplayFeed::given_up(refill::Range range, refill::GivenUp why) {
  const std::uint64_t numbers = range.last - range.first + 1;
  switch (why) {
    case refill::GivenUp::Quota: counts_.no_quota += numbers; break;
    case refill::GivenUp::Attempts: counts_.not_brought += numbers; break;
    case refill::GivenUp::Room: counts_.no_room += numbers; break;
  }
}

}  // namespace stopbit::appliance
