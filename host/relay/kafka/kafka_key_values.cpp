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
    sent_ = stored_ = 0;
    // Before a producer: its look at a topic may make one that does not exist, with the brokers' default settings.
    if (const auto there = KafkaReader::open(access_, access_.address.topic); !there) return there.failure();
    auto opened = KafkaProducer::open(access_, "stopbit-books-" + access_.address.topic, access_.address.topic);
    if (!opened) return opened.failure();
    producer_ = std::move(opened).value();
    return Done{};
  }

  Result<Done, StoreFailure> put(std::string_view key, std::string_view value, bool /*asks*/) override {
    const auto sent = producer_->produce(access_.address.topic, key, "", std::as_bytes(std::span(value)));
    if (sent) ++sent_;
    return sent;
  }

  Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) override {
    if (!producer_->has_open_transaction()) {
      producer_->wait(wait_ms);
      return stored_;
    }
    if (const auto committed = producer_->commit(); !committed) return committed.failure();
    stored_ = sent_;
    return stored_;
  }

 private:
  KafkaAccess access_;
  std::unique_ptr<KafkaProducer> producer_;
  std::uint64_t sent_ = 0;  ///< In this session.
  std::uint64_t stored_ = 0;
};

}  // namespace

Result<std::unique_ptr<KeyValues>> make_kafka_key_values(KafkaAccess access) {
  return std::unique_ptr<KeyValues>(std::make_unique<KafkaTable>(std::move(access)));
}

}  // namespace stopbit::relay
