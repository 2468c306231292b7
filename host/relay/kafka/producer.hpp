#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/relay/kafka/client.hpp"

namespace stopbit::relay {

/// Writes by transactions under an id: everything since the last `commit` is stored as a whole or not at all. A
/// producer that opens makes the brokers end what an earlier one of the id has not committed, and refuse what that one
/// left in sockets.
class KafkaProducer {
 public:
  /// `topic`: where `send` writes.
  [[nodiscard]] static Result<std::unique_ptr<KafkaProducer>, StoreFailure> open(const KafkaAccess& access,
                                                                                 const std::string& id,
                                                                                 const std::string& topic);

  /// `channel`: the value of kChannelHeader; empty: without it. The bytes are copied.
  [[nodiscard]] Result<Done, StoreFailure> produce(const std::string& topic, std::string_view key,
                                                   std::string_view channel, std::span<const std::byte> value);
  /// The same to the producer's own topic, and counted.
  [[nodiscard]] Result<Done, StoreFailure> send(std::string_view key, std::string_view channel,
                                                std::span<const std::byte> value);
  /// Waits until everything that was produced is stored.
  [[nodiscard]] Result<Done, StoreFailure> commit();
  /// How many were sent and are stored: all, after a commit. With nothing to commit, lets the library work for a while.
  [[nodiscard]] Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms);

 private:
  KafkaProducer(std::unique_ptr<KafkaClient> client, std::string topic)
      : client_(std::move(client)), topic_(std::move(topic)) {}
  [[nodiscard]] StoreFailure failure(const std::string& what, const rd_kafka_error_t& error);

  std::unique_ptr<KafkaClient> client_;
  std::string topic_;
  bool is_open_ = false;         ///< A transaction.
  std::uint64_t opened_ns_ = 0;  ///< When it was begun.
  std::uint64_t sent_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace stopbit::relay
