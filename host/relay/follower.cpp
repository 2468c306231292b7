#include "host/relay/follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stopbit::relay {
Follower::Follower(Stream& stream, StreamSink& sink, FollowerOptions options,
                   std::function<void(const std::string&)> tell)
    : stream_(stream), sink_(sink), options_(options), tell_(std::move(tell)) {}

Follower::State Follower::step(std::uint64_t now_ns, std::uint64_t wait_ms) {
  if (has_failed_) return State::Failed;
  if (!has_session_) return backoff_.is_over(now_ns) ? begin(now_ns) : State::Idle;
  if (kept_) {
    Stream::Message message = kept_->message;
    const std::vector<std::byte> slots = kept_->slots;
    message.slots = slots;
    return take(message, now_ns);
  }
  const auto message = stream_.next(wait_ms);
  if (!message) return lose_session(message.failure(), now_ns);
  if (!message.value()) return is_done() ? State::Done : State::Idle;
  return take(*message.value(), now_ns);
}

Follower::State Follower::begin(std::uint64_t now_ns) {
  if (const auto begun = stream_.begin(options_.start); !begun) {
    if (counts_.sessions == 0 && !options_.is_patient) return fail(begun.failure());
    return lose_session(begun.failure(), now_ns);
  }
  if (!std::exchange(told_, "").empty()) tell_("reading");
  ++counts_.sessions;
  has_session_ = true;
  return State::Busy;
}

Follower::State Follower::take(const Stream::Message& message, std::uint64_t now_ns) {
  if (!message.head) {
    ++counts_.damaged;
    tell_(fmt::format("message {} of the stream was left out: {}", message.sequence, message.head.message()));
    return State::Busy;
  }
  const Head& head = message.head.value();
  if (unpacker_.is_of_next_ring(head)) {
    if (const auto begun = begin_ring(head); !begun) {
      // The next session begins after this message.
      if (!kept_) kept_ = Kept{{message.slots.begin(), message.slots.end()}, message};
      return lose_session(begun.failure(), now_ns);
    }
  }
  kept_.reset();
  backoff_.succeeded();
  count(head, unpacker_.take(head, message.slots));
  has_ended_ = head.kind == Kind::End;
  if (has_ended_) sink_.end_ring(head.ending);
  return is_done() ? State::Done : State::Busy;
}

Result<Done, StoreFailure> Follower::begin_ring(const Head& head) {
  const auto image = stream_.layout(head.layout);
  if (!image) return image.failure();
  const Result<StreamSink::Place> place = sink_.begin_ring(head, image.value());
  if (!place) return StoreFailure{StoreFailure::Kind::Refused, place.message()};
  counts_.lost += unpacker_.begin_ring(head, *place.value().sink, place.value().max_record_slots);
  if (head.kind == Kind::Begin && head.records != 0) {
    tell_(fmt::format("the stream has this ring from record {} on", head.records + 1));
  }
  return Done{};
}

void Follower::count(const Head& head, const Taken& taken) {
  counts_.records += taken.records;
  counts_.lost += taken.lost;
  if (taken.lost_unknown) {
    ++counts_.unknown_losses;
    tell_(fmt::format("the ring was replaced while no relay ran: records after number {} are lost, if it had any",
                      head.records));
  }
  if (taken.lost != 0) {
    tell_(fmt::format("{} records lost {}", taken.lost,
                      head.kind == Kind::Lost ? "before they reached the stream" : "by the stream"));
  }
  if (taken.is_repeated) {
    ++counts_.repeated;
    tell_(fmt::format("the stream has records {} to {} again; left out", head.records + 1, head.records_after()));
  }
  if (taken.is_damaged) {
    ++counts_.damaged;
    tell_("slots that are no records were left out");
  }
}

Follower::State Follower::lose_session(const StoreFailure& why, std::uint64_t now_ns) {
  has_session_ = false;
  if (why.kind == StoreFailure::Kind::Refused) return fail(why);
  backoff_.failed(now_ns);
  if (why.message != told_) tell_(why.message + "; trying again");
  told_ = why.message;
  return State::Idle;
}

Follower::State Follower::fail(StoreFailure why) {
  problem_ = std::move(why);
  has_failed_ = true;
  return State::Failed;
}

}  // namespace stopbit::relay
