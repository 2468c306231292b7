#include "tests/system/dissector/fixture.hpp"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>

#include "decoder/record/buffer_sink.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/system/dissector/capture_writer.hpp"
#include "tests/system/dissector/expected.hpp"

namespace stopbit::dissector {
namespace {

constexpr std::uint16_t kFirstPort = 20'000;
constexpr std::uint32_t kFirstAddress = 0xEF00'0001;  // 239.0.0.1

/// Compares events one by one; tells the first few differences.
class Comparison {
 public:
  explicit Comparison(Dissection& dissection) : dissection_(dissection) {}

  void expect(const Event& expected, const std::string& where) {
    ++events_;
    if (gave_up_) return;
    const std::optional<Event> actual = dissection_.next();
    const std::string found = actual ? difference(expected, *actual) : "expected " + expected.title + "\ngot the end";
    if (found.empty()) return;
    ADD_FAILURE() << where << ", event " << events_ << ", packet of tshark " << dissection_.packet() << ":\n" << found;
    // All that follows would be shifted.
    gave_up_ = !actual || expected.title != actual->title;
  }

  void expect_end() {
    if (gave_up_) return;
    const std::optional<Event> more = dissection_.next();
    EXPECT_FALSE(more) << "more than expected: " << more->title;
    EXPECT_EQ(dissection_.problems(), "");
  }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

 private:
  Dissection& dissection_;
  std::uint64_t events_ = 0;
  bool gave_up_ = false;
};

}  // namespace

std::uint64_t decode_errors(const replay::Summary& summary) {
  return std::accumulate(summary.errors.begin(), summary.errors.end(), std::uint64_t{0});
}

// ---------------------------------------------------------------------------------------------------------------------

void DissectorTest::SetUp() {
  ASSERT_TRUE(has_tshark()) << "there is no tshark: apt-get install tshark";
  run_.folder = scratch_.folder();
  run_.capture = run_.folder / "capture.pcap";
}

std::optional<Program> DissectorTest::compile(const std::filesystem::path& path) {
  const auto text = testing::file_text_if_any(path);
  EXPECT_TRUE(text) << path << " cannot be read";
  return text ? compile_text(*text) : std::nullopt;
}

std::optional<Program> DissectorTest::compile_text(const std::string& text) {
  Diagnostics diagnostics;
  auto program = templates::compile({std::make_shared<SourceBuffer>("templates.xml", text)}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program;
}

namespace {
emit::DissectorFraming dissector_framing(const net::Framing& framing, ResetRule reset) {
  using Kind = emit::DissectorFraming::Kind;
  using Reset = emit::DissectorFraming::Reset;
  const auto field = [](const net::PreambleField& from) {
    return emit::DissectorFraming::Field{from.offset, from.bytes, from.big_endian};
  };
  return {.kind = framing.kind == net::FramingKind::B3   ? Kind::B3
                  : framing.kind == net::FramingKind::T7 ? Kind::T7
                                                         : Kind::Fixed,
          .skip = framing.skip,
          .sequence = field(framing.sequence),
          .length = field(framing.length),
          .blocks = framing.blocks,
          .reset = reset == ResetRule::Packet     ? Reset::Packet
                   : reset == ResetRule::Template ? Reset::Template
                                                  : Reset::Never};
}
}  // namespace

emit::DissectorOptions DissectorTest::options_of(const EngineOptions& engine, const net::Framing& framing) {
  emit::DissectorOptions options;
  options.framing = dissector_framing(framing, engine.reset);
  for (const net::FramingPreset& preset : net::framing_presets()) {
    const net::Framing known = net::parse_framing(preset.name).value();
    options.presets.emplace_back(preset.name, dissector_framing(known, known.reset));
  }
  options.strict = engine.strict;
  options.limits = {.datagram_bytes = engine.limits.datagram_bytes,
                    .elements = engine.limits.elements,
                    .empty_elements = engine.limits.empty_elements,
                    .nesting = engine.limits.nesting,
                    .string_bytes = engine.limits.string_bytes};
  return options;
}

void DissectorTest::add_script(const Program& program, const emit::DissectorOptions& options) {
  const std::filesystem::path path = run_.folder / (options.name + ".lua");
  std::ofstream(path, std::ios::binary) << emit::lua_dissector(program, options);
  run_.scripts.push_back(path);
}

replay::Summary DissectorTest::expect_same_as_replay(const Program& program, const replay::Options& options,
                                                     const std::vector<std::uint16_t>& ports) {
  EngineOptions engine_options = replay::engine_options(options);
  engine_options.reset = options.framing.reset;  // with blocks, a replay resets by itself
  emit::DissectorOptions dissector = options_of(engine_options, options.framing);
  dissector.ports = ports;
  add_script(program, dissector);

  Dissection dissection(run_);
  Comparison comparison(dissection);
  Expectation expectation(program);
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> slots) {
    comparison.expect(expectation.event(slots), options.framing.name);
  });
  const auto engine = make_interpreter(program, replay::engine_options(options));
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::move(ingest::open_capture(run_.capture.string())).value());
  replay::Summary summary = replay::Replay(program, *engine, sink, options).run(sources);
  comparison.expect_end();
  EXPECT_EQ(dissection.packets(), summary.packets);
  EXPECT_EQ(comparison.events(), summary.messages + decode_errors(summary) + summary.dropped);
  return summary;
}

// ---------------------------------------------------------------------------------------------------------------------

std::size_t FeedsTest::add_feed(Feed feed) {
  emit::DissectorOptions options = options_of(feed.options);
  options.name = "feed" + std::to_string(feeds_.size());
  options.ports = {static_cast<std::uint16_t>(kFirstPort + feeds_.size())};
  add_script(feed.program, options);
  feeds_.push_back(std::move(feed));
  return feeds_.size() - 1;
}

bool FeedsTest::is_sendable(std::span<const std::byte> bytes) {
  return !bytes.empty() && bytes.size() <= CaptureWriter::kMaxPayloadBytes;
}

void FeedsTest::add_damaged(const Datagram& whole, std::size_t first_byte, std::vector<Datagram>& all) {
  const auto add = [&](std::vector<std::byte> bytes, const std::string& what) {
    all.push_back({whole.feed, whole.channel, true, std::move(bytes), whole.what + what});
  };
  const std::size_t size = whole.bytes.size();
  for (std::size_t length = std::max<std::size_t>(first_byte, 1); length < size; ++length) {
    add({whole.bytes.begin(), whole.bytes.begin() + static_cast<std::ptrdiff_t>(length)},
        " cut to " + std::to_string(length) + " bytes");
  }
  for (std::size_t bit = first_byte * 8; bit < size * 8; ++bit) {
    std::vector<std::byte> turned = whole.bytes;
    turned[bit / 8] ^= std::byte{1} << (bit % 8);
    add(std::move(turned), " with bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " turned");
  }
}

void FeedsTest::expect_same(const std::vector<Datagram>& all) {
  CaptureWriter writer(run_.capture);
  std::map<std::pair<std::size_t, std::uint16_t>, std::uint32_t> addresses;
  std::uint32_t next_address = kFirstAddress;
  for (const Datagram& datagram : all) {
    std::uint32_t& address = addresses[{datagram.feed, datagram.channel}];
    if (address == 0 || datagram.reset_before) address = next_address++;
    writer.add({address, static_cast<std::uint16_t>(kFirstPort + datagram.feed)}, datagram.bytes);
  }
  writer.close();

  Dissection dissection(run_);
  Comparison comparison(dissection);
  std::size_t of = feeds_.size();
  std::unique_ptr<Engine> engine;
  std::optional<Expectation> expectation;
  for (const Datagram& datagram : all) {
    const Feed& feed = feeds_[datagram.feed];
    if (datagram.feed != of) {
      of = datagram.feed;
      engine = make_interpreter(feed.program, feed.options);
      expectation.emplace(feed.program);
    }
    if (datagram.reset_before) engine->reset(datagram.channel);
    cases::RecordingSink sink(feed.program);
    (void)engine->decode(datagram.bytes, {.channel = datagram.channel}, sink);
    for (const cases::Record& record : sink.records()) {
      comparison.expect(expectation->event(record), feed.name + ", " + datagram.what);
    }
  }
  comparison.expect_end();
  EXPECT_EQ(dissection.packets(), all.size());
  std::printf("%zu datagrams, %llu messages and errors\n", all.size(),
              static_cast<unsigned long long>(comparison.events()));
}

}  // namespace stopbit::dissector
