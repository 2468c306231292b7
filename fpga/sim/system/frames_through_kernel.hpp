#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
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
#include "host/feed/packet/packet.hpp"
#include "kernel_model.hpp"
#include "model_device.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

/// Ethernet frames into the kernel as it is, and the records that the interpreter makes of their datagrams.
namespace stopbit::sim {

namespace frames = net::testing;
using frames::ByteVector;
using frames::operator+;

inline constexpr const char* kTemplates = R"(
  <templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="Quote" id="1">
    <uInt32 name="Id"/><uInt32 name="Size"><copy/></uInt32><string name="Symbol"/><int32 name="Change"><delta/></int32>
  </template><template name="Wide" id="2">
    <uInt32 name="Id"/><uInt32 name="A"/><uInt32 name="B"/><uInt32 name="C"/><uInt32 name="D"/><uInt32 name="E"/>
    <uInt32 name="F"/><uInt32 name="G"/><uInt32 name="H"/><uInt32 name="I"/><uInt32 name="J"/><uInt32 name="K"/>
    <uInt32 name="L"/><uInt32 name="M"/><uInt32 name="N"/><uInt32 name="O"/><uInt32 name="P"/><uInt32 name="Q"/>
  </template></templates>)";

inline void put_number(Random& random, ByteVector& bytes) {
  for (std::uint64_t i = random.below(4); i > 0; --i) bytes.push_back(static_cast<std::byte>(1 + random.below(126)));
  bytes.push_back(static_cast<std::byte>(0x81 + random.below(100)));
}

/// A quote; its size is the last one's if `copies`.
inline ByteVector quote(Random& random, bool copies) {
  ByteVector bytes = frames::bytes({copies ? 0xC0 : 0xE0, 0x81});
  put_number(random, bytes);
  if (!copies) put_number(random, bytes);
  for (std::uint64_t i = random.below(12); i > 0; --i) bytes.push_back(static_cast<std::byte>('A' + random.below(26)));
  bytes.push_back(static_cast<std::byte>(0x80 + 'A'));
  bytes.push_back(static_cast<std::byte>(0x80 + random.below(60)));
  return bytes;
}

/// A message with a record of four slots.
inline ByteVector wide(Random& random) {
  ByteVector bytes = frames::bytes({0xC0, 0x82});
  for (int i = 0; i < 18; ++i) put_number(random, bytes);
  return bytes;
}

inline record::Slot without_place(record::Slot slot, bool is_first) {
  if (is_first) slot.words[0] &= 0xFFFF'FFFF;
  slot.words[record::kTagWord] &= ~(std::uint64_t{1} << 63);
  return slot;
}

inline std::string difference(std::span<const record::Slot> got, std::span<const record::Slot> expected) {
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

inline std::vector<record::Slot> gap_event(std::uint64_t arrival_ns, std::uint16_t channel, std::uint32_t first,
                                           std::uint32_t count) {
  record::Slot slot{};
  slot.words[0] = record::kEventIndex | 1U << 16;
  slot.words[1] = arrival_ns;
  slot.words[2] = std::uint64_t{channel} << 32 | first;
  slot.words[4] = static_cast<std::uint64_t>(record::EventKind::Gap) | 0x00FF'FFFF'FFFF'0000;
  slot.words[5] = first;
  slot.words[6] = count;
  slot.words[record::kTagWord] = 0x00FC'FCFC'FBFA'F9F8;
  return {slot};
}

/// A kernel with the quotes loaded for its channels, of which each has two lines and a choice between them.
class FramesThroughKernel {
 public:
  FramesThroughKernel(ResetRule reset, bool cut_through, std::uint32_t stall, std::uint16_t channels = 1)
      : program_(bench::compile_text("quotes", kTemplates).value()),
        model_(3, stall),
        device_(model_),
        kernel_(device::Kernel::open(device_).value()),
        engine_(nullptr),
        sink_(program_),
        cut_through_(cut_through) {
    options_.reset = reset;
    options_.channels = channels;
    begin();
  }
  /// After a reset of the model: as it was at first.
  void begin() {
    ring_.reset();
    engine_ = make_interpreter(program_, options_);
    frames_ = 0;
    got_ = gaps_ = 0;
    expected_.clear();
    wanted_ = {};
    channels_.assign(options_.channels, {});
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
    EXPECT_TRUE(kernel_.set_intake({.frames = true, .cut_through = cut_through_}).ok());
    for (std::uint16_t channel = 0; channel < options_.channels; ++channel) {
      for (std::uint8_t line : {std::uint8_t{1}, std::uint8_t{2}}) {
        const std::uint32_t group = group_of(channel, line);
        const device::Group of_line{.address = 0xE0001F00 + group,
                                    .port = static_cast<std::uint16_t>(10'000 + group),
                                    .channel = channel,
                                    .line = line};
        EXPECT_TRUE(kernel_.set_group(6 + group, of_line).ok());
      }
      EXPECT_TRUE(kernel_.set_framing(channel, net::parse_framing("cme").value()).ok());
      EXPECT_TRUE(kernel_.set_line_rule(channel, device::LineRule{}).ok());
    }
    EXPECT_TRUE(kernel_.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
    EXPECT_TRUE(kernel_.describe_input(0, 3, 0).ok());
    EXPECT_TRUE(kernel_.receive(true).ok());
  }

  KernelModel& model() { return model_; }
  ModelDevice& device() { return device_; }
  device::Kernel& kernel() { return kernel_; }
  [[nodiscard]] const Program& program() const { return program_; }
  device::DeviceRing& ring() { return *ring_; }

  static ByteVector payload(std::uint32_t sequence, const ByteVector& data) {
    return frames::be32(sequence) + frames::bytes({0}) + data;
  }
  /// Line 3 and above of the last channel are of no group.
  static ByteVector frame(int line, std::uint32_t sequence, const ByteVector& data, std::uint16_t channel = 0) {
    const ByteVector bytes = payload(sequence, data);
    const std::uint32_t group = group_of(channel, line);
    ByteVector out = frames::ethernet(frames::ipv4(frames::be16(20000) + frames::be16(10000U + group) +
                                                   frames::be16(8 + bytes.size()) + frames::be16(0) + bytes));
    out[14 + 19] = static_cast<std::byte>(group);
    return out;
  }

  /// What becomes of a frame, of which the kernel keeps an account.
  enum class Fate { First, Second, Bad, Stranger };
  /// Sends a frame that has this fate; see wanted().
  void send(const ByteVector& bytes, std::uint64_t arrival_ns, Fate fate) {
    send(bytes, arrival_ns, fate == Fate::Bad);
    if (fate == Fate::Bad) ++wanted_.verdicts[device::kVerdictFrameBad];
    if (fate == Fate::Stranger) ++wanted_.verdicts[device::kVerdictFiltered];
    if (fate != Fate::First && fate != Fate::Second) return;
    ++(fate == Fate::First ? wanted_.line_passed : wanted_.line_duplicates);
    ++wanted_.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)];
    ++wanted_.datagrams;
    wanted_.datagram_bytes += bytes.size() - kFrameHeaders;
  }
  void send(const ByteVector& bytes, std::uint64_t arrival_ns, bool bad) {
    ++frames_;
    model_.send({.bytes = bytes, .socket = 0, .arrival_ns = arrival_ns, .bad = bad});
  }

  /// The datagram of the frame that is sent next has to pass.
  void expect(int line, std::uint32_t sequence, const ByteVector& data, std::uint64_t arrival_ns,
              std::uint16_t channel = 0) {
    std::uint32_t& highest = channels_[channel].highest;
    if (highest != 0 && sequence != highest + 1) {
      const std::uint32_t count = sequence - highest - 1;
      add(channel, gap_event(arrival_ns, channel, highest + 1, count));
      engine_->invalidate(channel);  // what is missing may have changed the dictionary
      ++gaps_;
      wanted_.numbers_missing += count;
      ++wanted_.datagrams_decoded;  // a gap goes through the core
    }
    highest = sequence;
    const ByteVector bytes = payload(sequence, data);
    const Outcome outcome = engine_->decode(bytes,
                                            {.arrival_ns = arrival_ns,
                                             .number = frames_ + 1,
                                             .sequence = sequence,
                                             .data_offset = 5,
                                             .channel = channel,
                                             .source = static_cast<record::SourceLine>(line),
                                             .time_quality = record::TimeQuality::Hardware},
                                            sink_);
    wanted_.instructions += outcome.instructions;
    ++wanted_.datagrams_decoded;
    for (; taken_ < sink_.records().size(); ++taken_) add(channel, sink_.records()[taken_]);
  }

  /// Everything that is expected has come to the ring in memory, and nothing else: all of it in the order of the frames
  /// if the kernel has one decode core, else that of each channel.
  void check() {
    EXPECT_TRUE(sink_.problems().empty());
    for (int quiet = 0; quiet < 200; ++quiet) {
      model_.run(50);
      for (ring::Poll poll = ring_->poll(); poll != ring::Poll::Nothing; poll = ring_->poll()) {
        quiet = 0;
        ASSERT_EQ(poll, ring::Poll::Record) << ring_->problem();
        ASSERT_LT(got_, expected_.size());
        const std::uint16_t channel = record::HeaderView(ring_->record()[0]).channel();
        ASSERT_LT(channel, channels_.size());
        Channel& of = channels_[channel];
        ASSERT_LT(of.got, of.expected.size()) << "channel " << channel;
        const std::size_t next = of.expected[of.got];
        if (kernel_.engines() == 1) {
          ASSERT_EQ(next, got_);
        }
        const std::string problem = difference(ring_->record(), expected_[next]);
        ASSERT_EQ(problem, "") << "record " << of.got << " of " << of.expected.size() << " of channel " << channel;
        ++of.got;
        ++got_;
      }
    }
    EXPECT_EQ(got_, expected_.size());
    EXPECT_TRUE(kernel_.idle().value());
    EXPECT_EQ(kernel_.counters().value().gaps, gaps_);
    EXPECT_EQ(kernel_.take_errors().value(), 0U);
    EXPECT_EQ(model_.problem(), "");
  }

  /// The accounts after frames whose fates were told: all but withdrawn records, which depend on how far a record has
  /// come when its error is found. Instructions as the interpreter counts them.
  [[nodiscard]] device::Counters wanted() const {
    device::Counters out = wanted_;
    out.gaps = gaps_;
    out.records = expected_.size();
    return out;
  }

  [[nodiscard]] std::size_t gaps() const { return gaps_; }
  [[nodiscard]] std::size_t expected() const { return expected_.size(); }
  [[nodiscard]] const std::vector<std::vector<record::Slot>>& all_expected() const { return expected_; }

 private:
  struct Channel {
    std::uint32_t highest = 0;
    std::vector<std::size_t> expected;  // places in expected_
    std::size_t got = 0;
  };
  static constexpr std::size_t kFrameHeaders = 42;  // of Ethernet, IPv4 and UDP
  static std::uint32_t group_of(std::uint16_t channel, int line) {
    return 2U * channel + static_cast<std::uint32_t>(line);
  }
  void add(std::uint16_t channel, std::vector<record::Slot> record) {
    channels_[channel].expected.push_back(expected_.size());
    expected_.push_back(std::move(record));
  }

  Program program_;
  EngineOptions options_;
  KernelModel model_;
  ModelDevice device_;
  device::Kernel kernel_;
  std::unique_ptr<Engine> engine_;
  cases::RecordingSink sink_;
  std::unique_ptr<device::DeviceRing> ring_;
  std::uint64_t frames_ = 0;
  std::vector<Channel> channels_;
  device::Counters wanted_;
  std::size_t taken_ = 0;
  std::size_t gaps_ = 0;
  std::size_t got_ = 0;
  bool cut_through_;
  std::vector<std::vector<record::Slot>> expected_;
};

}  // namespace stopbit::sim
