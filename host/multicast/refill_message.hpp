#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/multicast/packet.hpp"
#include "microcode/base/limits.hpp"

/// What clients ask the refill service of a publisher, and its answers, over TCP. doc/multicast.md describes the bytes.
namespace stopbit::multicast {

inline constexpr std::size_t kRequestBytes = 32;
inline constexpr std::size_t kAnswerHeadBytes = 16;
inline constexpr std::size_t kDoneBytes = 32;
/// Packets that a client may ask for at a time.
inline constexpr std::uint64_t kMostRequested = 65'536;

struct Request {
  enum class Kind : std::uint8_t {
    Packets = 1,  ///< Those with the numbers from `first` up to `end`; none: only what there is.
    Layout = 2,   ///< The image with the name `first`.
    State = 3,    ///< The books of a ring of market events.
  };
  Kind kind = Kind::Packets;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

struct AnswerHead {
  enum class Kind : std::uint8_t {
    Packet = 1,  ///< A datagram as it was sent.
    Layout = 2,  ///< An image.
    Done = 3,    ///< The answer to a request ends.
    State = 4,   ///< A StateHead and market events.
  };
  Kind kind = Kind::Done;
  std::uint32_t bytes = 0;  ///< That follow.
};

/// The bytes of AnswerHead::Kind::Done.
struct Completion {
  enum class Status : std::uint64_t {
    Complete = 0,
    Gone = 1,     ///< Some of the packets are not kept any more, or not sent yet.
    Unknown = 2,  ///< No such layout, or no state.
  };
  Status status = Status::Complete;
  std::uint64_t epoch = 0;
  std::uint64_t oldest = 0;  ///< Packets from here
  std::uint64_t next = 0;    ///< up to here are kept.
};

/// Begins the bytes of AnswerHead::Kind::State; MarketEvent messages follow. It is the same in all items of an answer.
struct StateHead {
  std::uint64_t sequence = 0;    ///< The first packet whose events are not in the state.
  std::uint64_t ring_epoch = 0;  ///< Of the ring whose events are.
  std::uint64_t records = 0;     ///< Of that ring that were before `sequence`.

  [[nodiscard]] friend bool operator==(const StateHead&, const StateHead&) = default;
};
inline constexpr std::size_t kStateHeadBytes = 24;
/// Events of an item.
inline constexpr std::size_t kMostStateEvents = 600;
inline constexpr std::size_t kMostStateBytes = kStateHeadBytes + kMostStateEvents * kEventBytes;

void encode(const Request& request, std::span<std::byte, kRequestBytes> to) noexcept;
void encode(const AnswerHead& head, std::span<std::byte, kAnswerHeadBytes> to) noexcept;
void encode(const Completion& done, std::span<std::byte, kDoneBytes> to) noexcept;
void encode(const StateHead& head, std::span<std::byte, kStateHeadBytes> to) noexcept;
/// Nothing: it is no such message.
[[nodiscard]] std::optional<Request> decode_request(std::span<const std::byte, kRequestBytes> from) noexcept;
[[nodiscard]] std::optional<AnswerHead> decode_answer_head(std::span<const std::byte, kAnswerHeadBytes> from) noexcept;
[[nodiscard]] std::optional<Completion> decode_done(std::span<const std::byte, kDoneBytes> from) noexcept;
/// Of an item of AnswerHead::Kind::State: all of it is checked, so that its events can be read.
[[nodiscard]] std::optional<StateHead> decode_state(std::span<const std::byte> item) noexcept;

}  // namespace stopbit::multicast
