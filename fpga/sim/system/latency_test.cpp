#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "host/device/firmware/device.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "kernel_model.hpp"
#include "model_device.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/workloads/workload.hpp"

// How many cycles a message takes from the kernel's pins to memory: the first beat at s_axis_rx to the W beat of slot
// 0, without stalls, an idle kernel before it.

namespace stopbit::sim {
namespace {

/// A field of uInt32 without operator for each length.
std::string template_of(const std::vector<std::size_t>& lengths) {
  std::string text = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="Message" id="1">)";
  for (std::size_t i = 0; i < lengths.size(); ++i) text += "<uInt32 name=\"Field" + std::to_string(i) + "\"/>";
  return text + "</template></templates>";
}

std::vector<std::byte> message_of(const std::vector<std::size_t>& lengths) {
  std::vector<std::byte> bytes{std::byte{0xC0}, std::byte{0x81}};
  for (const std::size_t length : lengths) {
    for (std::size_t i = 0; i + 1 < length; ++i) bytes.push_back(std::byte{0x15});
    bytes.push_back(std::byte{0x95});
  }
  return bytes;
}

enum class Input { Datagrams, StoredFrames, FramesCutThrough };

const char* name_of(Input input) {
  switch (input) {
    case Input::Datagrams: return "datagrams";
    case Input::StoredFrames: return "frames, store and forward";
    case Input::FramesCutThrough: return "frames, cut-through";
  }
  return "";
}

/// Cycles of one message after some others.
std::uint64_t cycles_of(const std::vector<std::size_t>& lengths, Input input) {
  const Result<Program> program = bench::compile_text("latency", template_of(lengths));
  EXPECT_TRUE(program.ok()) << program.message();
  EngineOptions options;
  KernelModel model(1, 0);
  ModelDevice device(model);
  device::Kernel kernel = device::Kernel::open(device).value();
  for (const auto& words : {firmware::device_words(program.value(), options).value(),
                            firmware::channel_words(program.value(), options, 0)}) {
    std::vector<device::LoadWord> load;
    for (const firmware::Word& word : words) load.push_back({word.address, word.data});
    EXPECT_TRUE(kernel.load(0, load).ok());
  }
  auto ring = device::DeviceRing::start(device, program.value(), {},
                                        {.index = 0,
                                         .slot_count = 32'768,
                                         .mode = device::RingMode::Lossy,
                                         .image_generation = 0,
                                         .segment_slots = 0,
                                         .timeout_cycles = 0});
  EXPECT_TRUE(ring.ok()) << ring.message();
  EXPECT_TRUE(
      kernel.set_intake({.frames = input != Input::Datagrams, .cut_through = input == Input::FramesCutThrough}).ok());
  EXPECT_TRUE(kernel.set_group(0, device::Group{.address = 0xE0001F01, .port = 10001, .channel = 0, .line = 1}).ok());
  EXPECT_TRUE(kernel.receive(true).ok());

  const std::vector<std::byte> message = message_of(lengths);
  const std::vector<std::byte> packet =
      input == Input::Datagrams ? message : net::testing::ethernet(net::testing::ipv4(net::testing::udp(message)));
  std::uint64_t cycles = 0;
  for (int i = 0; i < 5; ++i) {
    // The ring's head is written when nothing else is: that is over before the next one comes.
    model.run(500);
    const std::uint64_t slots = ring.value()->counters().value().number;
    model.run(500);
    const std::uint64_t beats = model.write_beats();
    const std::uint64_t begin = model.cycles();
    model.send({.bytes = packet, .socket = 0, .arrival_ns = 0});
    const std::uint64_t record_slots = record::block_slots(record::kHeaderWords, lengths.size());
    for (int k = 0; k < 2000 && model.write_beats() < beats + record_slots; ++k) model.run(1);
    cycles = model.cycles() - begin;
    model.run(500);
    EXPECT_EQ(ring.value()->counters().value().number, slots + record_slots);
  }
  EXPECT_EQ(model.problem(), "");
  std::printf(
      "latency: %s: %zu bytes, %zu fields: %llu cycles from the first beat at s_axis_rx to the W beat of slot 0\n",
      name_of(input), message.size(), lengths.size(), static_cast<unsigned long long>(cycles));
  return cycles;
}

const std::vector<std::size_t> kShort{1, 1, 2, 2, 3, 3, 3, 4};

std::vector<std::size_t> long_message() {
  std::vector<std::size_t> lengths;
  for (int i = 0; i < 3; ++i) lengths.insert(lengths.end(), kShort.begin(), kShort.end());
  lengths.insert(lengths.end(), 7, 1);
  return lengths;
}

/// To the cycle, as bench/results/fpga-latency.md has it.
void expect_cycles(Input input, std::uint64_t of_short, std::uint64_t of_long) {
  EXPECT_EQ(cycles_of(kShort, input), of_short);
  EXPECT_EQ(cycles_of(long_message(), input), of_long);
}

TEST(Latency, of_messages_of_21_and_66_bytes_in_datagrams) {
  expect_cycles(Input::Datagrams, 21, 33);
}
TEST(Latency, of_messages_of_21_and_66_bytes_in_frames) {
  expect_cycles(Input::StoredFrames, 24, 38);
}
TEST(Latency, of_messages_of_21_and_66_bytes_in_frames_that_are_cut_through) {
  expect_cycles(Input::FramesCutThrough, 24, 35);
}

}  // namespace
}  // namespace stopbit::sim
