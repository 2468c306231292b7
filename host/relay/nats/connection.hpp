#pragma once

#include <nats/nats.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/relay/nats/nats.hpp"

namespace stopbit::relay {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const noexcept {
    destroy(object);
  }
};
using NatsMessage = std::unique_ptr<natsMsg, Destroy<natsMsg_Destroy>>;
/// Closes the connection first, and with it the thread that reads: libnats before 3.6 still uses a subscription that is
/// destroyed while a message of it arrives.
struct EndSubscription {
  natsConnection* connection = nullptr;
  void operator()(natsSubscription* subscription) const noexcept {
    natsConnection_Close(connection);
    natsSubscription_Destroy(subscription);
  }
};
using NatsSubscription = std::unique_ptr<natsSubscription, EndSubscription>;
using NatsStreamInfo = std::unique_ptr<jsStreamInfo, Destroy<jsStreamInfo_Destroy>>;

/// A connection that is never repaired: after a failure make another one, so that what is on its way is known.
class NatsConnection {
 public:
  [[nodiscard]] static Result<NatsConnection, StoreFailure> open(const NatsAccess& access);

  [[nodiscard]] natsConnection* connection() const noexcept { return connection_.get(); }
  [[nodiscard]] jsCtx* stream() const noexcept { return context_.get(); }
  /// Null: there is no such stream.
  [[nodiscard]] Result<NatsStreamInfo, StoreFailure> info(const std::string& stream) const;
  /// The image of a layout that lies beside a stream; empty: it is not there, or not complete.
  [[nodiscard]] Result<std::vector<std::byte>, StoreFailure> layout(const std::string& stream,
                                                                    const std::string& subject,
                                                                    std::uint64_t name) const;

 private:
  NatsConnection() = default;
  std::unique_ptr<natsConnection, Destroy<natsConnection_Destroy>> connection_;
  std::unique_ptr<jsCtx, Destroy<jsCtx_Destroy>> context_;  ///< Ends before the connection.
};

[[nodiscard]] std::span<const std::byte> bytes_of(const natsMsg* message) noexcept;
/// What went wrong: "WHAT: the library's words".
[[nodiscard]] StoreFailure nats_failure(const std::string& what, natsStatus status, int code = 0);
[[nodiscard]] std::string layouts_of(const std::string& stream);
[[nodiscard]] std::string subject_of_part(const std::string& subject, std::uint64_t name, std::uint64_t part);

}  // namespace stopbit::relay
