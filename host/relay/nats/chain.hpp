#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/relay/nats/connection.hpp"

namespace stopbit::relay {

/// Messages of one session to a stream, each of which the server takes only directly after the one before it; and the
/// server's answers. Messages of an earlier session that arrive later are refused, or make the server refuse this one.
class NatsChain {
 public:
  /// `last`: sequence of the stream's last message. The connection must outlive what this makes.
  [[nodiscard]] Result<Done, StoreFailure> begin(const NatsConnection& connection, std::string server,
                                                 std::uint64_t last);
  void end() noexcept { answers_.reset(); }

  /// Sends a message. `asks`: the server shall answer. With an `id`, a message that is not the first names the id of
  /// the one before it; without, its sequence.
  [[nodiscard]] Result<Done, StoreFailure> send(const std::string& subject, std::span<const std::byte> bytes, bool asks,
                                                const std::string& id = {});
  /// Messages known to be stored. Waits up to `wait_ms` if no answer has arrived.
  [[nodiscard]] Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms);
  /// Sequence of the stream's last message when the session began.
  [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }

 private:
  natsConnection* connection_ = nullptr;
  std::string server_;
  NatsSubscription answers_;
  std::string inbox_;
  std::string last_id_;
  std::uint64_t begun_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace stopbit::relay
