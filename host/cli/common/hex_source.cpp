#include "host/cli/common/hex_source.hpp"
#include "host/cli/common/messages.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "microcode/base/hex.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kIpHeaderBytes = 20;
constexpr std::size_t kUdpHeaderBytes = 8;
constexpr std::size_t kHeaderBytes = kIpHeaderBytes + kUdpHeaderBytes;
constexpr std::size_t kMaxPayloadBytes = 65'535 - kHeaderBytes;
/// Room for the longest datagram with a blank after each byte, and a comment.
constexpr std::size_t kMaxLineBytes = 1U << 20;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

}  // namespace

HexSource::HexSource(InputFile file, std::function<void()> before_read)
    : lines_(std::move(file), kMaxLineBytes, std::move(before_read)) {}

ingest::Next HexSource::next(ingest::Packet& packet) noexcept {
  try {
    while (lines_.next()) {
      if (!parse_line()) continue;
      write_headers();
      packet = {.frame = frame_, .original_bytes = frame_.size(), .number = packets_, .link = net::LinkType::RawIp};
      return ingest::Next::Packet;
    }
    return ingest::Next::End;
  } catch (const std::exception& error) {
    error_ = std::current_exception();
    fault_ = {.packet = packets_ + 1, .message = error.what()};
    return ingest::Next::Fault;
  }
}

void HexSource::rethrow_error() const {
  if (error_) std::rethrow_exception(error_);
}

bool HexSource::parse_line() {
  frame_.assign(kHeaderBytes, std::byte{0});
  const std::string_view line = lines_.line();
  if (lines_.is_too_long()) {
    ++packets_;
    return reject(kMaxLineBytes, "the line is too long");
  }
  for (std::size_t i = 0; i < line.size(); i += 2) {
    while (i < line.size() && is_blank(line[i])) ++i;
    if (i == line.size() || line[i] == '#') break;
    if (frame_.size() == kHeaderBytes) ++packets_;
    if (frame_.size() == kHeaderBytes + kMaxPayloadBytes) {
      return reject(i, fmt::format("longer than a UDP datagram (at most {} bytes)", kMaxPayloadBytes));
    }
    const int high = hex_digit(line[i]);
    if (high < 0) return reject(i, "not a hex digit");
    const int low = i + 1 < line.size() ? hex_digit(line[i + 1]) : -1;
    if (low < 0) return reject(i + 1, "the second hex digit of a byte is missing");
    frame_.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return frame_.size() > kHeaderBytes;
}

bool HexSource::reject(std::size_t column, std::string_view what) {
  ++bad_lines_;
  print_stderr("{}:{}:{}: error: {}\n", printable(lines_.file_name()), lines_.number(), column + 1, what);
  return false;
}

void HexSource::write_headers() {
  const auto put = [this](std::size_t at, std::size_t value) {
    frame_[at] = static_cast<std::byte>(value >> 8);
    frame_[at + 1] = static_cast<std::byte>(value & 0xFF);
  };
  constexpr std::size_t kUdpProtocol = 17;
  constexpr std::size_t kPort = 1;
  put(0, 0x4500);                                           // version 4, header of five words
  put(2, frame_.size());                                    // total length
  put(8, kUdpProtocol);                                     // after the time to live
  put(kIpHeaderBytes + 2, kPort);                           // destination
  put(kIpHeaderBytes + 4, frame_.size() - kIpHeaderBytes);  // UDP length
}

}  // namespace stopbit::tools
