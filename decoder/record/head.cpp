#include "decoder/record/head.hpp"

#include <array>
#include <chrono>

#include "decoder/record/text.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::record {
namespace {

/// Bit 0 first.
constexpr std::array<std::string_view, 5> kFlagNames = {"last", "snapshot", "stale", "recovered", "duplicate"};

void append_padded(std::string& out, std::uint64_t value, std::size_t digits) {
  std::string text;
  append_unsigned(text, value);
  if (text.size() < digits) out.append(digits - text.size(), '0');
  out += text;
}

void append_iso(std::string& out, std::uint64_t time_ns) {
  constexpr std::uint64_t kDay = 86'400;
  const std::uint64_t seconds = time_ns / kNsPerSecond;
  const std::chrono::year_month_day date =
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(seconds / kDay)));
  const std::uint64_t second = seconds % kDay;
  append_padded(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, second / 3'600, 2);
  out += ':';
  append_padded(out, second / 60 % 60, 2);
  out += ':';
  append_padded(out, second % 60, 2);
  out += '.';
  append_padded(out, time_ns % kNsPerSecond, 9);
  out += 'Z';
}

template <class Append>
void each_flag(std::uint8_t flags, Append append) {
  for (std::size_t i = 0; i < kFlagNames.size(); ++i) {
    if ((flags >> i & 1) != 0) append(kFlagNames[i]);
  }
}

}  // namespace

void append_time(std::string& out, std::uint64_t time_ns, TimeStyle style) {
  if (style == TimeStyle::Iso) {
    append_iso(out, time_ns);
  } else {
    append_unsigned(out, time_ns);
  }
}

std::string_view clock_name(TimeQuality quality) noexcept {
  switch (quality) {
    case TimeQuality::Synthetic: return "synthetic";
    case TimeQuality::Poll: return "poll";
    case TimeQuality::Kernel: return "kernel";
    case TimeQuality::Hardware: return "hardware";
  }
  return "unknown";
}

std::string_view line_name(SourceLine line) noexcept {
  switch (line) {
    case SourceLine::File: return "file";
    case SourceLine::LineA: return "A";
    case SourceLine::LineB: return "B";
    case SourceLine::Replay: return "replay";
    case SourceLine::Snapshot: return "snapshot";
  }
  return "unknown";
}

void append_flags(std::string& out, std::uint8_t flags, char separator) {
  const std::size_t begin = out.size();
  each_flag(flags, [&](std::string_view name) {
    if (out.size() != begin) out += separator;
    out += name;
  });
}

void append_json_head(std::string& out, const HeaderView& header, TimeStyle style) {
  const std::string_view quote = style == TimeStyle::Iso ? "\"" : "";
  out += "{\"header\":{\"time\":";
  out += quote;
  append_time(out, header.arrival_ns(), style);
  out += quote;
  out += ",\"clock\":\"";
  out += clock_name(header.time_quality());
  out += "\",\"channel\":";
  append_unsigned(out, header.channel());
  out += ",\"line\":\"";
  out += line_name(header.source());
  out += "\",\"sequence\":";
  append_unsigned(out, header.sequence());
  out += ",\"message\":";
  append_unsigned(out, header.message_index());
  out += ",\"epoch\":";
  append_unsigned(out, header.sender_epoch());
  out += ",\"flags\":[";
  each_flag(header.flags(), [&](std::string_view name) {
    if (out.back() != '[') out += ',';
    out += '"';
    out += name;
    out += '"';
  });
  out += "]}";
}

void append_fix_head(std::string& out, const HeaderView& header, TimeStyle style, char separator) {
  out += "@time=";
  append_time(out, header.arrival_ns(), style);
  const auto text = [&](std::string_view name, std::string_view value) {
    out += separator;
    out += name;
    out += value;
  };
  const auto number = [&](std::string_view name, std::uint64_t value) {
    text(name, {});
    append_unsigned(out, value);
  };
  text("@clock=", clock_name(header.time_quality()));
  number("@channel=", header.channel());
  text("@line=", line_name(header.source()));
  number("@sequence=", header.sequence());
  number("@message=", header.message_index());
  number("@epoch=", header.sender_epoch());
  text("@flags=", {});
  append_flags(out, header.flags(), ' ');
  out += separator;
}

void append_csv_head(std::string& out, const HeaderView& header, TimeStyle style, bool has_sequence) {
  append_time(out, header.arrival_ns(), style);
  const auto text = [&](std::string_view value) {
    out += ',';
    out += value;
  };
  const auto number = [&](std::uint64_t value) {
    out += ',';
    append_unsigned(out, value);
  };
  text(clock_name(header.time_quality()));
  number(header.channel());
  text(line_name(header.source()));
  if (has_sequence) number(header.sequence());
  number(header.message_index());
  number(header.sender_epoch());
  text({});
  append_flags(out, header.flags(), ' ');
  out += ',';
}

}  // namespace stopbit::record
