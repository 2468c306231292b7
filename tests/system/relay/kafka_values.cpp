#include <cstdio>
#include <map>
#include <string>

#include "host/relay/kafka/client.hpp"

// The last value of each key in a topic of Kafka, as compaction leaves it.
//
//     kafka_values ADDRESS    a line for each key: the key, a tab, its value

int main(int count, char** arguments) {
  using namespace stopbit::relay;
  const auto address = parse_kafka_address(count == 2 ? arguments[1] : "");
  if (!address) return std::fprintf(stderr, "%s\n", address.message().c_str()), 2;
  auto reader = KafkaReader::open({address.value(), {}}, address.value().topic);
  if (!reader) return std::fprintf(stderr, "%s\n", reader.failure().message.c_str()), 1;
  std::map<std::string, std::string> values;
  const auto read = reader.value().read_until(reader.value().range().begin, [&](const KafkaReader::Message& message) {
    values[std::string(message.key)].assign(reinterpret_cast<const char*>(message.value.data()), message.value.size());
    return true;
  });
  if (!read) return std::fprintf(stderr, "%s\n", read.failure().message.c_str()), 1;
  for (const auto& [key, value] : values) std::printf("%s\t%s\n", key.c_str(), value.c_str());
  return 0;
}
