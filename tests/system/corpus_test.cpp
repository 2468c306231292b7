// Real captures and template files, from the folder that STOPBIT_CORPUS names.

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "assembler/assembler.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/analyse/profile/counter.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/file_text.hpp"

namespace stopbit {
namespace {

std::optional<std::filesystem::path> corpus() {
  const char* folder = std::getenv("STOPBIT_CORPUS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

std::optional<Program> compile(const std::filesystem::path& path, const templates::CompileOptions& options) {
  const auto text = testing::file_text_if_any(path);
  if (!text) {
    ADD_FAILURE() << path << " cannot be read";
    return std::nullopt;
  }
  Diagnostics diagnostics;
  auto program =
      templates::compile({std::make_shared<SourceBuffer>(path.filename().string(), *text)}, options, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program;
}

/// The lines of a gzip file.
class GzipLines {
 public:
  explicit GzipLines(const std::filesystem::path& path) : file_(gzopen(path.c_str(), "rb")) {}
  ~GzipLines() {
    if (file_ != nullptr) gzclose(file_);
  }
  GzipLines(const GzipLines&) = delete;
  GzipLines& operator=(const GzipLines&) = delete;

  [[nodiscard]] bool good() const { return file_ != nullptr; }
  /// Nothing at the end.
  std::optional<std::string> next() {
    std::string line;
    char buffer[4096];
    while (gzgets(file_, buffer, sizeof buffer) != nullptr) {
      line += buffer;
      if (line.back() == '\n') {
        line.pop_back();
        return line;
      }
    }
    return line.empty() ? std::nullopt : std::optional(line);
  }

 private:
  gzFile file_;
};

/// White space outside strings does not matter.
std::string without_space(const std::string& json) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_string && json[i] == '\\' && i + 1 < json.size()) {
      result += json[i++];
    } else if (json[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && (json[i] == ' ' || json[i] == '\t')) {
      continue;
    }
    result += json[i];
  }
  return result;
}

/// Finds FIX tag 34, MsgSeqNum.
struct SequenceFinder : record::Visitor {
  void field(const SchemaNode& node, const record::Value& value) {
    if (node.id == 34) sequence = value.bits;
  }
  std::optional<std::uint64_t> sequence;
};

struct Capture {
  const char* folder;
  const char* framing;
  std::uint64_t packets;
  std::uint64_t messages;
  bool sequence_is_tag_34;  ///< The preamble's sequence number is the message's.
};

void PrintTo(const Capture& capture, std::ostream* out) {
  *out << capture.folder;
}

/// Every datagram of a capture, to `use(std::span<const std::byte>, const PacketInfo&)`.
template <class Use>
void each_datagram(const std::filesystem::path& path, const net::Framing& framing, Use use) {
  auto source = ingest::open_capture(path.string());
  ASSERT_TRUE(source) << source.message();
  ingest::Packet packet;
  ingest::Next next = ingest::Next::End;
  while ((next = source.value()->next(packet)) == ingest::Next::Packet) {
    net::Datagram datagram;
    ASSERT_EQ(net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram), net::Verdict::Accepted);
    const net::Preamble preamble = net::read_preamble(framing, datagram.payload);
    ASSERT_EQ(preamble.error, ErrorCode::None) << "packet " << packet.number;
    PacketInfo info;
    info.number = packet.number;
    info.sequence = static_cast<std::uint32_t>(preamble.sequence);
    info.data_offset = preamble.data_begin;
    use(datagram.payload.first(preamble.data_end), info);
  }
  EXPECT_EQ(next, ingest::Next::End);
}

/// Programs for the maps that the first half of the capture has.
Program profiled(const Program& program, const EngineOptions& options, const std::filesystem::path& capture,
                 const net::Framing& framing, std::uint64_t packets) {
  profile::Counter counter(program, options, 1, (packets + 1) / 2);
  record::BufferSink sink(program.max_record_slots, [](std::span<const record::Slot>) {});
  each_datagram(capture, framing, [&](std::span<const std::byte> bytes, const PacketInfo& info) {
    (void)counter.decode(bytes, info, sink);
  });
  const Result<profile::Profile> read = profile::from_json(profile::to_json(counter.take()));
  EXPECT_TRUE(read) << read.message();
  const profile::Resolved resolved = profile::resolve(read.value(), program);
  EXPECT_TRUE(resolved.unknown.empty());
  Program out = program;
  (void)profile::add_profiles(out, resolved.counts, {});
  return out;
}

class Captures : public ::testing::TestWithParam<std::tuple<Capture, EngineKind, bool>> {};

TEST_P(Captures, decode_to_the_expected_lines) {
  if (!corpus()) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  const Capture& expected = std::get<0>(GetParam());
  const EngineKind kind = std::get<1>(GetParam());
  const bool has_profile = std::get<2>(GetParam());
  const std::filesystem::path folder = *corpus() / expected.folder;
  const auto framing = net::parse_framing(expected.framing);
  ASSERT_TRUE(framing) << framing.message();
  EngineOptions options;
  options.reset = framing.value().reset;

  // Through the image, as a user's program goes.
  auto compiled = compile(folder / "templates.xml", {});
  ASSERT_TRUE(compiled);
  if (has_profile) {
    *compiled = profiled(*compiled, options, folder / "capture.pcap", framing.value(), expected.packets);
  }
  const Result<Program> loaded = image::read(image::write(*compiled));
  ASSERT_TRUE(loaded) << loaded.message();
  const Program& program = loaded.value();
  ASSERT_TRUE(verify::check(program).ok());
  const Result<record::Schema> schema = record::Schema::make(program);
  ASSERT_TRUE(schema) << schema.message();

  GzipLines lines(folder / "expected.jsonl.gz");
  ASSERT_TRUE(lines.good());

  record::JsonPrinter printer(schema.value());
  record::Reader reader(schema.value());
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  std::uint64_t preamble_sequence = 0;
  std::size_t differences = 0;
  constexpr std::size_t kShown = 3;
  const auto on_record = [&](std::span<const record::Slot> slots) {
    ++messages;
    std::string line;
    const record::ReadError error = printer.print(slots, line);
    if (!line.empty()) line.pop_back();
    const std::string wanted = lines.next().value_or("(no more lines)");
    if ((error != record::ReadError::None || without_space(line) != without_space(wanted)) && differences++ < kShown) {
      ADD_FAILURE() << "packet " << packets << ", message " << messages << ": " << record::error_text(error)
                    << "\nexpected " << wanted << "\ngot      " << line;
    }
    SequenceFinder finder;
    if (expected.sequence_is_tag_34 && reader.read(slots, finder) == record::ReadError::None &&
        finder.sequence != preamble_sequence && differences++ < kShown) {
      ADD_FAILURE() << "packet " << packets << ": preamble and tag 34 disagree";
    }
  };
  record::BufferSink sink(program.max_record_slots, on_record);
  const MadeEngine made = make_engine(program, options, kind);
  ASSERT_EQ(made.kind, kind) << made.why_not_native;

  std::size_t errors = 0;
  each_datagram(folder / "capture.pcap", framing.value(),
                [&](std::span<const std::byte> bytes, const PacketInfo& info) {
                  ++packets;
                  preamble_sequence = info.sequence;
                  const Outcome outcome = made.engine->decode(bytes, info, sink);
                  if ((outcome.error != ErrorCode::None || outcome.dropped) && errors++ < kShown) {
                    ADD_FAILURE() << "packet " << info.number << ": " << code_text(outcome.error) << " at "
                                  << outcome.offset_bytes;
                  }
                });
  EXPECT_EQ(errors, 0U);
  EXPECT_EQ(differences, 0U);
  EXPECT_EQ(packets, expected.packets);
  EXPECT_EQ(messages, expected.messages);
  EXPECT_FALSE(lines.next()) << "more lines are expected than messages came";
}

std::string test_name(const ::testing::TestParamInfo<std::tuple<Capture, EngineKind, bool>>& test) {
  const auto& [capture, kind, has_profile] = test.param;
  std::string name = std::string(capture.folder) + "_" + std::string(engine_name(kind));
  if (has_profile) name += "_with_a_profile_of_its_first_half";
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Captures,
                         ::testing::Combine(::testing::Values(Capture{"cme-mdp-2012", "cme", 10'000, 10'000, true},
                                                              Capture{"moex-asts-trades-2019", "moex", 5'020, 5'020,
                                                                      true},
                                                              Capture{"eurex-rdi-2016", "t7", 1, 20, false},
                                                              Capture{"complex30000", "none", 30'001, 30'001, false}),
                                            ::testing::ValuesIn(cases::engine_kinds()), ::testing::Bool()),
                         test_name);

TEST(Templates, of_real_exchanges_compile_and_survive_image_and_listing) {
  if (!corpus()) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*corpus())) {
    if (entry.path().extension() != ".xml") continue;
    SCOPED_TRACE(entry.path().string());
    ++files;
    templates::CompileOptions options;
    options.template_id = 1;  // for the files whose only template has none
    const auto program = compile(entry.path(), options);
    if (!program) continue;
    EXPECT_TRUE(verify::check(*program).ok());
    const std::vector<std::byte> bytes = image::write(*program);
    const Result<Program> read = image::read(bytes);
    ASSERT_TRUE(read) << read.message();
    EXPECT_TRUE(read.value() == *program);

    Diagnostics diagnostics;
    const auto listing = std::make_shared<SourceBuffer>("listing", assembler::disassemble(*program));
    const auto assembled = assembler::assemble(listing, diagnostics);
    ASSERT_TRUE(assembled) << diagnostics.format();
    EXPECT_EQ(image::write(*assembled), bytes);
  }
  EXPECT_EQ(files, 20U);
}

}  // namespace
}  // namespace stopbit
