#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "host/ports/igmp/igmp.hpp"

/// A host of an Ethernet segment that receives groups, for an interface that no kernel serves: what it answers, and
/// when.
namespace stopbit::ingest {

/// Our own addresses. The IPv4 address may be 0 (RFC 3376, 4.2.13): then no request of ARP is ours.
struct StationAddress {
  MacAddress mac{};
  std::uint32_t address = 0;
};

/// "02:1b:00:00:00:07"; nothing for other texts, for groups and for zero.
[[nodiscard]] std::optional<MacAddress> parse_mac(std::string_view text) noexcept;

/// A query of IGMP.
struct GroupQuery {
  std::uint8_t version = 2;                 ///< 2 or 3; one of version 1 counts as 2.
  std::uint32_t group = 0;                  ///< 0: about all groups.
  std::uint64_t most_ns = 0;                ///< The answer comes within this time.
  std::uint8_t robustness = 0;              ///< How many times what may be lost is sent; 0: it does not say.
  std::span<const std::byte> sources = {};  ///< Four bytes each; empty: all. Part of the frame.
};

/// A request for our Ethernet address.
struct ArpRequest {
  MacAddress mac{};
  std::uint32_t address = 0;
};

/// What a frame wants of us: at most one of both.
struct StationFrame {
  std::optional<GroupQuery> query;
  std::optional<ArpRequest> request;
};

/// Reads any bytes as an Ethernet frame, and nothing outside. Lengths and checksums have to be right, and of a query
/// the time to live (1), its destination (224.0.0.1, its group, or us), and that it is no fragment. A query from
/// 0.0.0.0 is good: switches without an address of their own ask so (RFC 4541, 2.1.1).
[[nodiscard]] StationFrame parse_station_frame(std::span<const std::byte> frame, const StationAddress& own) noexcept;

/// The answer to a request.
inline constexpr std::size_t kArpBytes = 42;
[[nodiscard]] std::array<std::byte, kArpBytes> arp_reply(const ArpRequest& to, const StationAddress& own) noexcept;

/// Decides which frames are to be sent: reports of the groups when they are joined, when a querier asks, and once a
/// minute; answers to ARP; and at the end that we leave.
///
/// Version 3, unless a querier of version 2 has asked lately (RFC 3376, 7.2.1). An answer waits for a random time
/// within what the query allows; a group's answer has all its sources, those the query does not ask for included.
/// However many queries and requests come, an answer of one kind leaves at most each kLeastGapNs, and a frame at most
/// each kPaceNs.
///
/// One thread; allocates in the constructor only. Times are of one monotonic clock, ns.
class Station {
 public:
  static constexpr std::uint64_t kPaceNs = 1'000'000;
  static constexpr std::uint64_t kLeastGapNs = 200'000'000;
  static constexpr std::uint64_t kRepeatNs = 60'000'000'000;  ///< Reports without a question: a query may be lost.

  struct Counts {
    std::uint64_t queries = 0;   ///< That were good, about groups of others included.
    std::uint64_t reports = 0;   ///< Frames given to be sent, leaves included.
    std::uint64_t requests = 0;  ///< Of ARP.
    std::uint64_t replies = 0;
    std::uint64_t refused = 0;  ///< Frames that were none of these, or malformed.
  };

  /// `random` delays the answers.
  Station(std::span<const Membership> memberships, const StationAddress& own, std::mt19937_64 random);

  /// All groups are to be joined, from now on.
  void join(std::uint64_t now_ns) noexcept;
  /// All groups are to be left: next() has what says so, at once, and then nothing more.
  void leave(std::uint64_t now_ns) noexcept;
  /// A frame has come.
  void take(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept;
  /// The frame that is to be sent now; empty: none. Valid until the next call. Call it regularly, each 100 ms or more
  /// often.
  [[nodiscard]] std::span<const std::byte> next(std::uint64_t now_ns) noexcept;

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// Whether answers are of version 2.
  [[nodiscard]] bool is_version_2(std::uint64_t now_ns) const noexcept { return now_ns < version_2_until_ns_; }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  using Frames = std::vector<std::vector<std::byte>>;
  enum class State : std::uint8_t { Silent, Joined, Leaving };

  /// When an answer is due, and when the last one was.
  struct Answer {
    std::uint64_t due_ns = kNever;
    std::uint64_t last_ns = 0;
    bool was_given = false;
  };
  struct Group {
    std::uint32_t address = 0;
    std::vector<std::uint32_t> sources;  ///< Empty: from all.
    Frames reports;                      ///< Version 3, of this group alone.
    Answer answer;
  };

  [[nodiscard]] std::uint64_t random_below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : random_() % bound; }
  void take_query(const GroupQuery& query, std::uint64_t now_ns) noexcept;
  void plan(Answer& answer, std::uint64_t most_ns, std::uint64_t now_ns) noexcept;
  [[nodiscard]] static bool wants(const Group& group, const GroupQuery& query) noexcept;
  [[nodiscard]] bool is_due(Answer& answer, std::uint64_t now_ns) noexcept;
  void begin_burst(const Frames& frames) noexcept;
  void begin_what_is_due(std::uint64_t now_ns) noexcept;
  [[nodiscard]] std::span<const std::byte> sent(std::span<const std::byte> frame, std::uint64_t& count,
                                                std::uint64_t now_ns) noexcept;

  StationAddress own_;
  std::mt19937_64 random_;
  std::vector<Group> groups_;
  // Frames of all groups, made once.
  Frames joins_;
  Frames reports_;
  Frames leaves_;
  Frames version_2_reports_;  ///< One per group, in the order of groups_; so are the leaves.
  Frames version_2_leaves_;

  State state_ = State::Silent;
  const Frames* burst_ = nullptr;  ///< What is sent at present: frames burst_at_ to burst_end_.
  std::size_t burst_at_ = 0;
  std::size_t burst_end_ = 0;
  unsigned bursts_left_ = 0;  ///< Of joins, or of leaves.
  std::uint64_t next_join_ns_ = kNever;
  std::uint64_t next_repeat_ns_ = kNever;
  std::uint64_t next_frame_ns_ = 0;
  std::uint64_t version_2_until_ns_ = 0;
  unsigned robustness_ = 2;
  std::size_t turn_ = 0;  ///< Group that is looked at first.
  Answer all_;
  std::optional<ArpRequest> request_;
  Answer reply_;
  std::array<std::byte, kArpBytes> reply_frame_{};
  Counts counts_;
};

}  // namespace stopbit::ingest
