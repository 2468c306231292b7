#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/isa/isa.hpp"
#include "templates/compiler.hpp"

namespace stopbit::templates {

struct Compiled {
  std::optional<Program> program;
  Diagnostics diagnostics;
};

inline Compiled compile_texts(const std::vector<std::string>& texts, const CompileOptions& options = {}) {
  std::vector<std::shared_ptr<const SourceBuffer>> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    sources.push_back(std::make_shared<SourceBuffer>(std::string(1, static_cast<char>('a' + i)) + ".xml", texts[i]));
  }
  Compiled out;
  out.program = compile(sources, options, out.diagnostics);
  return out;
}

inline Compiled compile_text(const std::string& text, const CompileOptions& options = {}) {
  return compile_texts({text}, options);
}

/// Errors and warnings as "S2@1:31 S4@2:5 warning@3:1", in the order of their finding.
inline std::string summary(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& item : diagnostics.all()) {
    if (item.severity == Severity::Note) continue;
    if (!out.empty()) out += ' ';
    out += item.severity == Severity::Warning ? "warning" : std::string(code_text(item.code));
    if (!item.range.source) continue;
    const SourceBuffer::Position position = item.range.source->position(item.range.offset);
    out += '@' + std::to_string(position.line) + ':' + std::to_string(position.column);
  }
  return out;
}

inline std::string join(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

/// `inner` with `depth` elements around it.
inline std::string nest(const std::string& inner, int depth, std::string_view start, std::string_view end) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += start;
  out += inner;
  for (int i = 0; i < depth; ++i) out += end;
  return out;
}

/// One template of a file, as it is used most.
inline std::string one_template(const std::string& body) {
  return "<template name='T' id='1'>" + body + "</template>";
}

inline const Template* find_template(const Program& program, std::uint32_t id) {
  for (const Template& item : program.templates) {
    if (item.id == id) return &item;
  }
  return nullptr;
}

inline std::string constant_text(const Program& program, const Constant& constant) {
  std::string out;
  if (constant.kind == ValueKind::Integer) out += std::to_string(static_cast<std::int64_t>(constant.value));
  if (constant.kind == ValueKind::Bytes) out += '"' + std::string(program.constant_bytes(constant.bytes())) + '"';
  switch (constant.limit_kind) {
    case LimitKind::None: break;
    case LimitKind::Unsigned: out += " <=" + std::to_string(constant.limit); break;
    case LimitKind::Signed: out += " bits<=" + std::to_string(constant.limit); break;
    case LimitKind::Enum: out += " <" + std::to_string(constant.limit); break;
    case LimitKind::Set: out += " set" + std::to_string(constant.limit); break;
    case LimitKind::Bits: out += " bits=" + std::to_string(constant.limit); break;
  }
  return '{' + out + '}';
}

/// The code from `entry` up to the next entry, a line per instruction. Addresses count from `entry`, blocks from the
/// template's root block:
///   "COP_U32_MAN w0 [global/X] {5} SEQ 4"
inline std::string listing_at(const Program& program, std::size_t entry, std::size_t root_block) {
  std::size_t end = program.code.size();
  for (const DispatchEntry& item : program.dispatch) {
    if (item.entry > entry && item.entry < end) end = item.entry;
  }
  std::string out;
  for (std::size_t i = entry; i < end; ++i) {
    const isa::Instruction& in = program.code[i];
    const isa::DataOpInfo& op = *isa::info(in.op);
    const isa::ControlOpInfo& control = *isa::info(in.control);
    out += op.mnemonic;
    if (isa::is_bit(in.op)) {
      const isa::BitField field = isa::BitField::of(in.slot);
      out += " bits=" + std::to_string(field.position) + ':' + std::to_string(field.width);
    }
    if (in.op == isa::DataOp::Pmap) out += " bits=" + std::to_string(in.slot);
    if (in.word != isa::kNoWord) out += " w" + std::to_string(in.word);
    if (op.uses_slot) out += " [" + std::string(program.name(program.slots[in.slot].name)) + ']';
    if (in.op != isa::DataOp::Pmap && in.constant != 0)
      out += ' ' + constant_text(program, program.constants[in.constant]);
    if (in.control != isa::ControlOp::Next) out += ' ' + std::string(control.mnemonic);
    if (control.target == isa::TargetUse::Address) out += ' ' + std::to_string(in.target - entry);
    if (control.target == isa::TargetUse::Block) out += ' ' + std::to_string(in.target - root_block);
    if (control.target == isa::TargetUse::Table) out += ' ' + std::to_string(in.target);
    out += '\n';
  }
  return out;
}

/// Code of the template with this identifier, for callers of dispatch table `table`; or the diagnostics.
inline std::string listing(const Compiled& compiled, std::uint32_t id = 1, std::uint16_t table = 0) {
  if (!compiled.program) return compiled.diagnostics.format();
  for (const DispatchEntry& entry : compiled.program->dispatch) {
    if (entry.table != table || entry.id != id) continue;
    return listing_at(*compiled.program, entry.entry, compiled.program->templates[entry.template_index].root_block);
  }
  return "no such template";
}

inline std::string listing_of(const std::string& body) {
  return listing(compile_text(one_template(body)));
}

}  // namespace stopbit::templates
