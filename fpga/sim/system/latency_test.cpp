#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/workloads/workload.hpp"
#include "fpga/firmware/device.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "kernel_model.hpp"
#include "model_device.hpp"

// How many cycles a message takes from the kernel's pins to memory: the first beat at s_axis_rx to the W beat of slot
// 0, without stalls, an idle kernel before it.

namespace stopbit::sim {
namespace {

/// Fields of uInt32 without operator, with so many bytes each.
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

/// Cycles of one message after some others.
std::uint64_t cycles_of(const std::vector<std::size_t>& lengths) {
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
  EXPECT_TRUE(kernel.receive(true).ok());

  const std::vector<std::byte> message = message_of(lengths);
  std::uint64_t cycles = 0;
  for (int i = 0; i < 5; ++i) {
    // The ring's head is written when nothing else is: that is over before the next one comes.
    model.run(500);
    const std::uint64_t slots = ring.value()->counters().value().number;
    model.run(500);
    const std::uint64_t beats = model.write_beats();
    const std::uint64_t begin = model.cycles();
    model.send({.bytes = message, .socket = 0, .arrival_ns = 0});
    const std::uint64_t record_slots = record::block_slots(record::kHeaderWords, lengths.size());
    for (int k = 0; k < 2000 && model.write_beats() < beats + record_slots; ++k) model.run(1);
    cycles = model.cycles() - begin;
    model.run(500);
    EXPECT_EQ(ring.value()->counters().value().number, slots + record_slots);
  }
  EXPECT_EQ(model.problem(), "");
  std::printf("latency: %zu bytes, %zu fields: %llu cycles from the first beat at s_axis_rx to the W beat of slot 0\n",
              message.size(), lengths.size(), static_cast<unsigned long long>(cycles));
  return cycles;
}

TEST(Latency, of_a_message_of_21_bytes) {
  const std::uint64_t cycles = cycles_of({1, 1, 2, 2, 3, 3, 3, 4});
  EXPECT_GT(cycles, 0U);
  EXPECT_LE(cycles, 30U);
}

TEST(Latency, of_a_message_of_66_bytes) {
  std::vector<std::size_t> lengths;
  for (int i = 0; i < 3; ++i) lengths.insert(lengths.end(), {1, 1, 2, 2, 3, 3, 3, 4});
  lengths.insert(lengths.end(), 7, 1);
  const std::uint64_t cycles = cycles_of(lengths);
  EXPECT_GT(cycles, 0U);
  EXPECT_LE(cycles, 60U);
}

}  // namespace
}  // namespace stopbit::sim
