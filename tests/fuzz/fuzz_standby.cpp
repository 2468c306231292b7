// Records of two appliances, as the bytes steer them, or of any content: what comes out has the size of a record, is no
// longer than what came, and what waits stays within its room, and until both have ended.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/standby/merge.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/standby/records.hpp"

namespace {

using namespace stopbit;
using namespace stopbit::standby;

constexpr std::size_t kSlots = 256;
constexpr std::size_t kMost = 8;  ///< Slots of a record.

class Counted final : public Output {
 public:
  void record(std::span<const record::Slot> record, Side /*from*/) noexcept override {
    fuzz::require(!record.empty() && record.size() <= kMost, "a record has 1 to 8 slots");
    ++records;
  }
  std::uint64_t records = 0;
};

class Steps {
 public:
  explicit Steps(std::span<const std::uint8_t> bytes) : random_(bytes), left_(bytes.size()) {}

  void play() {
    for (std::size_t i = 0; i < left_ / 4; ++i) step();
    for (const Side side : {Side::First, Side::Second}) merge_.ended(side, now_ns_);
    merge_.tick(now_ns_ += 10'000'000'000);
    fuzz::require(merge_.waiting() == 0, "nothing waits when both have ended");
    const MergeCounts& counts = merge_.counts();
    fuzz::require(counts.delivered[0] + counts.delivered[1] == counted_.records, "what came out is counted");
  }

 private:
  void step() {
    const Side side = random_.below(2) == 0 ? Side::First : Side::Second;
    switch (random_.below(16)) {
      case 0: merge_.began(side); break;
      case 1: merge_.ended(side, now_ns_); break;
      case 2: merge_.hole(side); break;
      case 3: merge_.tick(now_ns_ += random_.below(500) * 1'000'000); break;
      default: take(side);
    }
    fuzz::require(merge_.waiting() <= kSlots, "no more waits than there is room for");
  }
  void take(Side side) {
    Head head{.channel = static_cast<std::uint16_t>(random_.below(3)),
              .epoch = static_cast<std::uint16_t>(random_.below(3)),
              .number = near_[static_cast<std::size_t>(side)] += static_cast<std::uint32_t>(random_.below(4)),
              .message = static_cast<std::uint16_t>(random_.below(3)),
              .is_last = random_.below(2) == 0,
              .is_recovered = random_.below(16) == 0,
              .arrival_ns = now_ns_,
              .source = 1};
    if (random_.below(32) == 0) head.number = static_cast<std::uint32_t>(random_.bits());
    Record made;
    switch (random_.below(6)) {
      case 0: made = event(head, record::EventKind::Gap, head.number, 1 + random_.below(5)); break;
      case 1:
        made = event(head, static_cast<record::EventKind>(random_.below(12)), random_.bits(), random_.bits());
        break;
      case 2:
        made = message(head, head.number, 1 + random_.below(kMost + 1));
        for (unsigned i = 0; i < 3; ++i) made[0].words[random_.below(record::kSlotWords)] = random_.bits();
        break;
      default: made = message(head, head.number, 1 + random_.below(3));
    }
    merge_.take(side, made, now_ns_);
  }

  cases::Random random_;
  std::size_t left_;
  Counted counted_;
  Merge merge_{{.slots = kSlots, .max_record_slots = kMost}, counted_};
  std::uint64_t now_ns_ = 1'700'000'000'000'000'000;
  std::uint32_t near_[2] = {1, 1};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 4'096;
  if (size <= kMostBytes) Steps({data, size}).play();
  return 0;
}
