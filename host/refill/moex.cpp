#include "host/refill/moex.hpp"

#include <algorithm>
#include <array>

namespace stopbit::refill {
namespace {

constexpr std::string_view kBeginString = "FIXT.1.1";

enum Tag : std::uint32_t {
  kMsgSeqNum = 34,
  kMsgType = 35,
  kSenderCompId = 49,
  kSendingTime = 52,
  kTargetCompId = 56,
  kEncryptMethod = 98,
  kHeartBtInt = 108,
  kUsername = 553,
  kPassword = 554,
  kDefaultApplVerId = 1137,
  kApplId = 1180,
  kApplBegSeqNum = 1182,
  kApplEndSeqNum = 1183,
};

}  // namespace

Result<Moex> Moex::make(Options options) {
  const auto check = [](std::string_view what, const std::string& text) {
    return is_fix_value(text) ? std::string() : std::string(what) + " must be 1 to 64 printable characters, in ASCII";
  };
  std::string why = check("the sender", options.sender);
  if (why.empty()) why = check("the target", options.target);
  if (why.empty()) why = check("the feed", options.feed);
  if (why.empty() && !options.user.empty()) why = check("the user", options.user);
  if (why.empty() && !options.password.empty()) why = check("the password", options.password);
  if (!why.empty()) return Failure{why};
  return Moex(std::move(options));
}

std::size_t Moex::write(std::span<char> to, std::string_view type, std::uint64_t serial, std::uint64_t wall_ns,
                        std::span<const FixField> more) const noexcept {
  constexpr std::size_t kHeader = 5;
  constexpr std::size_t kMost = 16;
  if (more.size() > kMost - kHeader) return 0;
  const FixText number = FixText::number(serial);
  const FixText time = FixText::time(wall_ns);
  std::array<FixField, kMost> fields = {{{kMsgType, type},
                                         {kSenderCompId, options_.sender},
                                         {kTargetCompId, options_.target},
                                         {kMsgSeqNum, number.view()},
                                         {kSendingTime, time.view()}}};
  std::copy(more.begin(), more.end(), fields.begin() + kHeader);
  return write_fix(to, kBeginString, std::span(fields).first(kHeader + more.size()));
}

std::size_t Moex::log_on(std::span<char> to, std::uint64_t serial, std::uint64_t wall_ns) const noexcept {
  const FixText heartbeat = FixText::number(options_.heartbeat_s);
  std::array<FixField, 5> fields = {
      {{kEncryptMethod, "0"}, {kHeartBtInt, heartbeat.view()}, {kDefaultApplVerId, "9"}, {}, {}}};
  std::size_t count = 3;
  if (!options_.user.empty()) fields[count++] = {kUsername, options_.user};
  if (!options_.password.empty()) fields[count++] = {kPassword, options_.password};
  return write(to, "A", serial, wall_ns, std::span(fields).first(count));
}

std::size_t Moex::request(std::span<char> to, std::uint64_t serial, std::uint64_t wall_ns, Range range) const noexcept {
  const FixText first = FixText::number(range.first);
  const FixText last = FixText::number(range.last);
  const std::array<FixField, 3> fields = {
      {{kApplId, options_.feed}, {kApplBegSeqNum, first.view()}, {kApplEndSeqNum, last.view()}}};
  return write(to, "V", serial, wall_ns, fields);
}

std::size_t Moex::log_out(std::span<char> to, std::uint64_t serial, std::uint64_t wall_ns) const noexcept {
  return write(to, "5", serial, wall_ns, {});
}

std::optional<Frame> Moex::frame(std::span<const std::byte> bytes) const noexcept {
  constexpr std::uint32_t kLength = 4;
  if (bytes.size() < kLength) return std::nullopt;
  Frame frame{.header_bytes = kLength, .body_bytes = 0};
  for (std::uint32_t i = 0; i < kLength; ++i) frame.body_bytes |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return frame;
}

}  // namespace stopbit::refill
