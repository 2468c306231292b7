#pragma once

#include <cstdint>

#include "host/device/device.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

/// The ring whose records a kernel sends to other nodes: all that its core decodes, numbered as in a ring of this size.
struct FarRingOptions {
  std::uint16_t node = 0;              ///< Number of the kernel's node.
  std::uint64_t slot_count = 65'536;   ///< A power of two, 16 to 2^28.
  std::uint32_t max_record_slots = 1;  ///< Of the program; at most an eighth of slot_count.
  std::uint16_t image_generation = 0;  ///< In events of lost records.
};

/// A place in that ring.
struct FarPosition {
  std::uint64_t number = 0;   ///< Of a slot.
  std::uint64_t records = 0;  ///< Before it.
  bool operator==(const FarPosition&) const = default;
};

/// A subscriber on another node: its port, window and channel (nic::ChannelLayout), as it made them known, and the port
/// of the kernel's node that its records come from.
struct FarSubscriber {
  std::uint16_t node = 0;
  std::uint16_t vpid = 0;
  std::uint8_t event = 0;        ///< Signalled for each message, up to 63; 0: none.
  std::uint16_t window = 0;      ///< The slots of the channel, from its first byte.
  std::uint64_t capability = 0;  ///< Of the window.
  std::uint32_t slots = 64;      ///< 33 to 65,536,
  std::uint32_t slot_bytes =
      168;                 ///< at least 104, a multiple of 8; from 168 on a message holds two slots of a record.
  std::uint16_t port = 0;  ///< Gets the subscriber's credits, as its event 1.
  std::uint16_t domain = 0;
  std::uint32_t life = 0;  ///< Comes back with refusals.
};

/// As far::SubscriptionStatus counts; filtered records are the rest of those since `begun`.
struct FarAccounts {
  std::uint64_t begun = 0;  ///< Records of the ring before it came.
  std::uint64_t messages = 0;
  std::uint64_t records = 0;  ///< Events of lost ones among them.
  std::uint64_t slots = 0;
  std::uint64_t lost = 0;
  bool operator==(const FarAccounts&) const = default;
};

struct FarCounters {
  std::uint64_t overrun = 0;    ///< Records without room in the kernel: lost for all subscribers.
  std::uint32_t malformed = 0;  ///< Records that contradicted themselves: not part of the ring.
  std::uint32_t surplus = 0;    ///< Credits for more messages than a channel has slots,
  std::uint32_t stray = 0;      ///< and signals that are no subscriber's credits: not counted.
};

struct FarState {
  bool waiting = false;     ///< Records wait to be sent.
  std::uint8_t open = 0;    ///< A bit for each subscriber,
  std::uint8_t losing = 0;  ///< and for each that loses records until it gives credit.
};

/// Subscribers on other nodes whose records a kernel sends by itself. What each one gets says the kernel's table of
/// filters (Filter::subscribers); requests of subscribers, images, heartbeats and deadlines are software's.
///
/// The device must outlive it; one thread. A call waits until the kernel has done what it asks, between two records; if
/// the network takes nothing for so long that this fails, the kernel still does it later.
class FarRing {
 public:
  static constexpr std::uint32_t kSubscribers = 8;

  /// Begins the ring. Fails if the kernel sends no records, a subscriber is open, or a value makes no sense.
  [[nodiscard]] static Result<FarRing> start(Device& device, const FarRingOptions& options);

  /// Opens subscriber `index`, from 0 to 7, in the place of one that is open. Returns where it begins.
  [[nodiscard]] Result<FarPosition> open(std::uint32_t index, const FarSubscriber& subscriber);
  /// It is sent nothing more, and its accounts end. What is on its way may still arrive.
  [[nodiscard]] Status close(std::uint32_t index);

  /// Sends how far it is: a message without records. False: it is closed, loses records, has no credit, or begins after
  /// what was sent.
  [[nodiscard]] Result<bool> tell_position(std::uint32_t index);
  /// Sends, after all records that wait, that the ring has ended, and how (ring::WriterState). False as above.
  [[nodiscard]] Result<bool> tell_end(std::uint32_t index, std::uint8_t how);

  [[nodiscard]] Result<FarAccounts> accounts(std::uint32_t index);
  /// After the last record of the ring.
  [[nodiscard]] Result<FarPosition> position();
  [[nodiscard]] Result<FarCounters> counters();
  [[nodiscard]] Result<FarState> state();

 private:
  explicit FarRing(Device& device) : device_(&device) {}
  [[nodiscard]] Status command(std::uint32_t offset, std::uint32_t value, std::uint32_t until_clear, const char* what);
  [[nodiscard]] Result<bool> tell(std::uint32_t index, std::uint32_t what, const char* in_words);

  Device* device_;
};

}  // namespace stopbit::device
