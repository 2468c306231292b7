#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/market/event/sbe.hpp"
#include "host/multicast/options.hpp"
#include "host/multicast/packet.hpp"
#include "host/multicast/refill_client.hpp"
#include "host/os/shm/segment.hpp"
#include "host/relay/follower.hpp"
#include "host/relay/unpacker.hpp"

namespace stopbit::multicast {

/// Where a ring comes from: multicast://GROUP:PORT[,GROUP:PORT].
[[nodiscard]] bool is_multicast_address(std::string_view text) noexcept;
/// The groups of lines A and B. The failure says what is wrong.
[[nodiscard]] Result<std::vector<net::Endpoint>> parse_multicast_address(std::string_view text);

struct ReceiverOptions {
  std::vector<net::Endpoint> groups;                ///< Of line A, and of line B if there is one.
  std::array<std::string, kLines> interfaces = {};  ///< Empty: the kernel's choice.
  std::optional<net::Endpoint> refill = {};
  bool from_start = false;  ///< Begins with the oldest packet that the refill service has.
  bool from_state = false;  ///< Begins with the books of a ring of market events, as the refill service has them.
  bool follows = false;     ///< Goes on after the end of a ring.
  /// How long a missing packet is waited for before it is lost; with a refill service, before that is asked.
  std::uint64_t window_ns = 20'000'000;
};

struct ReceiverCounts {
  std::array<std::uint64_t, kLines> packets = {};  ///< By line.
  std::uint64_t refilled = 0;                      ///< Packets that the refill service sent.
  std::uint64_t malformed = 0;                     ///< Datagrams that are no packets.
  std::uint64_t missing = 0;                       ///< Packets that did not come on any way.
  std::uint64_t records = 0;                       ///< Records and market events.
  std::uint64_t of_state = 0;                      ///< Market events that made the books of the beginning.
  std::uint64_t lost = 0;                          ///< Records; also those that the publisher lost.
  std::uint64_t unknown_losses = 0;                ///< Places where it is not known how many.
  std::uint64_t damaged = 0;                       ///< Packets whose messages are not possible.
  std::uint64_t epochs = 0;                        ///< Starts of a publisher.

  [[nodiscard]] bool is_complete() const noexcept { return lost == 0 && unknown_losses == 0 && damaged == 0; }
};

/// Takes market events, which need no table.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual void event(const market::SbeEvent& event) = 0;
};

/// Reads a ring back from two multicast lines: the arbiter of feeds merges them, a refill service sends again what both
/// lack. Nothing in a packet is believed: a sink gets whole records, and everything that is missing is counted.
///
/// One thread. It waits only for the refill service, and not for long; the sockets keep what comes meanwhile.
class Receiver final : private arbitrate::Sink {
 public:
  /// The references must outlive it. `tell` receives a line for each change that people should know.
  [[nodiscard]] static Result<std::unique_ptr<Receiver>> open(const ReceiverOptions& options,
                                                              relay::StreamSink& records, EventSink& events,
                                                              std::function<void(const std::string&)> tell);
  /// Without sockets: datagrams come by offer().
  [[nodiscard]] static std::unique_ptr<Receiver> without_sockets(const ReceiverOptions& options,
                                                                 relay::StreamSink& records, EventSink& events,
                                                                 std::function<void(const std::string&)> tell);

  enum class State : std::uint8_t { Busy, Idle, Done, Failed };
  /// Takes what has come.
  [[nodiscard]] State step(std::uint64_t now_ns, std::uint64_t wall_ns);
  /// A datagram that came another way than by the sockets.
  void offer(std::span<const std::byte> datagram, arbitrate::Line line, std::uint64_t now_ns, std::uint64_t wall_ns);
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const ReceiverCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] arbitrate::Account account() const noexcept { return arbiter_.account(); }

 private:
  static constexpr std::uint64_t kAnswerNs = 2'000'000'000;          ///< Longest wait for the refill service.
  static constexpr std::uint64_t kStateNs = 20'000'000'000;          ///< Longest wait for its state.
  static constexpr std::uint64_t kRetryNs = 1'000'000'000;           ///< After it failed.
  static constexpr std::uint64_t kMalformedLineNs = 60'000'000'000;  ///< Between lines about datagrams.
  static constexpr std::size_t kMostNumbers = 65'536;                ///< Of packets that wait.
  static constexpr std::uint64_t kEarlyPart = 512;  ///< Packets of the history that are asked for in a step.

  Receiver(const ReceiverOptions& options, relay::StreamSink& records, EventSink& events,
           std::function<void(const std::string&)> tell);

  std::size_t receive(std::size_t line, std::uint64_t now_ns, std::uint64_t wall_ns);
  void begin_early();
  void begin_with_state();
  void take_early(std::uint64_t now_ns, std::uint64_t wall_ns);
  void note(std::uint64_t sequence);
  void forget_before(std::uint64_t sequence);
  void refill(std::uint64_t now_ns, std::uint64_t wall_ns);
  void take_delivered();
  void take(const Packet& packet);
  [[nodiscard]] bool begin_ring(const relay::Head& ring);
  void fail(const std::string& why);

  [[nodiscard]] bool deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept override;
  void gap(const arbitrate::Gap& gap) noexcept override;
  void epoch(const arbitrate::NewRun& run) noexcept override;
  void reset(const arbitrate::NewRun& run) noexcept override;

  ReceiverOptions options_;
  relay::StreamSink& records_;
  EventSink& events_;
  std::function<void(const std::string&)> tell_;
  net::Framing framing_;
  arbitrate::Arbiter arbiter_;
  std::array<os::Descriptor, kLines> sockets_;
  std::vector<std::byte> room_;
  std::optional<RefillClient> client_;
  relay::Unpacker unpacker_;
  ReceiverCounts counts_;
  std::uint64_t number_ = 0;
  /// Packets with messages in their order. Sinks may throw, and what the arbiter calls must not.
  std::vector<std::vector<std::byte>> delivered_;

  std::optional<std::uint64_t> next_;  ///< The number that is delivered next.
  std::set<std::uint64_t> waiting_;    ///< Numbers that came and are not delivered, also of an epoch that may follow.
  std::uint64_t looked_to_ = 0;        ///< The highest number at the last look for holes.
  std::uint64_t next_ask_ns_ = 0;
  bool has_begun_ = false;  ///< What was there before this reader was asked for.
  struct Numbers {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
  };
  std::optional<Numbers> early_;  ///< Packets of the history that are not asked for yet. The lines wait meanwhile.
  struct Place {
    std::uint64_t ring = 0;
    std::uint64_t records = 0;
  };
  std::optional<Place> events_at_;  ///< Of a ring of market events.
  std::uint64_t after_state_ = 0;   ///< The first packet whose events were not in the state; 0: there was none.
  bool has_ended_ = false;
  std::string problem_;
  std::string told_;
  std::uint64_t next_malformed_line_ns_ = 0;
};

}  // namespace stopbit::multicast
