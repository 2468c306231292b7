// Books that the stage makes of a real capture, line by line, against those of an independent builder, on every engine.

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/feed/description/description.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/book_text.hpp"
#include "host/market/stage/market_stage.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/replay/replay.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"

namespace stopbit::market {
namespace {

constexpr std::size_t kLevels = 10;  ///< Of the expected lines.

std::vector<std::string> gzip_lines(const std::string& path) {
  std::vector<std::string> lines;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return lines;
  std::string line;
  char buffer[4096];
  while (gzgets(file, buffer, sizeof buffer) != nullptr) {
    line += buffer;
    if (line.back() != '\n') continue;
    lines.push_back(std::move(line));
    line.clear();
  }
  gzclose(file);
  return lines;
}

Program compile(const std::string& path) {
  Diagnostics diagnostics;
  auto program =
      templates::compile({std::make_shared<SourceBuffer>(path, stopbit::testing::file_text(path))}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program.value_or(Program());
}

Map load_map(const std::string& name, const Program& program) {
  Diagnostics diagnostics;
  const std::string path = std::string(STOPBIT_MAPS_FOLDER) + "/" + name + ".toml";
  auto source = read_map(path, stopbit::testing::file_text(path), diagnostics);
  auto map = source ? compile_map(std::move(*source), program, diagnostics) : std::nullopt;
  EXPECT_TRUE(map) << diagnostics.format();
  return map.value_or(Map());
}

/// A book's line after each message for each instrument whose book had an entry in it.
class Lines {
 public:
  Lines(const Map& map, const Program& program)
      : instruments_(InstrumentTable::make({.capacity = 1'024, .generation = 1, .map_name = "test"}).value()),
        books_({.instruments = 1'024, .implied = 1'024}),
        sink_(1, Take{this}),
        publisher_(books_, &sink_, nullptr),
        translator_(map, program, instruments_, books_, publisher_, 1),
        gaps_(1'025),
        rows_(2 * kLevels) {}

  [[nodiscard]] Translator& translator() { return translator_; }
  [[nodiscard]] const BookSet& books() const { return books_; }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  struct Take {
    Lines* self;
    void operator()(std::span<const record::Slot> slots) const { self->take(Event::from(slots[0])); }
  };

  void take(const Event& event) {
    const std::uint32_t row = event.instrument();
    if (event.kind() == Kind::Clear && event.cause() == Cause::Gap) ++gaps_[row];
    if (is_entry(event.kind()) && std::find(touched_.begin(), touched_.end(), row) == touched_.end()) {
      touched_.push_back(row);
    }
    if (!event.last_of_event()) return;
    for (const std::uint32_t one : touched_) {
      const std::string key = "\"" + std::string(key_of(instruments_.row(one))) + "\"";
      append_book_json(read_book(books_, one, rows_), event.sequence(), key, gaps_[one], 0, lines_.emplace_back());
    }
    touched_.clear();
  }

  InstrumentTable instruments_;
  BookSet books_;
  record::BufferSink<Take> sink_;
  Publisher publisher_;
  Translator translator_;
  std::vector<std::uint64_t> gaps_;
  std::vector<std::uint32_t> touched_;
  std::vector<Row> rows_;
  std::vector<std::string> lines_;
};

class Books : public ::testing::TestWithParam<EngineKind> {};

TEST_P(Books, cme_2012_are_those_of_an_independent_builder) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr || *corpus == '\0') GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::string folder = std::string(corpus) + "/cme-mdp-2012";
  const std::vector<std::string> expected = gzip_lines(folder + "/books.jsonl.gz");
  ASSERT_EQ(expected.size(), 8'518U);
  const Program program = compile(folder + "/templates.xml");
  Map map = load_map("cme-mdp2", program);
  ASSERT_FALSE(map.plans.empty());
  // The capture has no definitions, which would say the depth of its one future and its spreads.
  map.books[0].depth = 10;

  feed::Channel channel;
  channel.framing = net::parse_framing("cme").value();
  channel.window = feed::default_window(channel.role);
  channel.lines[0] = feed::Line{.group = net::parse_endpoint("224.0.31.1:10001").value(), .source = std::nullopt};
  replay::Options options;
  options.feed = {&channel};

  Lines lines(map, program);
  feed::Stages stages;
  stages.add(std::make_unique<MarketStage>(lines.translator()));
  record::BufferSink end(program.max_record_slots, [](std::span<const record::Slot>) {});
  const MadeEngine made = make_engine(program, replay::engine_options(options), GetParam());
  replay::Replay replay(program, *made.engine, stages.connect(end), options);
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::move(ingest::open_capture(folder + "/capture.pcap").value()));
  const replay::Summary summary = replay.run(sources);
  EXPECT_EQ(summary.error_count(), 0U);
  lines.translator().finish();

  ASSERT_EQ(lines.lines().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(lines.lines()[i], expected[i]) << "line " << i + 1;
  for (std::size_t fault = 1; fault < kFaults; ++fault) {
    EXPECT_EQ(lines.books().faults(static_cast<Fault>(fault)), 0U) << name_of(static_cast<Fault>(fault));
  }
  const MarketCounts counts = lines.translator().counts();
  EXPECT_EQ(counts.gaps, 30U);  // at the 14 gaps of the capture
  EXPECT_EQ(counts.unmapped + counts.unknown_actions + counts.wide + counts.unreadable + counts.refused, 0U);
}

INSTANTIATE_TEST_SUITE_P(engines, Books, ::testing::Values(EngineKind::Interp, EngineKind::Quick, EngineKind::Native),
                         [](const auto& engine) { return std::string(engine_name(engine.param)); });

/// The capture has no definitions, so that only the user can say the depth.
TEST(BookCommand, prints_them_with_depth_as_an_option) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr || *corpus == '\0') GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::string folder = std::string(corpus) + "/cme-mdp-2012";
  const std::string command = std::string(STOPBIT_BINARY) + " book '" + folder + "/capture.pcap' --templates '" +
                              folder + "/templates.xml' --framing cme --map '" + STOPBIT_MAPS_FOLDER +
                              "/cme-mdp2.toml' --depth 10 --format jsonl -q";
  FILE* const pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> lines;
  char* line = nullptr;
  std::size_t room = 0;
  while (::getline(&line, &room, pipe) > 0) lines.emplace_back(line);
  std::free(line);
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(lines, gzip_lines(folder + "/books.jsonl.gz"));
}

}  // namespace
}  // namespace stopbit::market
