// Any slots, read as a record of a few fixed template sets: by the reader that goes by the schema, by every printer,
// and by the check of a generated view. All of them say the same, and nothing is read outside the slots.
//
// Input: template set, then slots of 64 bytes.

#include <algorithm>
#include <cstring>
#include <vector>

#include "decoder/record/csv.hpp"
#include "decoder/record/fix.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/wide.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/lib/view_shape.hpp"

namespace {

using namespace stopbit;
using record::ReadError;

bool is_one_line(std::string_view text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

template <class Printer>
std::string print(Printer printer, std::span<const record::Slot> slots, ReadError expected) {
  std::string text = "before";
  const ReadError error = printer.print(slots, text);
  fuzz::require(error == expected || error == ReadError::TooLong, "printer and reader agree",
                record::error_text(error));
  if (error != ReadError::None) fuzz::require(text == "before", "a record that cannot be read leaves no text", text);
  return text.substr(6);
}

/// The walk that generated views use to find the fields after sequences: over a good record it ends where that ends.
void check_walk(const view::Shape& shape, std::span<const record::Slot> slots) {
  const record::HeaderView header(slots[0]);
  const view::Template& item = shape.templates[header.template_index()];
  const record::Slot* const end = slots.data() + header.slots() - header.string_slots();
  view::Walk<false> walk(shape, slots.data(), end);
  fuzz::require(walk.open(item.root_block, record::kHeaderWords) && walk.nodes(item.first_node, item.end_node) &&
                    walk.next() == end,
                "a walk ends where the record does");
}

/// The wide table of the record's template, and those of its outermost sequences.
void print_tables(const record::Schema& schema, std::span<const record::Slot> slots, ReadError expected) {
  const std::vector<Template>& templates = schema.program().templates;
  const std::size_t index = slots.empty() ? templates.size() : record::HeaderView(slots[0]).template_index();
  const Template& item = templates[index < templates.size() ? index : 0];
  std::vector<std::string> names = {std::to_string(item.id)};
  for (std::size_t i = item.first_node; i < item.end_node; i = schema.node(i).end) {
    const SchemaNode& node = schema.node(i);
    if (node.kind == NodeKind::Sequence && !node.unstored) {
      names.push_back(names[0] + '/');
      record::append_utf8(names.back(), schema.name(node.name), false);
    }
  }
  for (const std::string& name : names) {
    Result<record::WideTable> table = record::WideTable::make(schema, name);
    fuzz::require(table.ok(), "a template and its sequences are tables", name);
    const std::string rows =
        print(record::WideCsvPrinter(std::move(table).value(), record::TimeStyle::Iso), slots, expected);
    fuzz::require(rows.empty() || rows.back() == '\n', "rows are whole", rows);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const Program& program = fuzz::fixed_program(input.byte());
  const std::span<const std::byte> bytes = input.rest();
  // Exactly as many slots as there are, so that a sanitizer sees a read past their end.
  std::vector<record::Slot> slots(bytes.size() / sizeof(record::Slot));
  if (!slots.empty()) std::memcpy(slots.data(), bytes.data(), slots.size() * sizeof(record::Slot));

  const record::Schema schema = record::Schema::make(program).value();
  const cases::ViewShape tables(program);
  record::Reader reader(schema);
  const bool is_event = !slots.empty() && record::HeaderView(slots[0]).is_event();
  const ReadError expected = is_event ? reader.open(slots) : reader.read(slots, record::Visitor());

  const ReadError by_view = view::check(tables.shape(), slots);
  fuzz::require(by_view == expected, "view and reader agree", record::error_text(by_view));
  if (by_view == ReadError::None && !is_event) check_walk(tables.shape(), slots);

  const bool is_good = expected == ReadError::None;
  const std::string json = print(record::JsonPrinter(schema), slots, expected);
  const std::string fix = print(record::FixPrinter(schema, record::FixStyle::Readable), slots, expected);
  (void)print(record::FixPrinter(schema, record::FixStyle::Raw), slots, expected);
  (void)print(record::CsvPrinter(schema), slots, expected);
  print_tables(schema, slots, expected);
  if (is_good && !json.empty()) fuzz::require(is_one_line(json), "a record is one JSON line", json);
  if (is_good && !fix.empty()) {
    const bool is_readable = std::none_of(fix.begin(), fix.end() - 1,
                                          [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
    fuzz::require(is_one_line(fix) && is_readable, "a record is one readable line of FIX", fix);
  }
  return 0;
}
