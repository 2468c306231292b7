#include "host/device/far_ring.hpp"

#include <array>
#include <bit>
#include <string>
#include <utility>

#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"

namespace stopbit::device {
namespace {

namespace far = registers::remote;

constexpr std::uint32_t kFarBase = far::base(0);
constexpr int kFarLooks = 20'000;  // of at least a microsecond on a card
constexpr std::uint32_t kFarMinSlots = 33;
constexpr std::uint32_t kFarMaxSlots = 65'536;
constexpr std::uint32_t kFarMinBytes = 104;
constexpr std::uint64_t kFarMaxChannelBytes = std::uint64_t{1} << 32;
constexpr std::uint32_t kFarMaxSlotBytes = 1U << 20;
constexpr std::uint8_t kFarMaxEvent = 63;

Status is_subscriber(std::uint32_t index) {
  if (index < FarRing::kSubscribers) return Done{};
  return Failure{"a kernel has subscribers 0 to " + std::to_string(FarRing::kSubscribers - 1) + ", not " +
                 std::to_string(index)};
}

Status is_sound(const FarSubscriber& subscriber) {
  if (subscriber.slots < kFarMinSlots || subscriber.slots > kFarMaxSlots) {
    return Failure{"a subscriber's channel must have " + std::to_string(kFarMinSlots) + " to " +
                   std::to_string(kFarMaxSlots) + " slots, not " + std::to_string(subscriber.slots)};
  }
  if (subscriber.slot_bytes < kFarMinBytes || subscriber.slot_bytes > kFarMaxSlotBytes ||
      subscriber.slot_bytes % 8 != 0 ||
      std::uint64_t{subscriber.slots} * subscriber.slot_bytes >= kFarMaxChannelBytes) {
    return Failure{"a slot of a subscriber's channel must have " + std::to_string(kFarMinBytes) + " to " +
                   std::to_string(kFarMaxSlotBytes) + " bytes, a multiple of 8, and all of them less than 4 GiB; not " +
                   std::to_string(subscriber.slot_bytes) + " bytes"};
  }
  if (subscriber.event > kFarMaxEvent) {
    return Failure{"a subscriber's event must be 0 to 63, not " + std::to_string(subscriber.event)};
  }
  return Done{};
}

}  // namespace

/// A command of the kernel, and the wait until the bit of its state is clear.
Status FarRing::command(std::uint32_t offset, std::uint32_t value, std::uint32_t until_clear, const char* what) {
  // An earlier one may have been given up while the network took nothing.
  for (const bool is_asked : {false, true}) {
    for (int look = 0;; ++look) {
      const Result<std::uint32_t> state = device_->read(kFarBase + far::kState);
      if (!state) return Failure{state.message()};
      if ((state.value() & until_clear) == 0) break;
      if (look == kFarLooks) return Failure{"the kernel does not " + std::string(what) + ": its network takes nothing"};
    }
    if (is_asked) break;
    const Status asked = device_->write(kFarBase + offset, value);
    if (!asked) return asked;
  }
  return Done{};
}

Result<FarRing> FarRing::start(Device& device, const FarRingOptions& options) {
  const Result<std::uint32_t> subscribers = device.read(kFarBase + far::kSubscribers);
  if (!subscribers) return Failure{subscribers.message()};
  if (subscribers.value() == 0) return Failure{"the kernel sends no records to other nodes"};
  constexpr std::uint64_t kMin = 16;
  constexpr std::uint64_t kMax = std::uint64_t{1} << 28;
  if (!std::has_single_bit(options.slot_count) || options.slot_count < kMin || options.slot_count > kMax ||
      options.max_record_slots == 0 || options.max_record_slots > 0xFFFF ||
      options.max_record_slots > options.slot_count / 8) {
    return Failure{"a ring of " + std::to_string(options.slot_count) + " slots cannot have records of " +
                   std::to_string(options.max_record_slots) +
                   ": a power of two from 16 to 2^28, and at most an eighth of it"};
  }
  FarRing ring(device);
  const Result<FarState> before = ring.state();
  if (!before) return Failure{before.message()};
  if (before.value().open != 0) return Failure{"the ring cannot begin while a subscriber is open"};
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 4> all{{
      {far::kNode, options.node},
      {far::kGeneration, options.image_generation},
      {far::kSlotsLog2, static_cast<std::uint32_t>(std::countr_zero(options.slot_count))},
      {far::kMaxRecordSlots, options.max_record_slots},
  }};
  for (const auto& [offset, value] : all) {
    if (const Status done = device.write(kFarBase + offset, value); !done) return done.failure();
  }
  const Status begun = ring.command(far::kCommand, far::kCommandStart, far::kStateStarting, "begin a ring");
  if (!begun) return begun.failure();
  return ring;
}

Result<FarPosition> FarRing::open(std::uint32_t index, const FarSubscriber& subscriber) {
  Status done = is_subscriber(index);
  if (done) done = is_sound(subscriber);
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 6> all{{
      {far::kPeer,
       std::uint32_t{subscriber.node} << far::kPeerNodeShift | std::uint32_t{subscriber.vpid} << far::kPeerVpidShift},
      {far::kLanding, std::uint32_t{subscriber.window} << far::kLandingWindowShift | std::uint32_t{subscriber.event}
                                                                                         << far::kLandingEventShift},
      {far::kChannelSlots, subscriber.slots},
      {far::kSlotBytes, subscriber.slot_bytes},
      {far::kOrigin, std::uint32_t{subscriber.port} << far::kOriginPortShift | std::uint32_t{subscriber.domain}
                                                                                   << far::kOriginDomainShift},
      {far::kLife, subscriber.life},
  }};
  for (const auto& [offset, value] : all) {
    if (done) done = device_->write(kFarBase + offset, value);
  }
  if (done) done = write64(*device_, kFarBase + far::kCapability, subscriber.capability);
  if (done) {
    done = command(far::kSubscribe, index << far::kSubscribeIndexShift | far::kSubscribeOpen, far::kStateSubscribing,
                   "open a subscriber");
  }
  if (!done) return done.failure();
  const Result<FarState> now = state();
  if (!now) return Failure{now.message()};
  if ((now.value().open >> index & 1U) == 0) return Failure{"the kernel refuses the subscriber: no ring has begun"};
  const Result<std::uint64_t> number = read64(*device_, kFarBase + far::kBegunNumber);
  if (!number) return Failure{number.message()};
  const Result<FarAccounts> fresh = accounts(index);
  if (!fresh) return Failure{fresh.message()};
  return FarPosition{number.value(), fresh.value().begun};
}

Status FarRing::close(std::uint32_t index) {
  const Status good = is_subscriber(index);
  if (!good) return good;
  return command(far::kSubscribe, index << far::kSubscribeIndexShift, far::kStateSubscribing, "close a subscriber");
}

Result<bool> FarRing::tell_position(std::uint32_t index) {
  return tell(index, 0, "send a position");
}

Result<bool> FarRing::tell_end(std::uint32_t index, std::uint8_t how) {
  return tell(index, far::kTellEnds | std::uint32_t{how} << far::kTellHowShift, "send the end of a ring");
}

Result<bool> FarRing::tell(std::uint32_t index, std::uint32_t what, const char* in_words) {
  Status done = is_subscriber(index);
  if (done) done = command(far::kTell, index << far::kTellIndexShift | what, far::kStateTelling, in_words);
  if (!done) return done.failure();
  const Result<std::uint32_t> state = device_->read(kFarBase + far::kState);
  if (!state) return Failure{state.message()};
  return (state.value() & far::kStateTold) != 0;
}

Result<FarAccounts> FarRing::accounts(std::uint32_t index) {
  Status done = is_subscriber(index);
  if (done) done = device_->write(kFarBase + far::kStatusIndex, index);
  if (!done) return done.failure();
  FarAccounts accounts;
  const std::array<std::pair<std::uint32_t, std::uint64_t*>, 5> all{{
      {far::kBegun, &accounts.begun},
      {far::kMessages, &accounts.messages},
      {far::kRecords, &accounts.records},
      {far::kSlots, &accounts.slots},
      {far::kLost, &accounts.lost},
  }};
  for (const auto& [offset, account] : all) {
    const Result<std::uint64_t> value = read64(*device_, kFarBase + offset);
    if (!value) return Failure{value.message()};
    *account = value.value();
  }
  return accounts;
}

Result<FarPosition> FarRing::position() {
  // Both of one moment: records that come in between change their number.
  for (int look = 0; look < kFarLooks; ++look) {
    const Result<std::uint64_t> before = read64(*device_, kFarBase + far::kPositionRecords);
    if (!before) return Failure{before.message()};
    const Result<std::uint64_t> number = read64(*device_, kFarBase + far::kPositionNumber);
    if (!number) return Failure{number.message()};
    const Result<std::uint64_t> after = read64(*device_, kFarBase + far::kPositionRecords);
    if (!after) return Failure{after.message()};
    if (before.value() == after.value()) return FarPosition{number.value(), after.value()};
  }
  return Failure{"the kernel's ring has no position that stays for three reads"};
}

Result<FarCounters> FarRing::counters() {
  FarCounters counters;
  const Result<std::uint64_t> overrun = read64(*device_, kFarBase + far::kOverrun);
  if (!overrun) return Failure{overrun.message()};
  counters.overrun = overrun.value();
  const std::array<std::pair<std::uint32_t, std::uint32_t*>, 3> all{
      {{far::kMalformed, &counters.malformed}, {far::kSurplus, &counters.surplus}, {far::kStray, &counters.stray}}};
  for (const auto& [offset, counter] : all) {
    const Result<std::uint32_t> value = device_->read(kFarBase + offset);
    if (!value) return Failure{value.message()};
    *counter = value.value();
  }
  return counters;
}

Result<FarState> FarRing::state() {
  const Result<std::uint32_t> state = device_->read(kFarBase + far::kState);
  if (!state) return Failure{state.message()};
  return FarState{.waiting = (state.value() & far::kStateWaiting) != 0,
                  .open = static_cast<std::uint8_t>(state.value() >> far::kStateOpenShift),
                  .losing = static_cast<std::uint8_t>(state.value() >> far::kStateLosingShift)};
}

}  // namespace stopbit::device
