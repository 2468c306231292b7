#include "host/refill/fix_dialect.hpp"

#include <algorithm>
#include <array>

#include "host/fix/fix_tags.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::refill {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::uint64_t u32_of(std::span<const std::byte> bytes, bool lowest_byte_first) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[lowest_byte_first ? 3 - i : i]);
  return value;
}

}  // namespace

std::size_t FixDialect::write(std::span<char> to, std::string_view type, const Sending& sending,
                              std::span<const fix::FixField> more) const noexcept {
  const fix::FixText time = fix::FixText::time(sending.wall_ns);
  return fix::write_message(to, form_.begin_string,
                            {.type = type,
                             .sender = options_.sender,
                             .target = options_.target,
                             .number = sending.serial,
                             .time = time.view()},
                            more);
}

std::size_t FixDialect::log_on(std::span<char> to, const Sending& sending) const noexcept {
  const fix::FixText heartbeat = fix::FixText::number(form_.heartbeat_s);
  std::array<fix::FixField, 6> fields = {
      {{fix::kEncryptMethod, "0"}, {fix::kHeartBtInt, heartbeat.view()}, {}, {}, {}, {}}};
  std::size_t count = 2;
  if (form_.begins_numbers_anew) fields[count++] = {fix::kResetSeqNumFlag, "Y"};
  if (!form_.version.empty()) fields[count++] = {fix::kDefaultApplVerId, form_.version};
  if (!options_.user.empty()) fields[count++] = {fix::kUsername, options_.user};
  if (!options_.password.empty()) fields[count++] = {fix::kPassword, options_.password};
  return write(to, "A", sending, std::span(fields).first(count));
}

std::size_t FixDialect::heartbeat(std::span<char> to, const Sending& sending, std::string_view probe) const noexcept {
  const fix::FixField answer{fix::kTestReqId, probe};
  return write(to, "0", sending, std::span(&answer, probe.empty() ? 0U : 1U));
}

std::size_t FixDialect::log_out(std::span<char> to, const Sending& sending) const noexcept {
  return write(to, "5", sending, {});
}

std::uint64_t FixDialect::heartbeat_ns() const noexcept {
  return form_.heartbeat_s * kNsPerSecond;
}

std::optional<std::uint64_t> LengthDialect::frame(std::span<const std::byte> bytes) const noexcept {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const std::uint64_t length = u32_of(bytes, layout_.lowest_byte_first);
  return length == 0 ? 0 : kLengthBytes + length;
}

std::size_t LengthDialect::most_bytes(std::size_t message_bytes) const noexcept {
  return kLengthBytes + layout_.preamble_bytes + message_bytes;
}

std::optional<Reply> LengthDialect::read(std::span<const std::byte> frame, Place& place) const noexcept {
  if (place.at != 0) return std::nullopt;
  place.at = frame.size();
  const std::span<const std::byte> body = frame.subspan(kLengthBytes);
  if (body.size() <= layout_.preamble_bytes) return Reply{};
  Reply reply{.kind = Reply::Kind::Fast, .bytes = body.subspan(layout_.preamble_bytes)};
  if (layout_.preamble_bytes != 0) reply.number = u32_of(body, false);
  return reply;
}

}  // namespace stopbit::refill
