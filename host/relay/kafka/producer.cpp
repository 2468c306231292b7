#include "host/relay/kafka/producer.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "host/os/clock.hpp"
#include "host/relay/kafka/record.hpp"

namespace stopbit::relay {
namespace {

/// A transaction of a relay that has died blocks readers of the topic for this long, or until the next relay begins.
constexpr std::uint64_t kTransactionMs = 10'000;

using KafkaError = std::unique_ptr<rd_kafka_error_t, decltype(&rd_kafka_error_destroy)>;

KafkaError owned(rd_kafka_error_t* error) {
  return {error, rd_kafka_error_destroy};
}

bool is_fenced(rd_kafka_resp_err_t code) noexcept {
  return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
         code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

rd_kafka_headers_t* headers_of(std::string_view channel) {
  if (channel.empty()) return nullptr;
  rd_kafka_headers_t* headers = rd_kafka_headers_new(1);
  (void)rd_kafka_header_add(headers, kChannelHeader, -1, channel.data(), static_cast<ssize_t>(channel.size()));
  return headers;
}

}  // namespace

Result<std::unique_ptr<KafkaProducer>, StoreFailure> KafkaProducer::open(const KafkaAccess& access,
                                                                         const std::string& id,
                                                                         const std::string& topic) {
  auto client = KafkaClient::open(
      RD_KAFKA_PRODUCER, access,
      {{"transactional.id", id}, {"transaction.timeout.ms", std::to_string(kTransactionMs)}, {"linger.ms", "0"}});
  if (!client) return client.failure();
  std::unique_ptr<KafkaProducer> producer(new KafkaProducer(std::move(client).value(), topic));
  if (const auto error = owned(rd_kafka_init_transactions(producer->client_->handle(), kKafkaWaitMs))) {
    return producer->failure("cannot begin to write the topic " + topic, *error);
  }
  return producer;
}

Result<Done, StoreFailure> KafkaProducer::produce(const std::string& topic, std::string_view key,
                                                  std::string_view channel, std::span<const std::byte> value) {
  if (!is_open_) {
    if (const auto error = owned(rd_kafka_begin_transaction(client_->handle()))) {
      return failure("cannot begin a transaction", *error);
    }
    is_open_ = true;
    opened_ns_ = os::monotonic_clock_ns();
  }
  rd_kafka_headers_t* headers = headers_of(channel);
  const rd_kafka_resp_err_t code =
      rd_kafka_producev(client_->handle(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(kPartition),
                        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key.data(), key.size()),
                        // The library copies the value, and does not write to it.
                        RD_KAFKA_V_VALUE(const_cast<std::byte*>(value.data()),
                                         value.size()),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
                        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    // The library takes the headers only with the message.
    if (headers != nullptr) rd_kafka_headers_destroy(headers);
    return client_->failure("cannot send to the topic " + topic, code);
  }
  return Done{};
}

/// The library advises to wait for the rest of the transaction's time, but librdkafka 2.0.2 then waits for good if the
/// coordinator goes away at the wrong moment. What a commit has done that ran out of time is seen by the next session.
Result<Done, StoreFailure> KafkaProducer::commit() {
  if (!is_open_) return Done{};
  const auto error = owned(rd_kafka_commit_transaction(client_->handle(), kKafkaWaitMs));
  if (error) return failure("the brokers did not store messages", *error);
  is_open_ = false;
  return Done{};
}

Result<Done, StoreFailure> KafkaProducer::send(std::string_view key, std::string_view channel,
                                               std::span<const std::byte> value) {
  const auto sent = produce(topic_, key, channel, value);
  if (sent) ++sent_;
  return sent;
}

Result<std::uint64_t, StoreFailure> KafkaProducer::stored(std::uint64_t wait_ms) {
  if (!is_open_) {
    rd_kafka_poll(client_->handle(), static_cast<int>(wait_ms));
    return stored_;
  }
  if (const auto committed = commit(); !committed) return committed.failure();
  stored_ = sent_;
  return stored_;
}

StoreFailure KafkaProducer::failure(const std::string& what, const rd_kafka_error_t& error) {
  const rd_kafka_resp_err_t code = rd_kafka_error_code(&error);
  std::array<char, 512> detail{};
  const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(client_->handle(), detail.data(), detail.size());
  if (is_fenced(code) || is_fenced(fatal)) {
    // A relay that stood still for longer than its transaction may last is refused in the same way.
    const std::uint64_t since_ms = (os::monotonic_clock_ns() - opened_ns_) / 1'000'000;
    const bool was_late = is_open_ && since_ms >= kTransactionMs;
    return {was_late ? StoreFailure::Kind::Away : StoreFailure::Kind::Refused,
            was_late ? fmt::format("a transaction was open for more than {} s", kTransactionMs / 1'000)
                     : fmt::format("another relay writes the topic {}", topic_)};
  }
  return client_->failure(what, fatal != RD_KAFKA_RESP_ERR_NO_ERROR ? fatal : code);
}

}  // namespace stopbit::relay
