#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "host/relay/kafka/client.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/kafka/producer.hpp"
#include "host/relay/kafka/record.hpp"

namespace stopbit::relay {
namespace {

/// Messages from the end on among which the last one of a relay is looked for first.
constexpr std::int64_t kTail = 1'024;

/// Each call of `stored` ends a transaction with everything that was sent since the last one.
///
/// Each record once: `begin` makes the brokers abort what an earlier session of this transactional id has not
/// committed, and refuse what it left in sockets. Then no message can come any more, and the last committed one says
/// where to go on. Brokers know no expected last id, so without transactions such a message could come after that look.
class KafkaStore final : public Store {
 public:
  KafkaStore(KafkaAccess access, std::function<void(const std::string&)> tell)
      : access_(std::move(access)), tell_(std::move(tell)) {}

  Result<std::optional<Head>, StoreFailure> begin() override {
    producer_.reset();
    // Before a producer: its look at a topic may make one that does not exist, with the brokers' default settings.
    auto reader = KafkaReader::open(access_, topic());
    if (!reader) return reader.failure();
    if (const auto layouts = KafkaReader::open(access_, layouts_topic_of(topic())); !layouts) return layouts.failure();
    auto opened = KafkaProducer::open(access_, "stopbit-relay-" + topic(), topic());
    if (!opened) return opened.failure();
    producer_ = std::move(opened).value();
    return last_message();
  }

  Result<Done, StoreFailure> show_layout(std::uint64_t layout, std::span<const std::byte> image) override {
    auto layouts = KafkaReader::open(access_, layouts_topic_of(topic()));
    if (!layouts) return layouts.failure();
    const auto there = layouts.value().layout(layout);
    if (!there) return there.failure();
    if (std::equal(there.value().begin(), there.value().end(), image.begin(), image.end())) return Done{};
    for (std::size_t i = 0; i * kPartBytes < image.size(); ++i) {
      const std::span<const std::byte> rest = image.subspan(i * kPartBytes);
      const auto part =
          encode_part({layout, i * kPartBytes, image.size(), rest.first(std::min(rest.size(), kPartBytes))});
      const std::string key = fmt::format("{:016x}.{}", layout, i);
      if (const auto sent = producer_->produce(layouts_topic_of(topic()), key, "layout", part); !sent) return sent;
    }
    return producer_->commit();
  }

  Result<Done, StoreFailure> send(const Outgoing& message, bool /*asks*/) override {
    return producer_->send(id_of(message.head), topic_of(message.head), message.message());
  }

  Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) override { return producer_->stored(wait_ms); }

 private:
  [[nodiscard]] const std::string& topic() const noexcept { return access_.address.topic; }

  /// The last committed message that a relay wrote; others are left out.
  [[nodiscard]] Result<std::optional<Head>, StoreFailure> last_message() {
    auto reader = KafkaReader::open(access_, topic());
    if (!reader) return reader.failure();
    const auto [first, end] = reader.value().range();
    std::optional<Head> last;
    std::uint64_t foreign = 0;
    // Aborted messages and the marks of transactions have offsets, too, so the last message may be far from the end.
    for (std::int64_t tail = kTail; first < end && !last; tail *= 4) {
      foreign = 0;
      const std::int64_t from = std::max(first, end - tail);
      const auto read = reader.value().read_until(from, [&](const KafkaReader::Message& message) {
        const Result<Head> head = decode_kafka_record({message.key, message.channel, message.value});
        if (head) last = head.value();
        if (!head) ++foreign;
        return true;
      });
      if (!read) return read.failure();
      if (from == first) break;
    }
    if (reader.value().has_open_transaction()) {
      return StoreFailure{StoreFailure::Kind::Away,
                          fmt::format("another process has an open transaction in the topic {}", topic())};
    }
    if (foreign != 0) {
      tell_(fmt::format("the topic {} has {} messages near its end that no relay wrote; they are left out", topic(),
                        foreign));
    }
    return last;
  }

  KafkaAccess access_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<KafkaProducer> producer_;
};

}  // namespace

bool has_kafka() noexcept {
  return true;
}

Result<std::unique_ptr<Store>> make_kafka_store(KafkaAccess access, std::function<void(const std::string&)> tell) {
  return std::unique_ptr<Store>(std::make_unique<KafkaStore>(std::move(access), std::move(tell)));
}

}  // namespace stopbit::relay
