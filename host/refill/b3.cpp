#include "host/refill/b3.hpp"

#include <array>
#include <charconv>

#include "host/fix/fix_tags.hpp"

namespace stopbit::refill {
namespace {

// Of B3 alone.
constexpr std::uint32_t kNoApplSeqNums = 10'054;
constexpr std::uint32_t kRawDataOffset = 10'055;

constexpr std::size_t kFrameBytes = std::size_t{256} << 10;                       ///< Of a report with many messages.
constexpr std::size_t kLeastEntryBytes = sizeof("1181=1|10055=0|95=1|") - 1 + 1;  ///< And a byte of its message.

/// ApplReqID: unique beyond the connection, and it ends with the serial number of its request.
class RequestId {
 public:
  explicit RequestId(const Sending& sending) noexcept {
    char* const end = text_.data() + text_.size();
    at_ = std::to_chars(text_.data(), end, sending.wall_ns / 1'000'000).ptr;
    *at_++ = '-';
    at_ = std::to_chars(at_, end, sending.serial).ptr;
  }
  [[nodiscard]] std::string_view view() const noexcept {
    return {text_.data(), static_cast<std::size_t>(at_ - text_.data())};
  }
  /// 0: it is none of ours.
  [[nodiscard]] static std::uint64_t serial_of(std::string_view id) noexcept {
    const std::size_t dash = id.rfind('-');
    return dash == std::string_view::npos ? 0 : fix::number_of(id.substr(dash + 1)).value_or(0);
  }

 private:
  std::array<char, 48> text_;
  char* at_;
};

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Reply::Kind kind_of(std::string_view type) noexcept {
  using Kind = Reply::Kind;
  if (type == "A") return Kind::LoggedOn;
  if (type == "5") return Kind::LoggedOut;
  if (type == "1") return Kind::Probe;
  if (type == "3" || type == "j" || type == "Y") return Kind::Refused;
  return Kind::Other;
}

/// Where a report has its messages. False: it has none that can be read.
bool find_data(std::span<const std::byte> frame, Place& place) noexcept {
  fix::FixReader reader(frame);
  std::size_t entries_at = 0;
  while (const auto field = reader.next()) {
    if (field->tag == kNoApplSeqNums && entries_at == 0) entries_at = reader.at();
    if (field->tag != fix::kRawData || place.data_bytes != 0) continue;
    place.data_bytes = field->value.size();
    place.data_at = reader.at() - 1 - place.data_bytes;
  }
  if (entries_at == 0 || place.data_bytes == 0) return false;
  place.at = entries_at;
  return true;
}

/// The next entry of the group; nothing: the group has ended.
std::optional<Reply> next_message(std::span<const std::byte> frame, Place& place) noexcept {
  fix::FixReader reader(frame, place.at);
  const auto first = reader.next();
  if (!first || first->tag != fix::kApplSeqNum) return std::nullopt;
  Reply reply{.number = fix::number_of(first->value)};
  std::optional<std::uint64_t> offset;
  std::optional<std::uint64_t> size;
  place.at = reader.at();
  while (const auto field = reader.next()) {
    if (field->tag == kRawDataOffset && !offset) {
      offset = fix::number_of(field->value);
    } else if (field->tag == fix::kRawDataLength && !size) {  // a second one is that of all data
      size = fix::number_of(field->value);
    } else if (field->tag != fix::kApplLastSeqNum) {
      break;
    }
    place.at = reader.at();
  }
  // Messages follow one another, so that a report cannot have more of them than bytes.
  if (!reply.number || !offset || !size || *size == 0 || *offset < place.data_used || *offset > place.data_bytes ||
      *size > place.data_bytes - *offset) {
    return Reply{};
  }
  reply.kind = Reply::Kind::Message;
  reply.bytes = frame.subspan(place.data_at + static_cast<std::size_t>(*offset), static_cast<std::size_t>(*size));
  place.data_used = static_cast<std::size_t>(*offset + *size);
  return reply;
}

/// What the message says that is no report of raw data.
Reply reply_of(std::span<const std::byte> frame, std::string_view type) noexcept {
  Reply reply{.kind = kind_of(type)};
  std::string_view response;
  std::string_view report;
  fix::FixReader reader(frame);
  while (const auto field = reader.next()) {
    switch (field->tag) {
      case fix::kTestReqId:
        if (reply.kind == Reply::Kind::Probe) reply.bytes = bytes_of(field->value);
        break;
      case fix::kRefSeqNum: reply.request = fix::number_of(field->value).value_or(0); break;
      case fix::kApplReqId: reply.request = RequestId::serial_of(field->value); break;
      case fix::kApplResponseType: response = field->value; break;
      case fix::kApplReportType: report = field->value; break;
      default: break;
    }
  }
  if (type == "BX") reply.kind = response == "0" ? Reply::Kind::Accepted : Reply::Kind::Refused;
  if (type == "BY" && report != "2") reply.kind = report == "3" ? Reply::Kind::Complete : Reply::Kind::Refused;
  return reply;
}

}  // namespace

std::size_t B3::request(std::span<char> to, const Sending& sending, Range range) const noexcept {
  const RequestId id(sending);
  const fix::FixText first = fix::FixText::number(range.first);
  const fix::FixText last = fix::FixText::number(range.last);
  const std::array<fix::FixField, 6> fields = {{{fix::kApplReqId, id.view()},
                                                {fix::kApplReqType, "0"},  // messages again
                                                {fix::kNoApplIds, "1"},
                                                {fix::kRefApplId, options().feed},
                                                {fix::kApplBegSeqNum, first.view()},
                                                {fix::kApplEndSeqNum, last.view()}}};
  return write(to, "BW", sending, fields);
}

std::size_t B3::most_bytes(std::size_t message_bytes) const noexcept {
  return kFrameBytes + message_bytes;
}

std::size_t B3::most_messages(std::size_t frame_bytes) const noexcept {
  return frame_bytes / kLeastEntryBytes;
}

std::optional<Reply> B3::read(std::span<const std::byte> frame, Place& place) const noexcept {
  if (place.at == frame.size()) return std::nullopt;
  if (place.at == 0) {
    const std::string_view type = fix::has_right_sum(frame) ? fix::type_of(frame) : std::string_view();
    if (type != "URDR" || !find_data(frame, place)) {
      place.at = frame.size();
      return type.empty() || type == "URDR" ? Reply{} : reply_of(frame, type);
    }
  }
  return next_message(frame, place);
}

}  // namespace stopbit::refill
