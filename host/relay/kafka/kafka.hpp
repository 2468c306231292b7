#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/relay/books/key_values.hpp"
#include "host/relay/store.hpp"
#include "host/relay/stream.hpp"
#include "microcode/base/result.hpp"

/// Topics of Kafka. Built without librdkafka, everything that needs a broker fails and says so.
namespace stopbit::relay {

/// Whether this program was built with librdkafka.
[[nodiscard]] bool has_kafka() noexcept;

/// kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC
struct KafkaAddress {
  std::string brokers;  ///< "HOST:PORT,HOST:PORT"
  std::string topic;
};
[[nodiscard]] bool is_kafka_address(std::string_view text) noexcept;
/// `text` is such an address. A topic's name has letters, digits, '.', '_' and '-' only.
[[nodiscard]] Result<KafkaAddress> parse_kafka_address(const std::string& text);

/// Keys of librdkafka and their values.
using KafkaSettings = std::vector<std::pair<std::string, std::string>>;
/// Lines KEY=VALUE, as the tools of Kafka read them; '#' begins a comment. Only keys that say how to reach brokers:
/// what the relay's guarantees need cannot be changed.
[[nodiscard]] Result<KafkaSettings> parse_kafka_settings(std::string_view text);

/// How to reach brokers.
struct KafkaAccess {
  KafkaAddress address;
  KafkaSettings settings;
};

/// What a relay writes. `tell` receives a line for each thing that people should know.
[[nodiscard]] Result<std::unique_ptr<Store>> make_kafka_store(KafkaAccess access,
                                                              std::function<void(const std::string&)> tell);
[[nodiscard]] Result<std::unique_ptr<Stream>> make_kafka_stream(KafkaAccess access);

/// A compacted topic, in whose partition 0 the last message of a key is its value.
[[nodiscard]] Result<std::unique_ptr<KeyValues>> make_kafka_key_values(KafkaAccess access);

}  // namespace stopbit::relay
