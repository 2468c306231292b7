#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// What a confined process asks its opener for: a kind and numbers, never a path or an address.
namespace stopbit::opener {

enum class RequestKind : std::uint16_t {
  Socket = 1,   ///< A UDP socket of the settings, bound and joined.
  Read = 2,     ///< A file that the settings name, to read.
  Append = 3,   ///< File `number` of a set, to append to; made if it does not exist.
  Create = 4,   ///< File `number` of a set, new, to write.
  Keep = 5,     ///< Renames file `number` of a set, so that it is no longer one of the set.
  Remove = 6,   ///< Deletes file `number` of a set.
  Connect = 7,  ///< A TCP connection to an address that the settings name; it may still be under way.
  Renew = 8,    ///< Reads the settings again, and adds the sockets, files and sets of files that they name.
  Tell = 9,     ///< What there is at this index of the list with this number (ListKind), in words.
};
inline constexpr std::uint16_t kKinds = 9;
/// The lists of Tell.
enum class ListKind : std::uint64_t { Sockets = 0, Files = 1, Sets = 2 };
[[nodiscard]] std::string_view to_text(RequestKind kind) noexcept;

struct Request {
  RequestKind kind{};
  std::uint32_t index = 0;   ///< Of the sockets, files, sets or connections of the settings.
  std::uint64_t number = 0;  ///< Of a file in its set, or a ListKind; otherwise 0.

  friend bool operator==(const Request&, const Request&) = default;
};

/// File names have at most 12 digits.
inline constexpr std::uint64_t kMaxNumber = 999'999'999'999;
inline constexpr std::size_t kRequestBytes = 24;
using RequestBytes = std::array<std::byte, kRequestBytes>;

[[nodiscard]] RequestBytes encode(const Request& request) noexcept;
/// Nothing if the bytes are no request: wrong length, kind or magic number, a number out of range or where none
/// belongs, or padding that is not zero. Every request has exactly one encoding.
[[nodiscard]] std::optional<Request> parse_request(std::span<const std::byte> bytes) noexcept;

/// The answer is this head and text; a descriptor comes with it if `error` is 0 and the request is for one.
struct ReplyHead {
  std::uint32_t magic = 0;
  std::int32_t error = 0;  ///< errno; 0: done.
};
inline constexpr std::uint32_t kReplyMagic = 0x5250'5453;  // "STPR"
/// Notes about what was opened, a line each.
inline constexpr std::size_t kMaxReplyText = 1'000;

}  // namespace stopbit::opener
