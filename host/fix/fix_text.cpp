#include "host/fix/fix_text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>

#include "host/fix/fix_tags.hpp"

namespace stopbit::fix {
namespace {

constexpr char kEnd = '\1';  // of a field
constexpr std::size_t kMaxValueBytes = 64;
constexpr std::size_t kMaxLengthDigits = 9;  // of BodyLength
constexpr std::size_t kTrailerBytes = 7;     // CheckSum, its value, the end

/// Appends as long as there is room.
class Appender {
 public:
  explicit Appender(std::span<char> to) : to_(to) {}

  void text(std::string_view text) noexcept {
    if (text.size() > to_.size() - size_) {
      fits_ = false;
      return;
    }
    std::copy(text.begin(), text.end(), to_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += text.size();
  }
  void field(std::uint32_t tag, std::string_view value) noexcept {
    text(FixText::number(tag).view());
    text("=");
    text(value);
    text(std::string_view(&kEnd, 1));
  }
  [[nodiscard]] std::span<char> written() const noexcept { return to_.first(size_); }
  [[nodiscard]] bool fits() const noexcept { return fits_; }

 private:
  std::span<char> to_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

std::size_t digits(std::uint64_t value) noexcept {
  return FixText::number(value).view().size();
}

/// Writes `width` digits, with zeros in front.
char* padded(char* to, std::uint64_t value, std::size_t width) noexcept {
  for (std::size_t i = width; i > 0; --i, value /= 10) to[i - 1] = static_cast<char>('0' + value % 10);
  return to + width;
}

}  // namespace

bool is_fix_value(std::string_view text) noexcept {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  return !text.empty() && text.size() <= kMaxValueBytes && std::all_of(text.begin(), text.end(), is_plain);
}

std::size_t write_fix(std::span<char> to, std::string_view begin_string, std::span<const FixField> fields) noexcept {
  std::uint64_t body = 0;
  for (const FixField& field : fields) body += digits(field.tag) + field.value.size() + 2;
  Appender out(to);
  out.field(kBeginString, begin_string);
  out.field(kBodyLength, FixText::number(body).view());
  for (const FixField& field : fields) out.field(field.tag, field.value);
  unsigned sum = 0;
  for (const char c : out.written()) sum += static_cast<unsigned char>(c);
  std::array<char, 3> check{};
  padded(check.data(), sum % 256, check.size());
  out.field(kCheckSum, {check.data(), check.size()});
  return out.fits() ? out.written().size() : 0;
}

std::size_t write_message(std::span<char> to, std::string_view begin_string, const FixHeader& header,
                          std::span<const FixField> more) noexcept {
  constexpr std::size_t kHeader = 5;
  constexpr std::size_t kMost = 16;
  if (more.size() > kMost - kHeader) return 0;
  const FixText number = FixText::number(header.number);
  std::array<FixField, kMost> fields = {{{kMsgType, header.type},
                                         {kSenderCompId, header.sender},
                                         {kTargetCompId, header.target},
                                         {kMsgSeqNum, number.view()},
                                         {kSendingTime, header.time}}};
  std::copy(more.begin(), more.end(), fields.begin() + kHeader);
  return write_fix(to, begin_string, std::span(fields).first(kHeader + more.size()));
}

std::optional<std::uint64_t> fix_frame(std::span<const std::byte> bytes, std::string_view begin_string) noexcept {
  const auto at = [&](std::size_t i) { return std::to_integer<char>(bytes[i]); };
  std::size_t size = 0;
  for (const std::string_view part : {std::string_view("8="), begin_string, std::string_view("\0019=")}) {
    for (const char wanted : part) {
      if (size == bytes.size()) return std::nullopt;
      if (at(size++) != wanted) return 0;
    }
  }
  std::uint64_t length = 0;
  for (const std::size_t digits = size; size < digits + kMaxLengthDigits + 1; ++size) {
    if (size == bytes.size()) return std::nullopt;
    if (at(size) == kEnd && size != digits) return size + 1 + length + kTrailerBytes;
    if (at(size) < '0' || at(size) > '9') return 0;
    length = length * 10 + static_cast<std::uint64_t>(at(size) - '0');
  }
  return 0;
}

bool has_right_sum(std::span<const std::byte> frame) noexcept {
  if (frame.size() < kTrailerBytes) return false;
  unsigned sum = 0;
  for (const std::byte byte : frame.first(frame.size() - kTrailerBytes)) sum += std::to_integer<unsigned>(byte);
  std::array<char, kTrailerBytes> wanted = {'1', '0', '=', '0', '0', '0', kEnd};
  padded(wanted.data() + 3, sum % 256, 3);
  return std::equal(wanted.begin(), wanted.end(), frame.end() - kTrailerBytes,
                    [](char c, std::byte byte) { return static_cast<std::byte>(c) == byte; });
}

std::string_view type_of(std::span<const std::byte> frame) noexcept {
  FixReader reader(frame);
  for (int i = 0; i < 2; ++i) (void)reader.next();
  const auto field = reader.next();
  return field && field->tag == kMsgType ? field->value : std::string_view();
}

std::optional<std::uint64_t> number_of(std::string_view value) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

std::optional<FixField> FixReader::next() noexcept {
  const std::string_view rest(reinterpret_cast<const char*>(frame_.data()) + at_, frame_.size() - at_);
  const std::size_t equals = rest.substr(0, kMaxLengthDigits + 1).find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto tag = number_of(rest.substr(0, equals));
  if (!tag) return std::nullopt;
  const std::size_t begin = equals + 1;
  std::size_t end = rest.find(kEnd, begin);
  if (*tag == kRawData && data_bytes_) {
    end = *data_bytes_ < rest.size() - begin ? begin + static_cast<std::size_t>(*data_bytes_) : std::string_view::npos;
    if (end != std::string_view::npos && rest[end] != kEnd) return std::nullopt;
  }
  if (end == std::string_view::npos) return std::nullopt;
  const FixField field{static_cast<std::uint32_t>(*tag), rest.substr(begin, end - begin)};
  data_bytes_ = *tag == kRawDataLength ? number_of(field.value) : std::nullopt;
  at_ += end + 1;
  return field;
}

FixText FixText::number(std::uint64_t value) noexcept {
  FixText out;
  out.size_ = static_cast<std::size_t>(std::to_chars(out.text_.data(), out.text_.data() + out.text_.size(), value).ptr -
                                       out.text_.data());
  return out;
}

FixText FixText::time(std::uint64_t wall_ns) noexcept {
  using namespace std::chrono;
  const auto ms = static_cast<std::int64_t>(wall_ns / 1'000'000);
  const auto day = floor<days>(milliseconds(ms));
  const year_month_day date{sys_days(day)};
  const auto of_day = static_cast<std::uint64_t>(ms - duration_cast<milliseconds>(day).count());
  FixText out;
  char* at = out.text_.data();
  at = padded(at, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  at = padded(at, static_cast<unsigned>(date.month()), 2);
  at = padded(at, static_cast<unsigned>(date.day()), 2);
  *at++ = '-';
  at = padded(at, of_day / 3'600'000, 2);
  *at++ = ':';
  at = padded(at, of_day / 60'000 % 60, 2);
  *at++ = ':';
  at = padded(at, of_day / 1'000 % 60, 2);
  *at++ = '.';
  at = padded(at, of_day % 1'000, 3);
  out.size_ = static_cast<std::size_t>(at - out.text_.data());
  return out;
}

FixText FixText::second(std::uint64_t wall_ns) noexcept {
  constexpr std::size_t kFraction = sizeof(".123") - 1;
  FixText out = time(wall_ns);
  out.size_ -= kFraction;
  return out;
}

}  // namespace stopbit::fix
