#include <string>
#include <utility>

#include "host/relay/kafka/client.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/kafka/producer.hpp"

namespace stopbit::relay {
namespace {

class KafkaTable final : public KeyValues {
 public:
  explicit KafkaTable(KafkaAccess access) : access_(std::move(access)) {}

  Result<Done, StoreFailure> begin() override {
    producer_.reset();
    // Before a producer: its look at a topic may make one that does not exist, with the brokers' default settings.
    if (const auto there = KafkaReader::open(access_, access_.address.topic); !there) return there.failure();
    auto opened = KafkaProducer::open(access_, "stopbit-books-" + access_.address.topic, access_.address.topic);
    if (!opened) return opened.failure();
    producer_ = std::move(opened).value();
    return Done{};
  }

  Result<Done, StoreFailure> put(std::string_view key, std::string_view value, bool /*asks*/) override {
    return producer_->send(key, "", std::as_bytes(std::span(value)));
  }

  Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) override { return producer_->stored(wait_ms); }

 private:
  KafkaAccess access_;
  std::unique_ptr<KafkaProducer> producer_;
};

}  // namespace

Result<std::unique_ptr<KeyValues>> make_kafka_key_values(KafkaAccess access) {
  return std::unique_ptr<KeyValues>(std::make_unique<KafkaTable>(std::move(access)));
}

}  // namespace stopbit::relay
