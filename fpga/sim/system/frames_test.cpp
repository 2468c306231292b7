#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "decoder/engine/engine.hpp"
#include "host/device/firmware/device.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/feed/framing/framing.hpp"
#include "kernel_model.hpp"
#include "model_device.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

// Ethernet frames through the kernel as it is; each slot compared with what the interpreter writes for the datagrams
// that have to pass, and with the event records of gaps between them.

namespace stopbit::sim {
namespace {

namespace frames = net::testing;
using frames::ByteVector;
using frames::operator+;

constexpr const char* kTemplates = R"(
  <templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="Quote" id="1">
    <uInt32 name="Id"/><uInt32 name="Size"><copy/></uInt32><string name="Symbol"/><int32 name="Change"><delta/></int32>
  </template></templates>)";

/// A quote; its size is the last one's if `copies`.
ByteVector quote(Random& random, bool copies) {
  ByteVector bytes = frames::bytes({copies ? 0xC0 : 0xE0, 0x81});
  const auto number = [&] {
    for (std::uint64_t i = random.below(4); i > 0; --i) bytes.push_back(static_cast<std::byte>(1 + random.below(126)));
    bytes.push_back(static_cast<std::byte>(0x81 + random.below(100)));
  };
  number();
  if (!copies) number();
  for (std::uint64_t i = random.below(12); i > 0; --i) bytes.push_back(static_cast<std::byte>('A' + random.below(26)));
  bytes.push_back(static_cast<std::byte>(0x80 + 'A'));
  bytes.push_back(static_cast<std::byte>(0x80 + random.below(60)));
  return bytes;
}

record::Slot without_place(record::Slot slot, bool is_first) {
  if (is_first) slot.words[0] &= 0xFFFF'FFFF;
  slot.words[record::kTagWord] &= ~(std::uint64_t{1} << 63);
  return slot;
}

std::string difference(std::span<const record::Slot> got, std::span<const record::Slot> expected) {
  if (got.size() != expected.size()) return fmt::format("{} slots instead of {}", got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const record::Slot x = without_place(got[i], i == 0);
    const record::Slot y = without_place(expected[i], i == 0);
    for (std::size_t word = 0; word < record::kSlotWords; ++word) {
      if (x.words[word] == y.words[word]) continue;
      return fmt::format("slot {}, word {}: {:016x} instead of {:016x}", i, word, x.words[word], y.words[word]);
    }
  }
  return {};
}

std::vector<record::Slot> gap_event(std::uint64_t arrival_ns, std::uint32_t first, std::uint32_t count) {
  record::Slot slot{};
  slot.words[0] = record::kEventIndex | 1U << 16;
  slot.words[1] = arrival_ns;
  slot.words[2] = first;
  slot.words[4] = static_cast<std::uint64_t>(record::EventKind::Gap) | 0x00FF'FFFF'FFFF'0000;
  slot.words[5] = first;
  slot.words[6] = count;
  slot.words[record::kTagWord] = 0x00FC'FCFC'FBFA'F9F8;
  return {slot};
}

/// A kernel with the quotes loaded for channel 0, which has two lines and a choice between them.
class FramesThroughKernel {
 public:
  FramesThroughKernel(ResetRule reset, bool cut_through, std::uint32_t stall)
      : program_(bench::compile_text("quotes", kTemplates).value()),
        model_(3, stall),
        device_(model_),
        kernel_(device::Kernel::open(device_).value()),
        engine_(nullptr),
        sink_(program_) {
    options_.reset = reset;
    engine_ = make_interpreter(program_, options_);
    for (const auto& words :
         {firmware::device_words(program_, options_).value(), firmware::channel_words(program_, options_, 0)}) {
      std::vector<device::LoadWord> load;
      for (const firmware::Word& word : words) load.push_back({word.address, word.data});
      const Status loaded = kernel_.load(0, load);
      EXPECT_TRUE(loaded.ok()) << loaded.message();
    }
    auto ring = device::DeviceRing::start(device_, program_, {},
                                          {.index = 0,
                                           .slot_count = 65'536,
                                           .mode = device::RingMode::Stall,
                                           .image_generation = 0,
                                           .segment_slots = 300,
                                           .timeout_cycles = 0});
    EXPECT_TRUE(ring.ok()) << ring.message();
    ring_ = std::move(ring).value();
    EXPECT_TRUE(kernel_.set_intake({.frames = true, .cut_through = cut_through}).ok());
    EXPECT_TRUE(kernel_.set_group(7, device::Group{.address = 0xE0001F01, .port = 10001, .line = 1}).ok());
    EXPECT_TRUE(kernel_.set_group(8, device::Group{.address = 0xE0001F02, .port = 10002, .line = 2}).ok());
    EXPECT_TRUE(kernel_.set_framing(0, net::parse_framing("cme").value()).ok());
    EXPECT_TRUE(kernel_.set_line_rule(0, device::LineRule{}).ok());
    EXPECT_TRUE(kernel_.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
    EXPECT_TRUE(kernel_.describe_input(0, 3, 0).ok());
    EXPECT_TRUE(kernel_.receive(true).ok());
  }

  KernelModel& model() { return model_; }
  device::Kernel& kernel() { return kernel_; }
  device::DeviceRing& ring() { return *ring_; }

  static ByteVector frame(int line, std::uint32_t sequence, const ByteVector& data) {
    const ByteVector payload = frames::be32(sequence) + frames::bytes({0}) + data;
    ByteVector bytes = frames::ethernet(frames::ipv4(frames::be16(20000) + frames::be16(10000U + line) +
                                                     frames::be16(8 + payload.size()) + frames::be16(0) + payload));
    bytes[14 + 19] = static_cast<std::byte>(line);
    return bytes;
  }

  void send(const ByteVector& bytes, std::uint64_t arrival_ns, bool bad) {
    ++frames_;
    model_.send({.bytes = bytes, .socket = 0, .arrival_ns = arrival_ns, .bad = bad});
  }

  /// The datagram of the frame that is sent next has to pass.
  void expect(int line, std::uint32_t sequence, const ByteVector& data, std::uint64_t arrival_ns) {
    if (highest_ != 0 && sequence != highest_ + 1) {
      expected_.push_back(gap_event(arrival_ns, highest_ + 1, sequence - highest_ - 1));
      engine_->invalidate(0);  // what is missing may have changed the dictionary
      ++gaps_;
    }
    highest_ = sequence;
    const ByteVector payload = frames::be32(sequence) + frames::bytes({0}) + data;
    (void)engine_->decode(payload,
                          {.arrival_ns = arrival_ns,
                           .number = frames_ + 1,
                           .sequence = sequence,
                           .data_offset = 5,
                           .channel = 0,
                           .source = static_cast<record::SourceLine>(line),
                           .time_quality = record::TimeQuality::Hardware},
                          sink_);
    for (; taken_ < sink_.records().size(); ++taken_) expected_.push_back(sink_.records()[taken_]);
  }

  /// Everything that is expected has come, and nothing else.
  void check() {
    EXPECT_TRUE(sink_.problems().empty());
    std::size_t got = 0;
    for (int quiet = 0; quiet < 200; ++quiet) {
      model_.run(50);
      for (ring::Poll poll = ring_->poll(); poll != ring::Poll::Nothing; poll = ring_->poll()) {
        quiet = 0;
        ASSERT_EQ(poll, ring::Poll::Record) << ring_->problem();
        ASSERT_LT(got, expected_.size());
        const std::string problem = difference(ring_->record(), expected_[got]);
        ASSERT_EQ(problem, "") << "record " << got << " of " << expected_.size();
        ++got;
      }
    }
    EXPECT_EQ(got, expected_.size());
    EXPECT_TRUE(kernel_.idle().value());
    EXPECT_EQ(kernel_.counters().value().gaps, gaps_);
    EXPECT_EQ(kernel_.take_errors().value(), 0U);
    EXPECT_EQ(model_.problem(), "");
  }

  [[nodiscard]] std::size_t gaps() const { return gaps_; }
  [[nodiscard]] std::size_t expected() const { return expected_.size(); }
  [[nodiscard]] const std::vector<std::vector<record::Slot>>& all_expected() const { return expected_; }

 private:
  Program program_;
  EngineOptions options_;
  KernelModel model_;
  ModelDevice device_;
  device::Kernel kernel_;
  std::unique_ptr<Engine> engine_;
  cases::RecordingSink sink_;
  std::unique_ptr<device::DeviceRing> ring_;
  std::uint64_t frames_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t taken_ = 0;
  std::size_t gaps_ = 0;
  std::vector<std::vector<record::Slot>> expected_;
};

void two_lines(ResetRule reset, bool cut_through, std::uint32_t stall) {
  FramesThroughKernel bench(reset, cut_through, stall);
  Random random(17 + stall);
  std::uint32_t sequence = 1000;
  for (int i = 0; i < 300; ++i) {
    sequence += 1 + static_cast<std::uint32_t>(random.chance(10) ? random.below(3) : 0);
    ByteVector data;
    for (std::uint64_t messages = random.below(4); messages > 0; --messages) {
      data = data + quote(random, reset != ResetRule::Packet && random.chance(50));
    }
    if (random.chance(15) && !data.empty()) {
      data[random.below(data.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    const int first = random.chance(50) ? 1 : 2;
    const ByteVector bytes = FramesThroughKernel::frame(first, sequence, data);
    const std::uint64_t arrival_ns = random.bits();
    if (!cut_through && random.chance(10)) {
      bench.send(bytes, 5, true);  // bad: the other line's copy has to do
    }
    if (random.chance(10)) bench.send(FramesThroughKernel::frame(9, sequence, data), 6, false);
    bench.expect(first, sequence, data, arrival_ns);
    bench.send(bytes, arrival_ns, false);
    if (random.chance(70)) bench.send(FramesThroughKernel::frame(3 - first, sequence, data), 7, false);
  }
  bench.check();
  EXPECT_GT(bench.gaps(), 10U);
  EXPECT_GT(bench.expected(), 200U);
}

TEST(Frames, of_two_lines_become_the_records_of_the_interpreter_and_gaps_become_events) {
  two_lines(ResetRule::Packet, false, 0);
}
TEST(Frames, of_two_lines_become_the_same_records_when_everything_stalls) {
  two_lines(ResetRule::Packet, false, 60);
}
TEST(Frames, that_are_cut_through_become_the_same_records) {
  two_lines(ResetRule::Packet, true, 30);
}
TEST(Frames, behind_a_gap_wait_for_a_reset_if_their_dictionary_outlives_a_datagram) {
  two_lines(ResetRule::Template, false, 20);
}

TEST(Frames, that_turn_out_bad_when_their_beginning_has_left_end_in_an_error) {
  FramesThroughKernel bench(ResetRule::Packet, true, 0);
  Random random(5);
  ByteVector data;
  for (int i = 0; i < 20; ++i) data = data + quote(random, false);
  bench.send(FramesThroughKernel::frame(1, 1, data), 77, true);
  bench.model().run(3000);
  std::size_t records = 0;
  std::size_t events = 0;
  while (bench.ring().poll() == ring::Poll::Record) {
    const record::Slot& slot = bench.ring().record()[0];
    EXPECT_EQ(slot.words[1], 77U);
    EXPECT_EQ(events, 0U) << "the event is the last";
    if ((slot.words[0] & 0xFFFF) != record::kEventIndex) {
      ++records;
      continue;
    }
    ++events;
    EXPECT_EQ(slot.words[4] & 0xFF, static_cast<std::uint64_t>(record::EventKind::DecodeError));
    EXPECT_EQ(slot.words[4] >> 8 & 0xFF, static_cast<std::uint64_t>(ErrorCode::X1));
  }
  EXPECT_GT(records, 5U);
  EXPECT_LT(records, 20U);
  EXPECT_EQ(events, 1U);
  EXPECT_EQ(bench.kernel().counters().value().verdicts[device::kVerdictFrameBad], 1U);
}

/// Whatever comes: the kernel is idle soon after, and decodes what comes next as if nothing had been.
TEST(Frames, of_any_bytes_leave_the_kernel_idle_soon_after_their_last_beat) {
  // The status looks at 64 calm cycles; a garbled datagram of 1,500 bytes may be one string.
  constexpr std::uint64_t kSoon = 1'000;
  for (const bool cut_through : {false, true}) {
    FramesThroughKernel bench(ResetRule::Packet, cut_through, 0);
    Random random(23);
    std::uint64_t longest = 0;
    for (int i = 0; i < 300; ++i) {
      ByteVector data;
      for (std::uint64_t messages = 1 + random.below(40); messages > 0; --messages) data = data + quote(random, false);
      ByteVector bytes = FramesThroughKernel::frame(1, static_cast<std::uint32_t>(i), data);
      for (std::uint64_t flips = random.below(6); flips > 0; --flips) {
        bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
      }
      if (random.chance(20)) bytes.resize(1 + random.below(bytes.size()));
      if (random.chance(10)) bytes.resize(20'000, static_cast<std::byte>(random.bits()));
      if (random.chance(10)) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
      }
      bench.send(bytes, 1, random.chance(20));
      while (bench.model().waiting() > 0) bench.model().run(1);
      const std::uint64_t last_beat = bench.model().cycles();
      while (!bench.kernel().idle().value() && bench.model().cycles() - last_beat < 10 * kSoon) bench.model().run(10);
      longest = std::max(longest, bench.model().cycles() - last_beat);
      while (bench.ring().poll() == ring::Poll::Record) continue;
    }
    std::printf("frames, %s: idle at most %llu cycles after a frame's last beat\n",
                cut_through ? "cut-through" : "store and forward", static_cast<unsigned long long>(longest));
    EXPECT_LT(longest, kSoon);
    EXPECT_EQ(bench.kernel().take_errors().value(), 0U);
    EXPECT_EQ(bench.model().problem(), "");
  }
}

}  // namespace
}  // namespace stopbit::sim
