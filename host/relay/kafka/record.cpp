#include "host/relay/kafka/record.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace stopbit::relay {

Result<Head> decode_kafka_record(const KafkaRecord& record) {
  Result<Head> head = decode_message(record.value);
  if (!head) return head;
  if (record.key != id_of(head.value())) return Failure{"its key is of another message"};
  if (!record.channel || *record.channel != topic_of(head.value())) return Failure{"its channel is of another message"};
  return head;
}

std::int64_t next_offset_in(std::string_view statistics) noexcept {
  constexpr std::string_view kKey = "\"next_offset\":";
  std::int64_t highest = -1;
  for (std::size_t at = 0; (at = statistics.find(kKey, at)) != std::string_view::npos;) {
    at += kKey.size();
    std::string_view digits = statistics.substr(at);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    std::int64_t offset = -1;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
    if (problem == std::errc()) highest = std::max(highest, offset);
  }
  return highest;
}

}  // namespace stopbit::relay
