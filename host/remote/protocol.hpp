#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/nic/channel/channel.hpp"
#include "host/nic/names.hpp"
#include "host/nic/tag/pattern.hpp"
#include "microcode/base/result.hpp"

/// Messages between a publisher of rings and its subscribers (Subscribe, Leave, Accept, Refuse; of near rings also
/// AcceptNear, Beat, Echo), and the content of the messages of the channel that carries the records.
/// doc/remote-ring-protocol.md lists each byte. Everything is little-endian, comes from outside, and is checked here.
/// Only BatchHead is on the path of a record.
namespace stopbit::remote {

inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxTokenBytes = 64;
inline constexpr std::size_t kMaxPatterns = 32;
inline constexpr std::size_t kMaxRefusalText = 112;

/// Why a subscriber is not served. Values are part of the protocol.
enum class Refusal : std::uint8_t {
  None = 0,
#define STOPBIT_REMOTE_REFUSAL(enumerator, code, meaning) enumerator = code,  ///< meaning
#include "host/remote/refusal.def"
#undef STOPBIT_REMOTE_REFUSAL
};
inline constexpr std::size_t kRefusals = 18;  ///< With None.
/// "Ring", "Full", ...; "?" for a number that is none.
[[nodiscard]] const char* to_name(Refusal refusal) noexcept;
/// "no-ring"-like words for people; "?" for a number that is none.
[[nodiscard]] const char* to_meaning(Refusal refusal) noexcept;

/// Records that a subscriber wants: those that match one of the patterns; all without patterns. Events always come.
/// TagHeader::template_id is the identifier of a template, TagHeader::value the value of `field`, which may occur
/// anywhere in the record, also in sequences: one of its values has to match. Of text the first eight bytes count,
/// first byte lowest. A named field must be one of the layout, and no decimal.
struct Filter {
  struct Pattern {
    nic::TagHeader wanted;
    nic::TagMask mask;
    [[nodiscard]] friend bool operator==(const Pattern& a, const Pattern& b) {
      return a.wanted.channel == b.wanted.channel && a.wanted.template_id == b.wanted.template_id &&
             a.wanted.value == b.wanted.value && a.mask == b.mask;
    }
  };
  std::string field;
  std::vector<Pattern> patterns;

  [[nodiscard]] bool is_empty() const noexcept { return patterns.empty(); }
  [[nodiscard]] friend bool operator==(const Filter&, const Filter&) = default;
};

/// A place in the published ring: number of a slot at which a record (or padding) begins, and how many records were
/// published before it.
struct RingPosition {
  std::uint64_t number = 0;
  std::uint64_t records = 0;
  [[nodiscard]] friend bool operator==(const RingPosition&, const RingPosition&) = default;
};

/// A ring that the publisher shall make on its own host.
struct WantedRing {
  std::string name;             ///< Of the ring.
  bool wants_history = false;   ///< With what is still in the published ring.
  std::uint64_t max_slots = 0;  ///< A longer one is not wanted.
  [[nodiscard]] friend bool operator==(const WantedRing&, const WantedRing&) = default;
};

/// The last session of a lossless subscriber that was accepted, and where its ring is.
struct Earlier {
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;  ///< Far: of the published ring.
  RingPosition reached;     ///< Far. The publisher itself knows how far it has written a near ring.
  [[nodiscard]] friend bool operator==(const Earlier&, const Earlier&) = default;
};

/// Windows of a publisher to the tables of instruments and states beside a ring of market events, to read.
struct TableWindows {
  nic::WindowName instruments;
  nic::WindowName states;
};

/// Subscriber to publisher.
struct Subscribe {
  std::uint64_t session = 0;  ///< Drawn by the subscriber; the same again means: answer again.
  std::string ring;           ///< As the publisher calls it.
  std::string token;          ///< Any bytes.
  Filter filter;
  bool is_lossless = false;       ///< The ring's writer shall wait for this subscriber.
  bool tells_reached = false;     ///< Far, lossless: it sends Reached.
  bool wants_tables = false;      ///< Far: Accept may have tables.
  std::uint64_t layout_hash = 0;  ///< That it must have; 0: any.
  nic::WindowName landing;        ///< Where records are put: slots of `layout`, and two words after them.
  nic::ChannelLayout layout;
  std::uint8_t event = 0;  ///< Signalled to the subscriber for each message.
  /// Lossless: where the subscriber was, so that it begins neither before nor after that. Nothing: it is new.
  std::optional<Earlier> earlier;
  /// The subscriber is on the publisher's host, and wants the publisher to write its ring. `landing`, `layout` and
  /// `event` say nothing then.
  std::optional<WantedRing> near;
};

/// Publisher to subscriber.
struct Accept {
  std::uint64_t session = 0;
  nic::Vpid sender = 0;           ///< The port that the records come from, and that credits go to,
  std::uint8_t credit_event = 0;  ///< as this event.
  bool has_window = false;        ///< Whether the ring itself can be read, as follows.
  nic::Vpid owner = 0;
  nic::WindowName window;  ///< The ring's segment, to read.
  std::uint64_t slot_count = 0;
  std::uint64_t slots_offset = 0;
  std::uint64_t image_offset = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t layout_hash = 0;
  std::uint64_t epoch = 0;
  std::uint32_t max_record_slots = 0;
  std::uint32_t image_generation = 0;
  RingPosition begin;  ///< The channel brings what is published from here on.
  /// If they are wanted, and the ring has some.
  std::optional<TableWindows> tables = {};
  std::uint64_t tables_epoch = 0;  ///< With tables: epoch of the ring that they name.
};

struct Refuse {
  std::uint64_t session = 0;
  Refusal why = Refusal::None;
  std::string text;  ///< For people: what exactly.
  /// To a lossless subscriber that was accepted. Far: records that the ring had; near: records that the near ring
  /// lacks.
  std::uint64_t records = 0;
};

struct Leave {
  std::uint64_t session = 0;
};

/// Publisher to subscriber: the near ring exists, under its name.
struct AcceptNear {
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;  ///< Of the near ring.
};

/// Publisher to subscriber, now and then: how the near ring is.
struct Beat {
  std::uint64_t session = 0;
  std::uint64_t number = 0;
  bool has_history = false;    ///< All that was published before the subscriber came is in the ring, if it wants that.
  std::uint8_t how = 0;        ///< 0: it goes on. Else it has ended: a ring::WriterState.
  std::uint64_t records = 0;   ///< In the ring,
  std::uint64_t slots = 0;     ///< and their slots.
  std::uint64_t fetched = 0;   ///< Of the records: published before the subscriber came.
  std::uint64_t filtered = 0;  ///< Records that the filter kept back.
  std::uint64_t lost = 0;      ///< Reported by events of the kind Lost.
};

/// Subscriber to publisher: it has heard that beat.
struct Echo {
  std::uint64_t session = 0;
  std::uint64_t number = 0;
};

/// Lossless subscriber to publisher, far: all records before that place are in the ring here. The publisher keeps what
/// comes after it in the published ring.
struct Reached {
  std::uint64_t session = 0;
  RingPosition place;
};

enum class Call : std::uint8_t {
  Subscribe = 1,
  Leave = 2,
  Accept = 3,
  Refuse = 4,
  SubscribeNear = 5,  ///< A Subscribe with `near`.
  AcceptNear = 6,
  Beat = 7,
  Echo = 8,
  Reached = 9,
};

[[nodiscard]] std::vector<std::byte> to_bytes(const Subscribe& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const Accept& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const Refuse& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const Leave& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const AcceptNear& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const Beat& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const Echo& message);
[[nodiscard]] std::vector<std::byte> to_bytes(const Reached& message);

/// Type of the message, if it is one of this protocol and version. A failure says what is wrong; `version` is then the
/// sender's, or 0 if these are no bytes of any version.
struct Greeting {
  Call call = {};
  std::uint64_t session = 0;
};
[[nodiscard]] Result<Greeting> read_greeting(std::span<const std::byte> bytes, std::uint16_t& version);
/// Of bytes with such a greeting. A good result is within all bounds that are stated here; layouts are sound, numbers
/// of slots are those of rings.
[[nodiscard]] Result<Subscribe> read_subscribe(std::span<const std::byte> bytes);
[[nodiscard]] Result<Accept> read_accept(std::span<const std::byte> bytes);
[[nodiscard]] Result<Refuse> read_refuse(std::span<const std::byte> bytes);
[[nodiscard]] Result<AcceptNear> read_accept_near(std::span<const std::byte> bytes);
[[nodiscard]] Result<Beat> read_beat(std::span<const std::byte> bytes);
[[nodiscard]] Result<Echo> read_echo(std::span<const std::byte> bytes);
[[nodiscard]] Result<Reached> read_reached(std::span<const std::byte> bytes);

/// Takes as long whatever is wrong.
[[nodiscard]] bool is_same_token(std::string_view given, std::string_view right) noexcept;

/// Begins each message of the channel; slots follow, one record after the other. A record may begin in one message and
/// end in a later one.
enum class Batch : std::uint8_t { Records = 1, Ended = 2 };
struct BatchHead {
  Batch kind = Batch::Records;
  std::uint8_t how = 0;  ///< Ended: a ring::WriterState.
  std::uint16_t slots = 0;
  std::uint32_t reserved = 0;
  RingPosition
      reached;  ///< All before it were sent or filtered: of the records whose last slot is in this message or before.
};
static_assert(sizeof(BatchHead) == 24);

/// Layout whose messages each fit in one packet, for nodes with packets of `packet_bytes` (the links'). Nothing if
/// these are too short for a slot.
[[nodiscard]] std::optional<nic::ChannelLayout> landing_layout(std::size_t packet_bytes,
                                                               std::uint32_t messages) noexcept;
/// The words after the messages in a landing window: the last heartbeat of the ring's writer (ring::Header's
/// heartbeat_ns), and a number that grows as long as the publisher is well.
[[nodiscard]] constexpr std::size_t heartbeat_at(const nic::ChannelLayout& layout) noexcept {
  return layout.bytes();
}
[[nodiscard]] constexpr std::size_t beat_at(const nic::ChannelLayout& layout) noexcept {
  return layout.bytes() + 8;
}
[[nodiscard]] constexpr std::size_t landing_bytes(const nic::ChannelLayout& layout) noexcept {
  return layout.bytes() + 16;
}
/// Slots of records in a message of such a channel.
[[nodiscard]] constexpr std::size_t slots_per_message(const nic::ChannelLayout& layout) noexcept {
  return (layout.max_message() - sizeof(BatchHead)) / nic::kLineBytes;
}
inline constexpr std::size_t kMaxLandingBytes = 4U << 20U;  ///< A publisher keeps as much for each subscriber.

}  // namespace stopbit::remote
