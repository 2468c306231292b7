#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/lib/scratch.hpp"

/// Runs the built command as a user does, in a folder of its own.
namespace stopbit::tools::testing {

struct Finished {
  int status = -1;  ///< Exit status; 128 + n if signal n ended it.
  std::string out;
  std::string err;
};

using stopbit::testing::Scratch;

/// `stopbit ARGUMENTS...` with `input` on stdin.
[[nodiscard]] Finished run_stopbit(const std::vector<std::string>& arguments, std::string_view input = {});

/// A shell script in which `$stopbit` is the command; for pipes and redirections.
[[nodiscard]] Finished run_script(const std::string& script, std::string_view input = {});

[[nodiscard]] std::string shell_quoted(std::string_view text);
/// The command with these arguments, as a script writes it.
[[nodiscard]] std::string command_text(const std::vector<std::string>& arguments);

/// A nanosecond pcap file whose packets carry the payloads, each to its port of 224.0.31.1.
struct CapturedPacket {
  std::string payload;
  unsigned port = 10001;
  std::uint64_t arrival_ns = 0;
};
[[nodiscard]] std::string capture_of(const std::vector<CapturedPacket>& packets);

/// Bytes written in hex, blanks allowed.
[[nodiscard]] std::string from_hex(std::string_view text);

/// Template 1, Quote: an optional copied price and a string; template 2, Reset.
inline constexpr std::string_view kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Quote" id="1"><uInt32 name="Px" presence="optional"><copy/></uInt32><string name="S"/></template>
  <template name="Clear" id="2" reset="yes"><uInt32 name="N"/></template>
</templates>
)";

}  // namespace stopbit::tools::testing
