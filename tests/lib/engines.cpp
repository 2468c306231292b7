#include "tests/lib/engines.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "microcode/base/hex.hpp"

namespace stopbit::cases {
namespace {

/// A message without fields.
Program smallest_program() {
  Program program;
  program.code = {{.op = isa::DataOp::Pmap, .slot = 8},
                  {.op = isa::DataOp::Tid, .control = isa::ControlOp::Disp},
                  {.control = isa::ControlOp::End}};
  program.constants.emplace_back();
  program.slots.emplace_back();
  program.blocks.emplace_back();
  program.templates.emplace_back().id = 1;
  program.dispatch.push_back({0, 1, 0, 2});
  return program;
}

std::vector<EngineKind> find_kinds() {
  const Program program = smallest_program();
  const MadeEngine native = make_engine(program, {}, EngineKind::Native);
  if (native.kind == EngineKind::Native) return {EngineKind::Interp, EngineKind::Quick, EngineKind::Native};
  std::fprintf(stderr, "native code is not tested: %s\n", native.why_not_native.c_str());
  return {EngineKind::Interp, EngineKind::Quick};
}

std::string hex(std::uint64_t word) {
  std::string text;
  append_hex(text, word, 16);
  return text;
}

}  // namespace

const std::vector<EngineKind>& engine_kinds() {
  static const std::vector<EngineKind> kinds = find_kinds();
  return kinds;
}

std::vector<TestedEngine> make_engines(const Program& program, const EngineOptions& options) {
  std::vector<TestedEngine> engines;
  for (const EngineKind kind : engine_kinds()) {
    MadeEngine made = make_engine(program, options, kind);
    if (made.kind != kind) {
      std::fprintf(stderr, "%s\n", made.why_not_native.c_str());
      std::abort();
    }
    engines.push_back({engine_name(kind), std::move(made.engine)});
  }
  return engines;
}

std::string difference(const Outcome& reference, const Outcome& other) {
  std::string text;
  const auto compare = [&](const char* what, auto a, auto b) {
    if (a != b) text += std::string(what) + ' ' + std::to_string(b) + " instead of " + std::to_string(a) + "; ";
  };
  if (reference.error != other.error) {
    const auto name = [](ErrorCode code) {
      return code == ErrorCode::None ? std::string("no error") : std::string(code_text(code));
    };
    text += name(other.error) + " instead of " + name(reference.error) + "; ";
  }
  compare("dropped", reference.dropped, other.dropped);
  compare("messages", reference.messages, other.messages);
  compare("fields", reference.fields, other.fields);
  compare("offset", reference.offset_bytes, other.offset_bytes);
  compare("template id", reference.template_id, other.template_id);
  compare("template", reference.template_index, other.template_index);
  compare("block", reference.block, other.block);
  compare("word", reference.word, other.word);
  return text;
}

std::string difference(const std::vector<Record>& reference, const std::vector<Record>& other) {
  for (std::size_t i = 0; i < std::min(reference.size(), other.size()); ++i) {
    const std::string where = "record " + std::to_string(i + 1);
    if (reference[i].size() != other[i].size()) {
      return where + ": " + std::to_string(other[i].size()) + " slots instead of " +
             std::to_string(reference[i].size());
    }
    for (std::size_t slot = 0; slot < reference[i].size(); ++slot) {
      for (std::size_t word = 0; word < record::kSlotWords; ++word) {
        const std::uint64_t a = reference[i][slot].words[word];
        const std::uint64_t b = other[i][slot].words[word];
        if (a == b) continue;
        return where + ", slot " + std::to_string(slot) + ", word " + std::to_string(word) + ": " + hex(b) +
               " instead of " + hex(a);
      }
    }
  }
  if (reference.size() == other.size()) return {};
  return std::to_string(other.size()) + " records instead of " + std::to_string(reference.size());
}

}  // namespace stopbit::cases
