// All decode cases, and what becomes of them when they are cut and their bits are turned: tshark must show the values
// and errors of the engine. All cases go through one run: each has a dissector and a port of its own.

#include <memory>
#include <numeric>

#include "assembler/assembler.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/runner/run_case.hpp"
#include "tests/system/dissector/capture_writer.hpp"
#include "tests/system/dissector/expected.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

constexpr std::uint16_t kFirstPort = 20'000;
constexpr std::uint32_t kFirstAddress = 0xEF00'0001;  // 239.0.0.1

struct Case {
  std::string name;
  EngineOptions options;
  Program program;
  std::vector<cases::Step> steps;
};

std::optional<Case> load(const std::filesystem::path& path) {
  const auto text = cases::read_file(path);
  if (!text) return std::nullopt;
  Diagnostics diagnostics;
  const auto file = cases::CaseFile::parse(std::make_shared<SourceBuffer>(path.string(), *text), diagnostics);
  if (!file) return std::nullopt;
  cases::Report report(*file);
  const cases::CaseOptions options = cases::read_options(*file, report);
  std::optional<Program> program;
  if (const cases::Section* const listing = file->find("program")) {
    program = assembler::assemble(file->as_file(*listing, "program"), diagnostics);
  } else {
    std::vector<std::shared_ptr<const SourceBuffer>> sources;
    for (const cases::Section& section : file->sections()) {
      if (section.name == "template") sources.push_back(file->as_file(section, "template"));
    }
    program = templates::compile(sources, options.compile, diagnostics);
  }
  const cases::Section* const bytes = file->find("bytes");
  if (!program || bytes == nullptr || !report.ok() || !verify::check(*program).ok()) return std::nullopt;
  auto steps = cases::parse_bytes(file->source(), bytes->begin, bytes->end, diagnostics);
  if (!steps) return std::nullopt;
  return Case{path.stem().string(), options.engine, *std::move(program), *std::move(steps)};
}

class Cases : public DissectorTest {
 protected:
  void SetUp() override {
    DissectorTest::SetUp();
    if (HasFatalFailure()) return;
    for (const auto& path : cases::find_cases(std::filesystem::path(STOPBIT_CASES_FOLDER) / "decode")) {
      std::optional<Case> item = load(path);
      ASSERT_TRUE(item) << path << " cannot be read";
      item->name = std::filesystem::relative(path, STOPBIT_CASES_FOLDER).string();
      emit::DissectorOptions options = options_of(item->options);
      options.name = "case" + std::to_string(cases_.size());
      options.ports = {port_of(cases_.size())};
      add_script(item->program, options);
      cases_.push_back(*std::move(item));
    }
  }

  static std::uint16_t port_of(std::size_t index) { return static_cast<std::uint16_t>(kFirstPort + index); }

  /// What is known of a datagram by the time it is expected.
  struct Sent {
    std::size_t item;
    std::uint16_t channel;
    bool reset_before;  ///< Of the channel: in the capture it goes on in another group.
    std::vector<std::byte> bytes;
    std::string what;
  };

  void send(const Sent& sent, CaptureWriter& writer) {
    std::uint32_t& address = addresses_[{sent.item, sent.channel}];
    if (address == 0 || sent.reset_before) address = next_address_++;
    writer.add({address, port_of(sent.item)}, sent.bytes);
  }

  void expect_same(const std::vector<Sent>& all) {
    CaptureWriter writer(run_.capture);
    for (const Sent& sent : all) send(sent, writer);
    writer.close();

    Dissection dissection(run_);
    Comparison comparison(dissection);
    std::size_t item = cases_.size();
    std::unique_ptr<Engine> engine;
    std::optional<Expectation> expectation;
    for (const Sent& sent : all) {
      const Case& of = cases_[sent.item];
      if (sent.item != item) {
        item = sent.item;
        engine = make_interpreter(of.program, of.options);
        expectation.emplace(of.program);
      }
      if (sent.reset_before) engine->reset(sent.channel);
      cases::RecordingSink sink(of.program);
      (void)engine->decode(sent.bytes, {.channel = sent.channel}, sink);
      for (const cases::Record& record : sink.records()) {
        comparison.expect(expectation->event(record), of.name + ", " + sent.what);
      }
    }
    comparison.expect_end();
    EXPECT_EQ(dissection.packets(), all.size());
    RecordProperty("events", static_cast<int>(comparison.events()));
    std::printf("%zu datagrams, %llu messages and errors\n", all.size(),
                static_cast<unsigned long long>(comparison.events()));
  }

  /// Whether an IPv4 packet can carry it, and Wireshark calls a dissector for it.
  static bool is_sendable(const std::vector<std::byte>& bytes) {
    return !bytes.empty() && bytes.size() <= CaptureWriter::kMaxPayloadBytes;
  }

  std::vector<Case> cases_;
  std::map<std::pair<std::size_t, std::uint16_t>, std::uint32_t> addresses_;
  std::uint32_t next_address_ = kFirstAddress;
};

TEST_F(Cases, are_shown_as_the_engine_decodes_them) {
  std::vector<Sent> all;
  std::size_t too_long = 0;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    std::set<std::uint16_t> reset;
    std::size_t number = 0;
    for (const cases::Step& step : cases_[i].steps) {
      if (step.kind == cases::Step::Kind::Reset) {
        reset.insert(step.channel);
        continue;
      }
      ++number;
      if (!is_sendable(step.bytes)) {
        too_long += step.bytes.empty() ? 0U : 1U;
        continue;
      }
      all.push_back(
          {i, step.channel, reset.erase(step.channel) != 0, step.bytes, "datagram " + std::to_string(number)});
    }
  }
  EXPECT_LE(too_long, 1U) << "one case is about a datagram that no packet can carry";
  expect_same(all);
}

TEST_F(Cases, cut_or_with_a_turned_bit_are_shown_as_the_engine_decodes_them) {
  constexpr std::size_t kMaxMutatedBytes = 160;
  std::vector<Sent> all;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    std::size_t number = 0;
    for (const cases::Step& step : cases_[i].steps) {
      if (step.kind != cases::Step::Kind::Datagram) continue;
      const std::string what = "datagram " + std::to_string(++number);
      if (step.bytes.size() > kMaxMutatedBytes) continue;
      for (std::size_t length = 1; length < step.bytes.size(); ++length) {
        all.push_back({i,
                       0,
                       true,
                       {step.bytes.begin(), step.bytes.begin() + static_cast<std::ptrdiff_t>(length)},
                       what + " cut to " + std::to_string(length) + " bytes"});
      }
      for (std::size_t bit = 0; bit < step.bytes.size() * 8; ++bit) {
        std::vector<std::byte> turned = step.bytes;
        turned[bit / 8] ^= std::byte{1} << (bit % 8);
        all.push_back({i, 0, true, std::move(turned), what + " with bit " + std::to_string(bit) + " turned"});
      }
    }
  }
  expect_same(all);
}

}  // namespace
}  // namespace stopbit::dissector
