#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/multicast/refill_message.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::multicast {

/// Asks a publisher's refill service. Each call has a deadline, which holds whatever the service does. One thread.
class RefillClient {
 public:
  explicit RefillClient(net::Endpoint address) : address_(address) {}

  using TakePacket = std::function<void(std::span<const std::byte> packet)>;
  /// The packets with these numbers, as far as they are kept; at most kMostRequested. A failure ends the connection;
  /// the next call makes another one.
  [[nodiscard]] Result<Completion> packets(std::uint64_t first, std::uint64_t end, std::uint64_t timeout_ns,
                                           const TakePacket& take);
  /// The image with that name; checked to have it.
  [[nodiscard]] Result<std::vector<std::byte>> layout(std::uint64_t name, std::uint64_t timeout_ns);

  using TakeState = std::function<void(std::span<const std::byte> messages)>;
  struct StateAnswer {
    StateHead head;
    Completion done;
  };
  /// The state of a ring of market events. `take` gets its MarketEvent messages part by part, which are checked; after
  /// a failure those that came are of no use.
  [[nodiscard]] Result<StateAnswer> state(std::uint64_t timeout_ns, const TakeState& take);

 private:
  [[nodiscard]] Status ask(const Request& request, std::uint64_t until_ns);
  [[nodiscard]] Status connect(std::uint64_t until_ns);
  [[nodiscard]] Status read(std::span<std::byte> to, std::uint64_t until_ns);
  [[nodiscard]] Result<AnswerHead> read_head(std::uint64_t until_ns);
  [[nodiscard]] Result<Completion> read_done(std::uint64_t until_ns);
  /// Of the socket. False: the time is over.
  [[nodiscard]] bool wait(short events, std::uint64_t until_ns) const noexcept;
  [[nodiscard]] Failure fail(const std::string& what);

  net::Endpoint address_;
  std::optional<os::Descriptor> socket_;
  std::vector<std::byte> packet_;
};

}  // namespace stopbit::multicast
