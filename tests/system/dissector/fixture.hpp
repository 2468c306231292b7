#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "decoder/engine/engine.hpp"
#include "host/net/framing.hpp"
#include "templates/compiler.hpp"
#include "templates/emit/lua/dissector.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/system/dissector/tshark.hpp"

namespace stopbit::dissector {

/// A test with a folder of its own, gone with it. Fails without tshark.
class DissectorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(has_tshark()) << "there is no tshark: apt-get install tshark";
    std::string name = (std::filesystem::temp_directory_path() / "stopbit-dissector-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    run_.folder = name;
    run_.capture = run_.folder / "capture.pcap";
  }
  void TearDown() override {
    if (!run_.folder.empty()) std::filesystem::remove_all(run_.folder);
  }

  /// The options of a dissector that decodes as an engine with these options.
  static emit::DissectorOptions options_of(const EngineOptions& engine, const net::Framing& framing = {}) {
    using Kind = emit::DissectorFraming::Kind;
    using Reset = emit::DissectorFraming::Reset;
    emit::DissectorOptions options;
    options.framing.kind = framing.kind == net::FramingKind::B3   ? Kind::B3
                           : framing.kind == net::FramingKind::T7 ? Kind::T7
                                                                  : Kind::Fixed;
    options.framing.skip = framing.skip;
    options.framing.sequence = {framing.sequence.offset, framing.sequence.bytes, framing.sequence.big_endian};
    options.framing.length = {framing.length.offset, framing.length.bytes, framing.length.big_endian};
    options.framing.blocks = framing.blocks;
    options.framing.reset = engine.reset == ResetRule::Packet     ? Reset::Packet
                            : engine.reset == ResetRule::Template ? Reset::Template
                                                                  : Reset::Never;
    options.strict = engine.strict;
    options.limits = {.datagram_bytes = engine.limits.datagram_bytes,
                      .elements = engine.limits.elements,
                      .empty_elements = engine.limits.empty_elements,
                      .nesting = engine.limits.nesting,
                      .string_bytes = engine.limits.string_bytes};
    return options;
  }

  /// Writes a dissector, to be loaded by the next run.
  void add_script(const Program& program, const emit::DissectorOptions& options) {
    const std::filesystem::path path = run_.folder / (options.name + ".lua");
    std::ofstream(path, std::ios::binary) << emit::lua_dissector(program, options);
    run_.scripts.push_back(path);
  }

  static std::optional<Program> compile(const std::filesystem::path& path) {
    const auto text = cases::read_file(path);
    if (!text) return std::nullopt;
    Diagnostics diagnostics;
    auto program =
        templates::compile({std::make_shared<SourceBuffer>(path.filename().string(), *text)}, {}, diagnostics);
    EXPECT_TRUE(program) << diagnostics.format();
    return program;
  }

  TsharkRun run_;
};

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
    // What follows would be shifted.
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

}  // namespace stopbit::dissector
