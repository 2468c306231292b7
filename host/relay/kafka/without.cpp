#include "host/relay/kafka/kafka.hpp"

namespace stopbit::relay {
namespace {

constexpr const char* kWithoutKafka = "this program was built without librdkafka (Debian package: librdkafka-dev)";

}  // namespace

bool has_kafka() noexcept {
  return false;
}

Result<std::unique_ptr<Store>> make_kafka_store(KafkaAccess /*access*/,
                                                std::function<void(const std::string&)> /*tell*/) {
  return Failure{kWithoutKafka};
}

Result<std::unique_ptr<Stream>> make_kafka_stream(KafkaAccess /*access*/) {
  return Failure{kWithoutKafka};
}

Result<std::unique_ptr<KeyValues>> make_kafka_key_values(KafkaAccess /*access*/) {
  return Failure{kWithoutKafka};
}

}  // namespace stopbit::relay
