#pragma once

#include "host/tools/command.hpp"

/// One function per command, each in a file of its own.
namespace stopbit::tools {

[[nodiscard]] Command compile_command();
[[nodiscard]] Command asm_command();
[[nodiscard]] Command disasm_command();
[[nodiscard]] Command verify_command();
[[nodiscard]] Command info_command();
[[nodiscard]] Command replay_command();
[[nodiscard]] Command decode_command();
[[nodiscard]] Command encode_command();
[[nodiscard]] Command simulate_command();
[[nodiscard]] Command check_host_command();
[[nodiscard]] Command explain_command();
[[nodiscard]] Command guess_command();
[[nodiscard]] Command profile_command();
[[nodiscard]] Command tail_command();
[[nodiscard]] Command subscribe_command();
[[nodiscard]] Command channels_command();
[[nodiscard]] Command slice_command();
[[nodiscard]] Command compare_command();
[[nodiscard]] Command impair_command();
[[nodiscard]] Command dissector_command();
[[nodiscard]] Command gen_command();
[[nodiscard]] Command diff_command();
[[nodiscard]] Command run_command();
[[nodiscard]] Command ready_command();
[[nodiscard]] Command stat_command();
[[nodiscard]] Command gaps_command();
[[nodiscard]] Command top_command();
[[nodiscard]] Command completion_command();
[[nodiscard]] Command man_command();

}  // namespace stopbit::tools
