#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/device/engine.hpp"
#include "host/device/firmware/device.hpp"
#include "host/device/sim/sim_card.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/card_leaf.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/runner/case_program.hpp"
#include "tests/runner/run_case.hpp"

// A device as an engine, through the leaf of the run, beside the interpreter: outcomes and records, byte for byte.

namespace stopbit::device {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

/// The simulated card, opened once for all tests.
class DeviceEngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto sim = SimCard::prepare(stopbit::testing::leaf_of_run());
    ASSERT_TRUE(sim.ok()) << sim.message();
    sim_ = std::move(sim).value();
    auto device = sim_->opener()();
    ASSERT_TRUE(device.ok()) << device.message();
    device_ = std::move(device).value();
    auto network = FeedNetwork::connect(sim_->feed());
    ASSERT_TRUE(network.ok()) << network.message();
    network_ = std::move(network).value();
    kernel_.emplace(Kernel::open(*device_).value());
  }
  static void TearDownTestSuite() {
    network_.reset();
    kernel_.reset();
    device_.reset();
    sim_.reset();
  }
  void SetUp() override { ASSERT_NE(network_, nullptr); }

  static std::vector<std::string> reasons(const Program& program, const EngineOptions& options) {
    return obstacles(program, options, kernel_->capabilities());
  }

  static std::unique_ptr<SimCard> sim_;
  static std::unique_ptr<Device> device_;
  static std::unique_ptr<FeedNetwork> network_;
  static std::optional<Kernel> kernel_;
};
std::unique_ptr<SimCard> DeviceEngineTest::sim_;
std::unique_ptr<Device> DeviceEngineTest::device_;
std::unique_ptr<FeedNetwork> DeviceEngineTest::network_;
std::optional<Kernel> DeviceEngineTest::kernel_;

/// A device and the interpreter side by side.
class Pair {
 public:
  Pair(Device& device, Network& network, const Program& program, const EngineOptions& options)
      : interpreter_(make_interpreter(program, options)), wanted_(program), got_(program) {
    auto made = DeviceEngine::make(device, network, program, options);
    if (!made) throw std::runtime_error(made.message());
    device_ = std::move(made).value();
  }

  /// Empty if both said and wrote the same.
  std::string decode(const Bytes& datagram, const PacketInfo& info) {
    const Outcome wanted = interpreter_->decode(datagram, info, wanted_);
    const Outcome got = device_->decode(datagram, info, got_);
    if (!device_->problem().empty()) return device_->problem();
    std::string text = cases::difference(wanted, got);
    if (text.empty()) text = cases::difference(wanted_.records(), got_.records());
    if (text.empty() && !got_.problems().empty()) text = got_.problems().front();
    return text;
  }
  void reset(std::uint16_t channel) {
    interpreter_->reset(channel);
    device_->reset(channel);
  }
  void invalidate(std::uint16_t channel) {
    interpreter_->invalidate(channel);
    device_->invalidate(channel);
  }
  DeviceEngine& device() { return *device_; }
  [[nodiscard]] const std::vector<cases::Record>& records() const { return got_.records(); }

 private:
  std::unique_ptr<Engine> interpreter_;
  std::unique_ptr<DeviceEngine> device_;
  cases::RecordingSink wanted_;
  cases::RecordingSink got_;
};

Program program_from(const std::string& text) {
  Diagnostics diagnostics;
  auto program = templates::compile({std::make_shared<SourceBuffer>("test.xml", text)}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return std::move(program).value();
}

constexpr const char* kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Quote" id="1"><uInt32 name="Px" presence="optional"><copy/></uInt32><string name="S"/></template>
  <template name="Clear" id="2" reset="yes"><uInt32 name="N"/></template>
</templates>)";

Bytes bytes_of(const std::string& notation) {
  Diagnostics diagnostics;
  const auto steps = cases::parse_bytes(notation, diagnostics);
  EXPECT_TRUE(steps) << diagnostics.format();
  return steps->empty() ? Bytes() : steps->front().bytes;
}

TEST_F(DeviceEngineTest, decode_cases_give_the_outcomes_and_records_of_the_interpreter) {
  constexpr std::size_t kPrefixes = 8;  // of a datagram
  // Each case is a program to be loaded, word by word.
  const std::size_t step_by = by_form<std::size_t>(20, 1);
  std::size_t number = 0;
  std::map<std::string, int> refused;
  int ran = 0;
  for (const std::filesystem::path& path : cases::find_cases(STOPBIT_DECODE_CASES)) {
    SCOPED_TRACE(path.string());
    Diagnostics diagnostics;
    const auto source = std::make_shared<const SourceBuffer>(path.string(), stopbit::testing::file_text(path));
    const std::optional<cases::CaseFile> file = cases::CaseFile::parse(source, diagnostics);
    ASSERT_TRUE(file);
    const cases::Section* bytes = file->find("bytes");
    if (bytes == nullptr) continue;
    cases::Report report(*file);
    const cases::CaseOptions options = cases::read_options(*file, report);
    const std::optional<Program> program = cases::program_of(*file, options);
    if (!program) continue;
    const std::vector<std::string> why_not = reasons(*program, options.engine);
    if (!why_not.empty()) {
      ++refused[why_not.front().substr(0, why_not.front().find(':'))];
      continue;
    }
    if (number++ % step_by != 0) continue;
    const auto steps = cases::parse_bytes(source, bytes->begin, bytes->end, diagnostics);
    ASSERT_TRUE(steps);
    const bool counts_fields = std::none_of(program->nodes.begin(), program->nodes.end(),
                                            [](const SchemaNode& node) { return node.unstored; });
    if (!counts_fields) {
      ++refused["values that are not stored"];
      continue;
    }
    const bool is_long = std::any_of(steps->begin(), steps->end(),
                                     [](const cases::Step& step) { return step.bytes.size() > kMaxDatagramBytes; });
    if (is_long) {
      ++refused["a datagram that the device cuts"];
      continue;
    }
    ++ran;
    Pair pair(*device_, *network_, *program, options.engine);
    PacketInfo info;
    for (const cases::Step& step : *steps) {
      if (step.kind == cases::Step::Kind::Reset) {
        pair.reset(step.channel);
        continue;
      }
      ++info.number;
      info.channel = step.channel;
      ASSERT_EQ(pair.decode(step.bytes, info), "") << "datagram " << info.number;
    }
    const cases::Step& last = steps->back();
    for (std::size_t size = 0; size < std::min(last.bytes.size(), kPrefixes); ++size) {
      ++info.number;
      const Bytes prefix(last.bytes.begin(), last.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(pair.decode(prefix, info), "") << "the first " << size << " bytes of the last datagram";
    }
  }
  std::printf("%d cases ran; not:", ran);
  for (const auto& [what, count] : refused) std::printf(" %d %s,", count, what.c_str());
  std::printf("\n");
  EXPECT_GT(ran, by_form(10, 150));
}

TEST_F(DeviceEngineTest, says_of_a_datagram_what_it_was_told) {
  const Program program = program_from(kTemplates);
  EngineOptions options;
  options.reset = ResetRule::Template;
  options.channels = 3;
  options.image_generation = 77;
  Pair pair(*device_, *network_, program, options);
  PacketInfo info;
  info.arrival_ns = 1'700'000'000'123'456'789;
  info.number = 1'000'000'000'007;
  info.sequence = 0xFEDC'BA98;
  info.channel = 2;
  info.sender_epoch = 0xABCD;
  info.source = record::SourceLine::LineB;
  info.time_quality = record::TimeQuality::Kernel;
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 1) u32(1) u32?(5) ascii(\"A\")"), info), "");
  // After a preamble, another one past the datagram's end, one of all of it.
  info.data_offset = 4;
  EXPECT_EQ(pair.decode(bytes_of("01 02 03 04 pmap(1 0) u32(1) ascii(\"B\")"), info), "");
  info.data_offset = 3;
  EXPECT_EQ(pair.decode(bytes_of("01 02 03"), info), "");
  EXPECT_EQ(pair.decode({}, info), "") << "an X9, and the channel waits";
  info.data_offset = 0;
  EXPECT_EQ(pair.decode({}, info), "");
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 0) u32(1) ascii(\"C\")"), info), "") << "dropped";
  pair.reset(1);
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 0) u32(1) ascii(\"C\")"), info), "") << "dropped, it was another's reset";
  pair.reset(2);
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 0) u32(1) ascii(\"D\")"), info), "");
  EXPECT_EQ(pair.records().size(), 7U);
  pair.invalidate(1);
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 0) u32(1) ascii(\"E\")"), info), "") << "it was another's";
  pair.invalidate(2);
  EXPECT_EQ(pair.records().size(), 8U) << "no record says so";
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 0) u32(1) ascii(\"F\")"), info), "") << "dropped";
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 1) u32(2) u32(1)"), info), "") << "which resets the dictionary";
  EXPECT_EQ(pair.decode(bytes_of("pmap(1 0) u32(1) ascii(\"G\")"), info), "");
  EXPECT_EQ(pair.records().size(), 11U);

  const Result<Figures> figures = pair.device().figures();
  ASSERT_TRUE(figures.ok()) << figures.message();
  EXPECT_EQ(figures.value().kernel.datagrams, 14U);
  EXPECT_EQ(figures.value().ring.records, 13U);
  EXPECT_EQ(figures.value().errors, 0U);
}

TEST_F(DeviceEngineTest, a_datagram_longer_than_the_device_takes_ends_in_x1_there) {
  const Program program = program_from(kTemplates);
  auto made = DeviceEngine::make(*device_, *network_, program, {});
  ASSERT_TRUE(made.ok()) << made.message();
  cases::RecordingSink sink(program);
  Bytes datagram;
  const Bytes message = bytes_of("pmap(1 0) u32(1) ascii(\"D\")");
  while (datagram.size() < kMaxDatagramBytes + 100) datagram.insert(datagram.end(), message.begin(), message.end());
  Outcome outcome = made.value()->decode(datagram, {}, sink);
  EXPECT_EQ(made.value()->problem(), "");
  EXPECT_EQ(outcome.error, ErrorCode::X1);
  EXPECT_EQ(outcome.messages, kMaxDatagramBytes / message.size());
  EXPECT_NE(Kernel::describe_errors(made.value()->figures().value().errors).find("was truncated"), std::string::npos);
  // A message that fits follows.
  datagram.resize(kMaxDatagramBytes / message.size() * message.size());
  outcome = made.value()->decode(datagram, {}, sink);
  EXPECT_EQ(outcome.error, ErrorCode::None);
  EXPECT_EQ(outcome.messages, kMaxDatagramBytes / message.size());
}

/// Loses everything, or refuses it.
class BadNetwork final : public Network {
 public:
  explicit BadNetwork(bool refuses) : refuses_(refuses) {}
  Status send(std::span<const std::byte> /*datagram*/, std::uint16_t /*channel*/,
              std::uint64_t /*arrival_ns*/) override {
    if (refuses_) return Failure{"the cable is out"};
    return Done{};
  }

 private:
  bool refuses_;
};

TEST_F(DeviceEngineTest, a_datagram_that_does_not_come_back_ends_decoding_with_a_reason) {
  const Program program = program_from(kTemplates);
  const Bytes message = bytes_of("pmap(1 0) u32(1) ascii(\"D\")");
  for (const bool refuses : {false, true}) {
    BadNetwork network(refuses);
    cases::RecordingSink sink(program);
    auto made = DeviceEngine::make(*device_, network, program, {}, 700ms);
    ASSERT_TRUE(made.ok()) << made.message();
    for (int i = 0; i < 3; ++i) {
      const Outcome outcome = made.value()->decode(message, {}, sink);
      EXPECT_TRUE(outcome.dropped);
      EXPECT_EQ(outcome.error, ErrorCode::None);
    }
    EXPECT_TRUE(sink.records().empty());
    EXPECT_NE(made.value()->problem().find(refuses ? "the cable is out" : "has executed nothing for 700 ms"),
              std::string::npos)
        << made.value()->problem();
  }
}

TEST_F(DeviceEngineTest, a_device_that_does_not_receive_is_found_out) {
  const Program program = program_from(kTemplates);
  cases::RecordingSink sink(program);
  auto made = DeviceEngine::make(*device_, *network_, program, {});
  ASSERT_TRUE(made.ok()) << made.message();
  ASSERT_TRUE(kernel_->receive(false).ok());
  EXPECT_TRUE(made.value()->decode(bytes_of("pmap(1 0) u32(1) ascii(\"D\")"), {}, sink).dropped);
  EXPECT_NE(made.value()->problem().find("has dropped a datagram"), std::string::npos) << made.value()->problem();
}

TEST_F(DeviceEngineTest, obstacles_are_what_is_missing) {
  const Program program = program_from(kTemplates);
  EngineOptions options;
  EXPECT_TRUE(reasons(program, options).empty());
  options.limits.datagram_bytes = 1000;
  ASSERT_EQ(reasons(program, options).size(), 1U);
  EXPECT_NE(reasons(program, options).front().find("longest datagram"), std::string::npos);
  options = {};
  options.strict = true;
  EXPECT_TRUE(reasons(program, options).empty());
  options.reset = ResetRule::Template;
  EXPECT_EQ(reasons(program, options).size(), 1U);
  // A card that can do nothing lacks each capability that is needed, named once.
  const std::vector<std::string> all = obstacles(program, {}, 0);
  EXPECT_EQ(all.size(), 2U) << "integers and strings";
  EXPECT_NE(all.front().find("not on this card"), std::string::npos);
}

TEST_F(DeviceEngineTest, channels_are_as_many_as_there_is_room_for) {
  const Program small = program_from(kTemplates);
  EngineOptions options;
  options.channels = 256;
  EXPECT_EQ(channels_with_room(small, options), firmware::kMaxChannels);
  options.channels = 5;
  EXPECT_EQ(channels_with_room(small, options), 5U);
  std::string text = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="T" id="1">)";
  for (int i = 0; i < 100; ++i) text += "<uInt32 name=\"F" + std::to_string(i) + "\"><copy/></uInt32>";
  const Program large = program_from(text + "</template></templates>");
  options.channels = 256;
  EXPECT_EQ(channels_with_room(large, options), firmware::kMaxChannels) << "a reset per packet: they share one";
  options.reset = ResetRule::Never;
  const std::size_t room = firmware::kMaxEntries / large.slots.size();
  EXPECT_EQ(channels_with_room(large, options), std::min<std::size_t>(room, firmware::kMaxChannels));
  options.strict = true;
  options.reset = ResetRule::Template;
  EXPECT_EQ(channels_with_room(large, options), 0U);
}

}  // namespace
}  // namespace stopbit::device
