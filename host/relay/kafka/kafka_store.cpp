#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "host/os/clock.hpp"
#include "host/relay/kafka/client.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/kafka/record.hpp"

namespace stopbit::relay {
namespace {

/// A transaction of a relay that has died blocks readers of the topic for this long, or until the next relay begins.
constexpr std::uint64_t kTransactionMs = 10'000;
/// Messages from the end on among which the last one of a relay is looked for first.
constexpr std::int64_t kTail = 1'024;

using KafkaError = std::unique_ptr<rd_kafka_error_t, decltype(&rd_kafka_error_destroy)>;

KafkaError owned(rd_kafka_error_t* error) {
  return {error, rd_kafka_error_destroy};
}

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
    sent_ = stored_ = 0;
    is_open_ = false;
    // Before a producer: its look at a topic may make one that does not exist, with the brokers' default settings.
    auto reader = KafkaReader::open(access_, topic());
    if (!reader) return reader.failure();
    if (const auto layouts = KafkaReader::open(access_, layouts_topic_of(topic())); !layouts) return layouts.failure();
    auto opened = KafkaClient::open(RD_KAFKA_PRODUCER, access_,
                                    {{"transactional.id", "stopbit-relay-" + topic()},
                                     {"transaction.timeout.ms", std::to_string(kTransactionMs)},
                                     {"linger.ms", "0"}});
    if (!opened) return opened.failure();
    producer_ = std::move(opened).value();
    if (const auto error = owned(rd_kafka_init_transactions(producer_->handle(), kKafkaWaitMs))) {
      return failure("cannot begin to write the topic " + topic(), *error);
    }
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
      if (const auto sent = produce(layouts_topic_of(topic()), key, "layout", part); !sent) return sent;
    }
    return commit();
  }

  Result<Done, StoreFailure> send(const Outgoing& message, bool /*asks*/) override {
    const auto sent = produce(topic(), id_of(message.head), topic_of(message.head), message.message());
    if (sent) ++sent_;
    return sent;
  }

  Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) override {
    if (!is_open_) {
      rd_kafka_poll(producer_->handle(), static_cast<int>(wait_ms));
      return stored_;
    }
    if (const auto committed = commit(); !committed) return committed.failure();
    stored_ = sent_;
    return stored_;
  }

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

  [[nodiscard]] Result<Done, StoreFailure> produce(const std::string& to, const std::string& key,
                                                   const std::string& channel, std::span<const std::byte> value) {
    if (!is_open_) {
      if (const auto error = owned(rd_kafka_begin_transaction(producer_->handle()))) {
        return failure("cannot begin a transaction", *error);
      }
      is_open_ = true;
      opened_ns_ = os::monotonic_clock_ns();
    }
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        producer_->handle(), RD_KAFKA_V_TOPIC(to.c_str()), RD_KAFKA_V_PARTITION(kPartition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key.data(), key.size()),
        // The library copies the value, and does not write to it.
        RD_KAFKA_V_VALUE(const_cast<std::byte*>(value.data()),
                         value.size()),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        RD_KAFKA_V_HEADER(kChannelHeader, channel.data(), static_cast<ssize_t>(channel.size())), RD_KAFKA_V_END);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return producer_->failure("cannot send to the topic " + to, code);
    return Done{};
  }

  /// Waits until everything that was produced is stored. The library advises to wait for the rest of the transaction's
  /// time, but librdkafka 2.0.2 then waits for good if the coordinator goes away at the wrong moment. What a commit has
  /// done that ran out of time is seen by the next session.
  [[nodiscard]] Result<Done, StoreFailure> commit() {
    if (!is_open_) return Done{};
    const auto error = owned(rd_kafka_commit_transaction(producer_->handle(), kKafkaWaitMs));
    if (error) return failure("the brokers did not store messages", *error);
    is_open_ = false;
    return Done{};
  }

  [[nodiscard]] StoreFailure failure(const std::string& what, const rd_kafka_error_t& error) {
    const rd_kafka_resp_err_t code = rd_kafka_error_code(&error);
    std::array<char, 512> detail{};
    const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(producer_->handle(), detail.data(), detail.size());
    if (is_fenced(code) || is_fenced(fatal)) {
      // A relay that stood still for longer than its transaction may last is refused in the same way.
      const std::uint64_t since_ms = (os::monotonic_clock_ns() - opened_ns_) / 1'000'000;
      const bool was_late = is_open_ && since_ms >= kTransactionMs;
      return {was_late ? StoreFailure::Kind::Away : StoreFailure::Kind::Refused,
              was_late ? fmt::format("a transaction was open for more than {} s", kTransactionMs / 1'000)
                       : fmt::format("another relay writes the topic {}", topic())};
    }
    return producer_->failure(what, fatal != RD_KAFKA_RESP_ERR_NO_ERROR ? fatal : code);
  }
  [[nodiscard]] static bool is_fenced(rd_kafka_resp_err_t code) noexcept {
    return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
           code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
  }

  KafkaAccess access_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<KafkaClient> producer_;
  bool is_open_ = false;         ///< A transaction.
  std::uint64_t opened_ns_ = 0;  ///< When it was begun.
  std::uint64_t sent_ = 0;       ///< In this session.
  std::uint64_t stored_ = 0;
};

}  // namespace

bool has_kafka() noexcept {
  return true;
}

Result<std::unique_ptr<Store>> make_kafka_store(KafkaAccess access, std::function<void(const std::string&)> tell) {
  return std::unique_ptr<Store>(std::make_unique<KafkaStore>(std::move(access), std::move(tell)));
}

}  // namespace stopbit::relay
