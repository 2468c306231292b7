#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "host/relay/message.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

/// Name of the header whose value is `topic_of` a message: a consumer can choose without reading the bytes.
inline constexpr const char* kChannelHeader = "channel";

/// A record of a topic, as a broker gives it. Its key is `id_of` the message.
struct KafkaRecord {
  std::string_view key;
  std::optional<std::string_view> channel;  ///< Value of kChannelHeader.
  std::span<const std::byte> value;
};
/// Checks that key, header and message say the same, and everything that decode_message does.
[[nodiscard]] Result<Head> decode_kafka_record(const KafkaRecord& record);

/// The highest offset that a reader fetches next, in the statistics of librdkafka (JSON, "next_offset"); -1: none.
[[nodiscard]] std::int64_t next_offset_in(std::string_view statistics) noexcept;

}  // namespace stopbit::relay
