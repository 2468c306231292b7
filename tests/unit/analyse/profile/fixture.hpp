#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "assembler/assembler.hpp"
#include "microcode/profile/straight_line.hpp"
#include "templates/compiler.hpp"

namespace stopbit::profile {

/// The program of a template file whose `templates` element holds this.
inline Program compiled(const std::string& text) {
  Diagnostics diagnostics;
  const std::string file = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">)" + text + "</templates>";
  auto program = templates::compile({std::make_shared<SourceBuffer>("t.xml", file)}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program.value_or(Program());
}

/// "1011" as a map has it: the first bit on top.
inline std::uint64_t map_of(const std::string& bits) {
  std::uint64_t map = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) map |= std::uint64_t{bits[i] == '1'} << (63 - i);
  return map;
}

/// "COP_U32_MAN 0?1, DEF_U32_OPT 1?0 END": data-op, word, what is known; then the control-op and its target.
inline std::string text(const std::vector<isa::Instruction>& code) {
  std::string out;
  for (const isa::Instruction& in : code) {
    if (!out.empty()) out += ", ";
    out += isa::info(in.op)->mnemonic;
    if (in.word != isa::kNoWord) out += ' ' + std::to_string(in.word);
    if (in.known != isa::KnownBit::No) out += in.known == isa::KnownBit::Set ? "?1" : "?0";
    if (in.control == isa::ControlOp::Next) continue;
    out += ' ' + std::string(isa::info(in.control)->mnemonic);
    if (isa::info(in.control)->target != isa::TargetUse::None) out += ' ' + std::to_string(in.target);
  }
  return out;
}

/// What the segment becomes with these bits; "-" if nothing.
inline std::string line_text(const Program& program, std::uint16_t segment, const std::string& bits) {
  const auto begins = segment_begins(program);
  const auto begin = begins.find(segment);
  if (begin == begins.end()) return "no segment";
  const auto line = straight_line(program, begin->second, map_of(bits), program.code.size(), 1'000);
  return line ? std::to_string(line->taken) + ": " + text(line->code) : "-";
}

inline constexpr std::uint16_t kFirstBody = ProfileEntry::kBody;

}  // namespace stopbit::profile
