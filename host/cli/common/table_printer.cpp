#include "host/cli/common/table_printer.hpp"

#include <algorithm>
#include <utility>

#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr bool begins_letter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

std::string number(std::uint64_t value) {
  std::string out;
  record::append_unsigned(out, value);
  return out;
}

}  // namespace

TablePrinter::TablePrinter(record::WideTable table, record::TimeStyle style, bool has_head)
    : table_(std::move(table)), style_(style), has_head_(has_head) {
  const auto add_title = [&](std::string_view name, bool is_number) {
    titles_.push_back(cell_of(name));
    is_number_.push_back(is_number);
    widths_.push_back(titles_.back().letters);
  };
  add_title("message", true);
  add_title("@time", false);
  if (has_head) add_title("@clock", false);
  add_title("@channel", true);
  add_title("@line", false);
  add_title("@sequence", true);
  if (has_head) add_title("@message", true);
  if (has_head) add_title("@epoch", true);
  if (has_head) add_title("@flags", false);
  for (const std::string& level : table_.levels()) add_title(level, true);
  for (const record::WideTable::Column& column : table_.columns()) add_title(column.name, column.is_number);
}

TablePrinter::Cell TablePrinter::cell_of(std::string_view text) {
  // Bytes first: a long text is not made printable only to be cut.
  constexpr std::size_t kMostBytes = 4 * (kMaxCellLetters + 1);
  const std::string shown = printable(text.substr(0, kMostBytes));
  Cell cell;
  std::size_t last = 0;  // begin of the last letter that fits beside the sign for the rest
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!begins_letter(shown[i])) continue;
    if (cell.letters == kMaxCellLetters) {
      cell.text = shown.substr(0, last) + "\u2026";
      return cell;
    }
    if (++cell.letters == kMaxCellLetters) last = i;
  }
  cell.text = shown;
  return cell;
}

void TablePrinter::add_head(Row& row, const record::HeaderView& header) const {
  std::string time;
  record::append_time(time, header.arrival_ns(), style_);
  row.push_back(cell_of(number(messages_)));
  row.push_back(cell_of(time));
  if (has_head_) row.push_back(cell_of(record::clock_name(header.time_quality())));
  row.push_back(cell_of(number(header.channel())));
  row.push_back(cell_of(record::line_name(header.source())));
  row.push_back(cell_of(number(header.sequence())));
  if (!has_head_) return;
  row.push_back(cell_of(number(header.message_index())));
  row.push_back(cell_of(number(header.sender_epoch())));
  std::string flags;
  record::append_flags(flags, header.flags(), ' ');
  row.push_back(cell_of(flags));
}

record::ReadError TablePrinter::print(std::span<const record::Slot> slots, std::string& out) {
  const bool is_message = !slots.empty() && !record::HeaderView(slots[0]).is_event();
  if (is_message) ++messages_;
  const auto on_row = [&](std::span<const std::uint32_t> indices, std::span<const record::WideTable::Cell> cells) {
    Row row;
    row.reserve(titles_.size());
    add_head(row, record::HeaderView(slots[0]));
    for (const std::uint32_t index : indices) row.push_back(cell_of(number(index)));
    for (const record::WideTable::Cell& cell : cells) {
      row.push_back(cell.is_present && cell.text.empty() ? cell_of("\"\"") : cell_of(cell.text));
    }
    add(std::move(row));
    if (rows_.size() >= kPageRows || bytes_ >= kPageBytes) flush(out);
  };
  return table_.read(slots, on_row);
}

void TablePrinter::add(Row row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    bytes_ += sizeof(Cell) + row[i].text.size();
    if (row[i].letters <= widths_[i]) continue;
    widths_[i] = row[i].letters;
    has_grown_ = true;
  }
  rows_.push_back(std::move(row));
}

void TablePrinter::flush(std::string& out) {
  if (rows_.empty()) return;
  if (std::exchange(has_grown_, false)) append(out, titles_);
  for (const Row& row : rows_) append(out, row);
  rows_.clear();
  bytes_ = 0;
}

void TablePrinter::append(std::string& out, const Row& row) const {
  const std::size_t begin = out.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i != 0) out += "  ";
    const std::size_t blanks = widths_[i] - std::min(widths_[i], row[i].letters);
    if (is_number_[i]) out.append(blanks, ' ');
    out += row[i].text;
    if (!is_number_[i]) out.append(blanks, ' ');
  }
  out.resize(std::max(begin, out.find_last_not_of(' ') + 1));
  out += '\n';
}

}  // namespace stopbit::tools
