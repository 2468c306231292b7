#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "host/analyse/explain/explain.hpp"
#include "host/analyse/explain/values.hpp"
#include "host/analyse/guess/trial.hpp"

namespace stopbit::explain {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::size_t kBytesPerLine = 6;
constexpr std::size_t kDumpBytesPerLine = 24;
constexpr std::size_t kBitsPerLine = 3;

// Columns: where each begins.
constexpr std::size_t kBytesAt = 7;
constexpr std::size_t kNameAt = 25;
constexpr std::size_t kTypeAt = 53;
constexpr std::size_t kRawAt = 71;
constexpr std::size_t kPreviousAt = 81;
constexpr std::size_t kResultAt = 92;
constexpr std::size_t kPlaceAt = 114;
constexpr std::size_t kMaxIndent = 12;

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The first characters of the text, so many that they fill `width` columns.
std::string_view head(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && seen++ == width) break;
  }
  return text.substr(0, end);
}

/// A line that is written from the left to the right.
class Line {
 public:
  /// Text at a column, cut so that it ends before `end`.
  void put(std::size_t column, std::string_view text, std::size_t end = kWidth) {
    if (text.empty()) return;
    const std::size_t at = std::max(column, columns_ + (columns_ > column ? 1 : 0));
    if (at >= end) return;
    text_.append(at - columns_, ' ');
    const std::size_t room = end - at;
    if (columns(text) <= room) {
      text_ += text;
      columns_ = at + columns(text);
    } else {
      text_ += head(text, room - 1);
      text_ += "…";
      columns_ = end;
    }
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::size_t columns_ = 0;
};

class Printer {
 public:
  Printer(const Explanation& explanation, bool with_colours) : explanation_(explanation), with_colours_(with_colours) {}

  std::string print() {
    heading();
    if (explanation_.has_headers) frame();
    datagram();
    footer();
    return std::move(out_);
  }

 private:
  enum class Style : std::uint8_t { Plain, Bold, Dim, Red };

  void line(const std::string& text, Style style = Style::Plain) {
    static constexpr std::array<std::string_view, 4> kEscapes = {"", "\x1b[1m", "\x1b[2m", "\x1b[31m"};
    const bool is_styled = with_colours_ && style != Style::Plain && !text.empty();
    if (is_styled) out_ += kEscapes[static_cast<std::size_t>(style)];
    out_ += text;
    if (is_styled) out_ += "\x1b[0m";
    out_ += '\n';
  }

  [[nodiscard]] std::string bytes_text(const std::vector<std::byte>& bytes, std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < std::min(end, bytes.size()); ++i) {
      if (i != begin) text += ' ';
      const auto byte = static_cast<char>(bytes[i]);
      text += hex({&byte, 1});
    }
    return text;
  }

  void heading() {
    const Explanation& e = explanation_;
    std::string text = e.source + ": packet " + std::to_string(e.packet);
    if (e.has_headers && e.group.port != 0) text += ", to " + net::to_text(e.group);
    if (e.sequence != 0) text += ", sequence " + std::to_string(e.sequence);
    line(text, Style::Bold);
    static constexpr std::array<std::string_view, 3> kRules = {
        "the dictionary is reset before every packet", "the dictionary is reset by templates with the reset attribute",
        "the dictionary is never reset"};
    text = "framing " + e.framing + ": " + std::string(kRules[static_cast<std::size_t>(e.reset)]);
    if (e.reset != ResetRule::Packet && e.was_decoded) {
      text += e.earlier_packets == 0 ? "; first packet of its group"
                                     : "; decoded first: " + std::to_string(e.earlier_packets) + " of its group";
    }
    line(text);
    if (e.is_joined) line("joined from chunks; the frame below carried the last one");
  }

  void frame() {
    line("");
    for (const FramePart& part : explanation_.parts) {
      Line text;
      text.put(0, offsets(part.bytes));
      text.put(14, part.name);
      text.put(kNameAt, part.text);
      line(text.text());
    }
  }

  static std::string offsets(trace::Extent bytes) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%5u..%u", bytes.begin, bytes.end == 0 ? 0 : bytes.end - 1);
    return text.data();
  }

  void datagram() {
    if (explanation_.datagram.empty() && explanation_.rows.empty()) return;
    line("");
    Line titles;
    titles.put(1, "byte");
    titles.put(kBytesAt, "bytes");
    titles.put(kNameAt, "name");
    titles.put(kTypeAt, "type, operator");
    titles.put(kRawAt, "raw");
    titles.put(kPreviousAt, "previous");
    titles.put(kResultAt, "result");
    titles.put(kPlaceAt, "record");
    line(titles.text(), Style::Bold);
    for (const Row& row : explanation_.rows) print_row(row);
    if (explanation_.rows_hidden != 0) {
      line("       ... and " + std::to_string(explanation_.rows_hidden) + " more lines without bytes");
    }
  }

  void print_row(const Row& row) {
    switch (row.kind) {
      case RowKind::Message:
        if (row.name.starts_with("message")) line("");
        return line(std::string(kBytesAt, ' ') + row.name, Style::Bold);
      case RowKind::Ignored:
      case RowKind::Undecoded: return dump(row);
      default: break;
    }
    const bool has_bytes = row.bytes.begin != row.bytes.end;
    const std::size_t first_end = std::min<std::size_t>(row.bytes.end, row.bytes.begin + kBytesPerLine);
    Line text;
    if (has_bytes || row.is_faulty) text.put(0, offset_text(row.bytes.begin));
    if (row.is_faulty) text.put(kBytesAt - 1, ">");
    if (has_bytes) {
      text.put(kBytesAt, bytes_text(explanation_.datagram, row.bytes.begin, first_end));
    } else if (!row.source.empty()) {
      text.put(kBytesAt, "(" + row.source + ")", kNameAt - 1);
    }
    const std::size_t indent = std::min<std::size_t>(std::size_t{2} * row.depth, kMaxIndent);
    const bool is_open = row.kind == RowKind::Group || row.kind == RowKind::Element || row.kind == RowKind::Reference ||
                         row.kind == RowKind::Reset;
    text.put(kNameAt + indent, row.name, is_open ? kWidth : kTypeAt - 1);
    std::string type = row.type;
    if (row.is_optional && !type.empty()) type += '?';
    if (!row.op.empty()) type += ' ' + row.op;
    text.put(kTypeAt, type, kRawAt - 1);
    const bool tells_raw = has_bytes && row.raw != row.result;
    if (tells_raw) text.put(kRawAt, row.raw, kPreviousAt - 1);
    text.put(kPreviousAt, row.previous, kResultAt - 1);
    const std::string result = row.kind == RowKind::PresenceMap ? std::string()
                               : row.is_absent                  ? (is_open ? std::string() : std::string("absent"))
                                                                : row.result;
    text.put(kResultAt, result, kPlaceAt - 1);
    if (row.place.block != kNoBlock && !row.result.empty()) {
      text.put(kPlaceAt, std::to_string(row.place.slot) + "." + std::to_string(row.place.slot_word));
    }
    const Style style = row.is_faulty ? Style::Red : has_bytes || is_open ? Style::Plain : Style::Dim;
    line(text.text(), style);
    for (std::size_t at = first_end; at < row.bytes.end; at += kBytesPerLine) {
      Line more;
      more.put(kBytesAt,
               bytes_text(explanation_.datagram, at, std::min<std::size_t>(row.bytes.end, at + kBytesPerLine)));
      line(more.text(), style);
    }
    if (columns(result) > kPlaceAt - 1 - kResultAt) wrap("= " + result, style);
    const bool is_raw_cut = tells_raw && result.empty() && columns(row.raw) > kPreviousAt - 1 - kRawAt;
    if (is_raw_cut) wrap("raw " + row.raw, style);
    if (row.kind == RowKind::PresenceMap) print_bits(row);
  }

  static std::string offset_text(std::uint32_t offset) {
    std::array<char, 16> text{};
    (void)std::snprintf(text.data(), text.size(), "%5u", offset);
    return text.data();
  }

  void wrap(std::string_view text, Style style) {
    while (!text.empty()) {
      const std::string_view piece = head(text, kWidth - kNameAt);
      line(std::string(kNameAt, ' ') + std::string(piece), style);
      text.remove_prefix(piece.size());
    }
  }

  void print_bits(const Row& row) {
    constexpr std::size_t kCell = (kWidth - kNameAt) / kBitsPerLine;
    Line text;
    std::size_t in_line = 0;
    const auto add = [&](const std::string& cell) {
      text.put(kNameAt + in_line * kCell, cell, kNameAt + (in_line + 1) * kCell - 1);
      if (++in_line < kBitsPerLine) return;
      line(text.text());
      text = {};
      in_line = 0;
    };
    for (const Bit& bit : row.bits) {
      add(std::string(bit.is_implied ? "- " : bit.is_set ? "1 " : "0 ") + bit.owner);
    }
    const std::size_t all = std::size_t{7} * (row.bytes.end - row.bytes.begin);
    for (std::size_t i = row.bits.size(); i < all; ++i) {
      if (is_set(row, i)) add(explanation_.has_fault() ? "1 not reached" : "1 unused bit");
    }
    if (in_line != 0) line(text.text());
  }

  [[nodiscard]] bool is_set(const Row& map, std::size_t bit) const {
    const std::size_t at = map.bytes.begin + bit / 7;
    return at < explanation_.datagram.size() &&
           (static_cast<unsigned>(explanation_.datagram[at]) >> (6 - bit % 7) & 1U) != 0;
  }

  void dump(const Row& row) {
    line("");
    line(std::string(kBytesAt, ' ') + std::to_string(row.bytes.end - row.bytes.begin) + " bytes " +
             (row.kind == RowKind::Ignored ? "ignored: " : "") + row.name,
         Style::Bold);
    for (std::size_t at = row.bytes.begin; at < row.bytes.end; at += kDumpBytesPerLine) {
      Line text;
      text.put(0, offset_text(static_cast<std::uint32_t>(at)));
      text.put(kBytesAt,
               bytes_text(explanation_.datagram, at, std::min<std::size_t>(row.bytes.end, at + kDumpBytesPerLine)));
      line(text.text());
    }
  }

  void footer() {
    line("");
    const std::size_t bytes = explanation_.datagram.size();
    const std::size_t accounted = accounted_bytes(explanation_);
    if (explanation_.verdict != net::Verdict::Accepted) {
      line("The frame contains no datagram that could be decoded.");
    } else {
      line(std::to_string(accounted) + " of " + std::to_string(bytes) + " bytes of the datagram are accounted for.");
    }
    if (!explanation_.has_fault()) return;
    line("");
    line(explanation_.fault, Style::Red);
    if (explanation_.causes.empty()) {
      line("");
      line("Cause: unknown. No other framing or reset rule decodes this packet.");
      return;
    }
    line("");
    for (std::size_t i = 0; i < explanation_.causes.size(); ++i) {
      line((i == 0 ? "Most likely cause: " : "Or: ") + explanation_.causes[i].text,
           i == 0 ? Style::Bold : Style::Plain);
      if (!explanation_.causes[i].evidence.empty()) line("  " + explanation_.causes[i].evidence);
    }
  }

  const Explanation& explanation_;
  bool with_colours_;
  std::string out_;
};

}  // namespace

std::string to_text(const Explanation& explanation, bool with_colours) {
  return Printer(explanation, with_colours).print();
}

}  // namespace stopbit::explain
