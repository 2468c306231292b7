#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/replay/replay.hpp"
#include "templates/emit/lua/dissector.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/system/dissector/tshark.hpp"

namespace stopbit::dissector {

/// Without what was lost before it could be decoded.
[[nodiscard]] std::uint64_t decode_errors(const replay::Summary& summary);

/// A test with a folder of its own, gone with it. Fails without tshark.
class DissectorTest : public ::testing::Test {
 protected:
  void SetUp() override;

  static std::optional<Program> compile(const std::filesystem::path& path);
  static std::optional<Program> compile_text(const std::string& text);

  /// The options of a dissector that decodes as an engine with these options.
  static emit::DissectorOptions options_of(const EngineOptions& engine, const net::Framing& framing = {});

  /// Writes a dissector, to be loaded by the next run.
  void add_script(const Program& program, const emit::DissectorOptions& options);

  /// tshark must show what a replay of run_.capture gives, value for value, in order. Drops are reported once a
  /// datagram.
  /// @returns what the replay counted
  replay::Summary expect_same_as_replay(const Program& program, const replay::Options& options,
                                        const std::vector<std::uint16_t>& ports);

  const stopbit::testing::Scratch scratch_;
  TsharkRun run_;
};

/// Many feeds in one capture, each with a dissector and a port of its own.
class FeedsTest : public DissectorTest {
 protected:
  struct Feed {
    std::string name;
    EngineOptions options;
    Program program;
  };

  struct Datagram {
    std::size_t feed = 0;
    std::uint16_t channel = 0;
    bool reset_before = false;  ///< Of the channel: in the capture it goes on in another group.
    std::vector<std::byte> bytes;
    std::string what;
  };

  /// @returns its number
  std::size_t add_feed(Feed feed);
  /// Every prefix of a datagram and every datagram with one bit turned, each alone.
  static void add_damaged(const Datagram& whole, std::size_t first_byte, std::vector<Datagram>& all);
  /// tshark must show what an engine gives for each datagram. A feed's datagrams follow each other.
  void expect_same(const std::vector<Datagram>& all);

  /// Whether an IPv4 packet can carry it, and Wireshark calls a dissector for it.
  static bool is_sendable(std::span<const std::byte> bytes);

 private:
  std::vector<Feed> feeds_;
};

}  // namespace stopbit::dissector
