#include "host/device/live_card.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "host/device/firmware/device.hpp"
#include "host/device/intake.hpp"
#include "host/device/load.hpp"
#include "microcode/base/hex.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::device {
namespace {

/// After these the content of the ring is unknown, or there is none.
constexpr std::uint32_t kFatal =
    registers::kErrorsWriteError | registers::kErrorsRingRefused | registers::kErrorsRingBroken;
/// In which the rate of the clock is measured before the first datagram: a register access more or less is 100 ppm.
constexpr auto kMeasure = std::chrono::milliseconds(20);
constexpr int kIdleLooks = 500;
constexpr auto kIdlePause = std::chrono::milliseconds(1);
constexpr int kMeasurements = 50;  // so often at most, until it has advanced

}  // namespace

Result<std::unique_ptr<LiveCard>> LiveCard::make(Device& device, const Program& program, const EngineOptions& options,
                                                 std::span<const feed::Channel> channels, const LiveOptions& live) {
  Result<Kernel> kernel = Kernel::open(device);
  if (!kernel) return Failure{kernel.message()};
  std::unique_ptr<LiveCard> card(new LiveCard(std::move(kernel).value(), live));
  if (const Status done = card->set_up(device, program, options, channels); !done) return done.failure();
  return card;
}

Status LiveCard::set_up(Device& device, const Program& program, const EngineOptions& options,
                        std::span<const feed::Channel> channels) {
  const Result<std::vector<firmware::Word>> words = firmware::device_words(program, options);
  if (!words) return Failure{words.message()};
  Status done = kernel_.receive(false);
  if (done) done = wait_until_idle();
  if (done) device.free_kept();
  if (done) done = load_words(kernel_, words.value());
  if (done) done = load_words(kernel_, firmware::channel_words(program, options, kEngineBank));
  // What finds no room is dropped and counted: a network does not wait.
  if (done) done = kernel_.set_intake({.frames = true, .fcs = live_.fcs, .drop_when_full = true});
  if (done) done = set_channels(kernel_, channels);
  // The lines of frames are those of their groups.
  if (done) done = kernel_.describe_input(0, static_cast<std::uint8_t>(record::TimeQuality::Hardware), 0);
  if (done) done = set_clock();
  if (!done) return done;
  const std::uint64_t least = ring::kMaxRecordShare * std::bit_ceil(std::uint64_t{program.max_record_slots});
  auto ring = DeviceRing::start(device, program, image::write(program),
                                {.index = 0,
                                 .slot_count = std::bit_ceil(std::max(live_.ring_slots, least)),
                                 .mode = RingMode::Stall,
                                 .image_generation = options.image_generation});
  if (!ring) return Failure{ring.message()};
  ring_ = std::move(ring).value();
  if (live_.station) station_.emplace(device, memberships_of(channels), *live_.station);
  templates_ = program.templates.size();
  return Done{};
}

/// What an earlier process, or this one before the card failed, has left in it.
Status LiveCard::wait_until_idle() {
  for (int look = 0; look < kIdleLooks; ++look) {
    const Result<bool> idle = kernel_.idle();
    if (!idle) return Failure{idle.message()};
    if (idle.value()) return Done{};
    std::this_thread::sleep_for(kIdlePause);
  }
  return Failure{"it does not come to rest"};
}

Status LiveCard::set_clock() {
  if (live_.mac_clock) return kernel_.set_clock({.side_band = true});
  const Status begun = clock_.step(live_.wall());
  if (!begun) return begun;
  const Result<std::uint64_t> before = kernel_.clock();
  for (int i = 0; i < kMeasurements; ++i) {
    std::this_thread::sleep_for(kMeasure);
    const Result<std::uint64_t> now = kernel_.clock();
    if (!before || !now) return Failure{now ? before.message() : now.message()};
    if (now.value() != before.value()) return clock_.step(live_.wall());
  }
  return Failure{"its clock does not move"};
}

LiveCard::~LiveCard() {
  end();
}

Status LiveCard::begin() {
  const Result<Counters> counters = kernel_.counters();
  if (!counters) return Failure{counters.message()};
  before_ = last_ = counters.value();
  if (station_) {
    if (const Status done = station_->begin(); !done) return done;
  }
  // What went wrong before is not ours.
  const Result<std::uint32_t> errors = kernel_.take_errors();
  if (!errors) return Failure{errors.message()};
  return kernel_.receive(true);
}

void LiveCard::end() noexcept {
  (void)kernel_.receive(false);  // the ring ends by itself
}

std::string LiveCard::problem() const {
  return "its ring: " + (ring_->problem().empty() ? "the card has overtaken its reader" : ring_->problem());
}

Result<bool> LiveCard::look(std::uint64_t now_ns) {
  const Status done = do_step(step_, now_ns);
  step_ = done ? (step_ + 1) % kLookSteps : 0;
  if (!done) return done.failure();
  return step_ == 0;
}

Status LiveCard::do_step(std::size_t step, std::uint64_t now_ns) {
  switch (step) {
    case 0: return kernel_.check();  // a card that has left the bus answers every read with ones
    case 1: return look_at_errors();
    case 2: return correct_clock(now_ns);
    case kLookSteps - 1: return end_look(now_ns);
    default: return kernel_.read_counter(step - 3, next_);
  }
}

Status LiveCard::look_at_errors() {
  const Result<std::uint32_t> errors = kernel_.take_errors();
  if (!errors) return Failure{errors.message()};
  errors_ |= errors.value();
  if ((errors.value() & kFatal) != 0) return Failure{Kernel::describe_errors(errors.value())};
  return Done{};
}

Status LiveCard::correct_clock(std::uint64_t now_ns) {
  if (live_.mac_clock || now_ns < next_clock_ns_) return Done{};
  next_clock_ns_ = now_ns + live_.clock_every_ns;
  return clock_.step(live_.wall());
}

Status LiveCard::end_look(std::uint64_t now_ns) {
  const Result<bool> idle = kernel_.idle();
  if (!idle) return Failure{idle.message()};
  if (!can_follow(next_, last_)) {
    if (const Status alive = kernel_.check(); !alive) return alive;
    return Failure{"its counters have gone back, or leapt: something has reset it, or it is defective"};
  }
  const bool has_moved =
      idle.value() || next_.instructions != last_.instructions || next_.datagrams_decoded != last_.datagrams_decoded;
  last_ = next_;
  counters_ = next_ - before_;
  if (has_moved || moved_ns_ == 0) moved_ns_ = now_ns;
  if (now_ns - moved_ns_ <= live_.patience_ns) return Done{};
  return Failure{"it has executed nothing for " + std::to_string((now_ns - moved_ns_) / 1'000'000) +
                 " ms, with datagrams waiting"};
}

}  // namespace stopbit::device
