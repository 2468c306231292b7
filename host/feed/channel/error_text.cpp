#include "host/feed/channel/error_text.hpp"

#include <algorithm>
#include <cstdio>

#include "decoder/record/schema.hpp"
#include "decoder/record/text.hpp"

namespace stopbit::feed {
namespace {

/// Names come from files of unknown origin: nothing in them may disturb a terminal or a line.
std::string plain(std::string_view text) {
  std::string out;
  record::append_json_string(out, text, false);
  return out.substr(1, out.size() - 2);
}

std::string file_place(const Program& program, std::uint16_t source, std::uint32_t line) {
  if (line == 0 || source >= program.sources.size()) return {};
  return " (" + plain(program.name(program.sources[source].name)) + ":" + std::to_string(line) + ")";
}

/// An error outside a template that is not of the presence map or the framing.
bool is_of_identifier(ErrorCode error) {
  return error == ErrorCode::D2 || error == ErrorCode::D4 || error == ErrorCode::D5 || error == ErrorCode::R6;
}

/// How many bytes of the excerpt the error is about, from its place on.
std::size_t faulty_bytes(const Outcome& outcome, const Excerpt& bytes) {
  const std::size_t at = std::min<std::size_t>(outcome.offset_bytes - bytes.begin, bytes.size);
  switch (outcome.error) {
    // The field took no byte; the offset is where it would be.
    case ErrorCode::D5: return 1;
    case ErrorCode::X1: return std::max<std::size_t>(1, bytes.size - at);
    default: break;
  }
  for (std::size_t i = at; i < bytes.size; ++i) {
    if ((bytes.bytes[i] & std::byte{0x80}) != std::byte{0}) return i - at + 1;
  }
  return std::max<std::size_t>(1, bytes.size - at);
}

}  // namespace

Excerpt excerpt(std::span<const std::byte> datagram, std::uint32_t offset) noexcept {
  Excerpt out;
  const std::size_t at = std::min<std::size_t>(offset, datagram.size());
  const std::size_t begin = at - std::min(at, Excerpt::kBefore);
  const std::size_t size = std::min(datagram.size() - begin, out.bytes.size());
  std::copy_n(datagram.begin() + static_cast<std::ptrdiff_t>(begin), size, out.bytes.begin());
  out.begin = static_cast<std::uint32_t>(begin);
  out.size = static_cast<std::uint8_t>(size);
  return out;
}

std::string place_text(const Program& program, const Outcome& outcome) {
  const auto schema = record::Schema::make(program);
  const Template* const found = schema ? schema.value().find(outcome.template_index) : nullptr;
  if (found == nullptr) return {};
  std::string text = "template '" + plain(program.name(found->name)) + "' (id " + std::to_string(found->id) + ")";
  const SchemaNode* const node = schema.value().owner(outcome.template_index, outcome.block, outcome.word);
  if (node == nullptr) return text + file_place(program, found->source, found->line);
  return text + ", field '" + plain(schema.value().owner_name(*node)) + "'" +
         file_place(program, node->source, node->line);
}

std::string error_text(const Program& program, const Outcome& outcome, const Excerpt& bytes) {
  std::string text = "byte " + std::to_string(outcome.offset_bytes) + ": " + std::string(code_meaning(outcome.error));
  if (outcome.error == ErrorCode::D9) text += " " + std::to_string(outcome.template_id);
  const std::string place = place_text(program, outcome);
  if (!place.empty()) {
    text += ", in " + place;
  } else if (is_of_identifier(outcome.error)) {
    text += ", in the template identifier";
  }
  text += " [" + std::string(code_text(outcome.error)) + "]";

  std::array<char, 16> offset{};
  (void)std::snprintf(offset.data(), offset.size(), "  %04x:", bytes.begin);
  std::string line = offset.data();
  const std::size_t margin = line.size();
  for (std::size_t i = 0; i < bytes.size; ++i) {
    line += ' ';
    const auto byte = static_cast<char>(bytes.bytes[i]);
    record::append_hex(line, {&byte, 1});
  }
  const std::size_t at = std::min<std::size_t>(outcome.offset_bytes - bytes.begin, bytes.size);
  return text + '\n' + line + '\n' + std::string(margin + 3 * at + 1, ' ') +
         std::string(3 * faulty_bytes(outcome, bytes) - 1, '^');
}

}  // namespace stopbit::feed
