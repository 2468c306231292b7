#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/feed/packet/membership.hpp"
#include "host/feed/packet/packet.hpp"
#include "microcode/base/result.hpp"

/// Where live datagrams come from. One leaf folder per kind of port; the rest of the program sees this interface only.
namespace stopbit::ingest {

/// A UDP datagram as it arrived.
struct Arrival {
  std::span<const std::byte> payload;  ///< Of the UDP datagram. Valid until the next poll of the port.
  net::Endpoint source;
  net::Endpoint destination;
  std::uint64_t arrival_ns = 0;  ///< Wall clock, since 1970: for records and logs.
  /// Monotonic clock: for decisions. Never later than the poll that handed it out, never earlier than the last one that
  /// found its source empty. Of a capture: the same as arrival_ns.
  std::uint64_t t_ns = 0;
  record::TimeQuality time_quality = record::TimeQuality::Poll;
};

/// A number that one thread writes and any thread reads.
class PortCounter {
 public:
  void add(std::uint64_t count) noexcept { set(value() + count); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

/// Counts of a port since it was opened. Written by the thread that polls, read by any.
///
///     frames = sum of verdicts        arrivals handed out = verdicts[Accepted]
///
/// What the card and the kernel dropped is not among the frames; a port that cannot know leaves 0 (see its leaf).
struct PortCounters {
  PortCounter frames;
  PortCounter bytes;                                 ///< Of the frames; a socket sees payloads only and counts those.
  std::array<PortCounter, net::kVerdicts> verdicts;  ///< By net::Verdict.
  PortCounter dropped_by_nic;                        ///< Came to the card and found no room or buffer there.
  PortCounter dropped_by_kernel;                     ///< Found no room in a kernel's buffer.
  PortCounter failures;  ///< Receive calls that failed: of a port whose interface has gone, say. Ended connections.
  PortCounter clamped;   ///< Datagrams whose stamp was more than a millisecond outside the time they can have come in.
};

using net::Membership;

/// Other groups for a port that is polled, see Port::prepare_groups. Destroyed by the thread that has made it: before
/// it was taken, nothing has changed; after that, the groups that were left are given up.
class GroupChange {
 public:
  GroupChange() = default;
  GroupChange(const GroupChange&) = delete;
  GroupChange& operator=(const GroupChange&) = delete;
  virtual ~GroupChange() = default;
};

/// A network port, polled by one thread.
///
/// Set-up allocates and makes system calls; poll does neither allocate nor throw nor wait. Order: open (a function of
/// the leaf), join each group, poll. Destroying the port leaves its groups.
class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  /// Asks for a group. At set-up only. The failure names the port, the group and what the system said.
  [[nodiscard]] virtual Status join(const Membership& membership) = 0;
  /// Joins further groups and prepares to leave others, while another thread polls; one change at a time, which that
  /// thread takes with change_groups. The failure says what cannot be had, and then nothing has changed. `notes` takes
  /// features that are not available. Memberships of `leave` were joined, those of `join` were not.
  [[nodiscard]] virtual Result<std::unique_ptr<GroupChange>> prepare_groups(std::span<const Membership> join,
                                                                            std::span<const Membership> leave,
                                                                            std::vector<std::string>& notes);
  /// By the thread that polls, between two polls: from here on the groups are those of the change, which then has what
  /// is to be destroyed. Groups that are in both lose nothing.
  virtual void change_groups(GroupChange& /*change*/) noexcept {}

  /// Hands out what has arrived, at most batch.size() datagrams; 0 = nothing now. What the previous poll handed out
  /// becomes invalid. Datagrams of groups that were not joined may be included if the port cannot filter.
  [[nodiscard]] virtual std::size_t poll(std::span<Arrival> batch) noexcept = 0;

  /// Every datagram with t_ns below this has been handed out: the time of the last poll that found nothing more, or, of
  /// a source that had more, the arrival of the last datagram read from it. Monotonic clock, ns; never goes back.
  [[nodiscard]] virtual std::uint64_t complete_until() const noexcept = 0;
  /// Whether datagrams are handed out in the order of their t_ns, so that each proves that all before it have come. Not
  /// where t_ns may be the time of the poll: what follows in the batch has arrived before that.
  [[nodiscard]] virtual bool in_order() const noexcept { return false; }

  /// An epoll instance that is ready when poll has something to hand out, for a thread that would rather block than
  /// poll; nothing: the port knows only when it is polled.
  [[nodiscard]] virtual std::optional<int> wakes_by() const noexcept { return std::nullopt; }
  /// Nothing will come any more: a capture has been played to its end. Live ports never end.
  [[nodiscard]] virtual bool ended() const noexcept { return false; }

  [[nodiscard]] virtual const PortCounters& counters() const noexcept = 0;
  /// For people: "socket eth1", "dpdk net_pcap0", "capture day.pcap".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// The NUMA node that its device hangs on; nothing if it has none or it is unknown. Polling from a core of another
  /// node costs time.
  [[nodiscard]] virtual std::optional<std::uint32_t> node() const noexcept { return std::nullopt; }
  /// A sentence for each requested feature that is not available ("no busy polling: Operation not permitted").
  [[nodiscard]] virtual std::span<const std::string> notes() const noexcept { return {}; }
};

inline Result<std::unique_ptr<GroupChange>> Port::prepare_groups(std::span<const Membership> /*join*/,
                                                                 std::span<const Membership> /*leave*/,
                                                                 std::vector<std::string>& /*notes*/) {
  return Failure{std::string(name()) + ": its groups cannot change while it is open"};
}

}  // namespace stopbit::ingest
