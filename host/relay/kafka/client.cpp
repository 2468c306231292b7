#include "host/relay/kafka/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "host/os/clock.hpp"
#include "host/relay/kafka/record.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

/// Whether waiting cannot help.
bool needs_a_person(rd_kafka_resp_err_t code) noexcept {
  switch (code) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED: return true;
    default: return false;
  }
}

/// Without what differs each time: "... failed: Connection refused (after 3ms in state CONNECT)".
std::string stable(std::string_view reason) {
  return std::string(reason.substr(0, std::min(reason.find(" (after "), reason.size())));
}

std::string_view text_of(const void* bytes, std::size_t size) noexcept {
  return bytes == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(bytes), size);
}

}  // namespace

std::string layouts_topic_of(const std::string& topic) {
  return topic + "_layouts";
}

Result<std::unique_ptr<KafkaClient>, StoreFailure> KafkaClient::open(rd_kafka_type_t type, const KafkaAccess& access,
                                                                     const KafkaSettings& settings) {
  std::unique_ptr<KafkaClient> client(new KafkaClient(access.address.brokers));
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::array<char, 512> why{};
  rd_kafka_conf_set_opaque(conf, client.get());
  rd_kafka_conf_set_error_cb(conf, on_error);
  rd_kafka_conf_set_stats_cb(conf, on_statistics);
  // Errors come through the function above; the library's own lines on stderr would say them again.
  rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
  KafkaSettings all = access.settings;
  all.emplace_back("bootstrap.servers", access.address.brokers);
  all.emplace_back("client.id", "stopbit");
  all.emplace_back("reconnect.backoff.max.ms", "1000");
  all.insert(all.end(), settings.begin(), settings.end());
  for (const auto& [key, value] : all) {
    if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return StoreFailure{StoreFailure::Kind::Refused, "setting of Kafka: " + printable(why.data())};
    }
  }
  client->handle_ = rd_kafka_new(type, conf, why.data(), why.size());
  if (client->handle_ == nullptr) {
    rd_kafka_conf_destroy(conf);
    return StoreFailure{StoreFailure::Kind::Refused, "settings of Kafka: " + printable(why.data())};
  }
  return client;
}

KafkaClient::~KafkaClient() {
  if (handle_ != nullptr) rd_kafka_destroy(handle_);
}

void KafkaClient::on_error(rd_kafka_t* handle, int code, const char* reason, void* self) {
  auto& client = *static_cast<KafkaClient*>(self);
  auto error = static_cast<rd_kafka_resp_err_t>(code);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    client.is_down_ = true;
    return;
  }
  std::array<char, 512> fatal{};
  if (error == RD_KAFKA_RESP_ERR__FATAL) {
    error = rd_kafka_fatal_error(handle, fatal.data(), fatal.size());
    reason = fatal.data();
  }
  if (needs_a_person(error)) client.is_refused_ = true;
  client.reason_ = stable(reason);
}

int KafkaClient::on_statistics(rd_kafka_t* /*handle*/, char* text, std::size_t size, void* self) {
  static_cast<KafkaClient*>(self)->fetched_ = next_offset_in({text, size});
  return 0;  // The library frees the text.
}

StoreFailure KafkaClient::failure(const std::string& what, rd_kafka_resp_err_t code) {
  rd_kafka_poll(handle_, 0);
  std::string text = rd_kafka_err2str(code);
  if (!reason_.empty() && reason_ != text) text += ", " + reason_;
  const bool is_refused = is_refused_ || needs_a_person(code);
  return {is_refused ? StoreFailure::Kind::Refused : StoreFailure::Kind::Away, what + ": " + printable(text)};
}

std::optional<StoreFailure> KafkaClient::problem() {
  rd_kafka_poll(handle_, 0);
  if (!std::exchange(is_down_, false) && !is_refused_) return std::nullopt;
  return failure("cannot reach " + brokers_, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
}

Result<KafkaReader, StoreFailure> KafkaReader::open(const KafkaAccess& access, const std::string& topic) {
  auto client = KafkaClient::open(RD_KAFKA_CONSUMER, access,
                                  {{"isolation.level", "read_committed"},
                                   {"enable.partition.eof", "true"},
                                   {"auto.offset.reset", "error"},
                                   {"allow.auto.create.topics", "false"},
                                   {"check.crcs", "true"},
                                   // The only word on how far it is in messages that are not handed on.
                                   {"statistics.interval.ms", "500"},
                                   {"fetch.wait.max.ms", "50"},
                                   {"fetch.error.backoff.ms", "100"},
                                   // What a broker may make this process keep.
                                   {"max.partition.fetch.bytes", "1048576"},
                                   {"fetch.max.bytes", "4194304"},
                                   {"receive.message.max.bytes", "8388608"},
                                   {"queued.max.messages.kbytes", "4096"}});
  if (!client) return client.failure();
  KafkaReader reader(std::move(client).value(), topic);
  reader.topic_.reset(rd_kafka_topic_new(reader.client_->handle(), topic.c_str(), nullptr));
  if (reader.topic_ == nullptr) {
    return reader.client_->failure("cannot read the topic " + topic, rd_kafka_last_error());
  }
  if (const auto looked = reader.look(); !looked) return looked.failure();
  return reader;
}

Result<Done, StoreFailure> KafkaReader::look() {
  const rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(client_->handle(), name_.c_str(), kPartition,
                                                                    &range_.begin, &range_.end, kKafkaWaitMs);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return Done{};
  if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
      code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
    return StoreFailure{StoreFailure::Kind::Away,
                        fmt::format("the brokers have no topic {}; make it with one partition", name_)};
  }
  return client_->failure("cannot look at the topic " + name_, code);
}

Result<Done, StoreFailure> KafkaReader::start(std::int64_t offset) {
  stop();
  if (rd_kafka_consume_start(topic_.get(), kPartition, offset) != 0) {
    return client_->failure("cannot read the topic " + name_, rd_kafka_last_error());
  }
  is_started_ = true;
  is_at_end_ = false;
  return Done{};
}

void KafkaReader::stop() noexcept {
  message_.reset();
  if (topic_ != nullptr && std::exchange(is_started_, false)) rd_kafka_consume_stop(topic_.get(), kPartition);
}

Result<std::optional<KafkaReader::Message>, StoreFailure> KafkaReader::next(std::uint64_t wait_ms) {
  message_.reset(rd_kafka_consume(topic_.get(), kPartition, static_cast<int>(wait_ms)));
  if (message_ == nullptr) {
    if (auto problem = client_->problem()) return *std::move(problem);
    return std::optional<Message>();
  }
  if (message_->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (rd_kafka_get_watermark_offsets(client_->handle(), name_.c_str(), kPartition, &low, &high) ==
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      has_open_transaction_ = message_->offset < high;
    }
    is_at_end_ = true;
    return std::optional<Message>();
  }
  if (message_->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return client_->failure("cannot read the topic " + name_, message_->err);
  }
  is_at_end_ = false;
  Message found;
  found.key = text_of(message_->key, message_->key_len);
  const std::string_view value = text_of(message_->payload, message_->len);
  found.value = {reinterpret_cast<const std::byte*>(value.data()), value.size()};
  found.offset = message_->offset;
  rd_kafka_headers_t* headers = nullptr;
  const void* header = nullptr;
  std::size_t size = 0;
  if (rd_kafka_message_headers(message_.get(), &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
      rd_kafka_header_get_last(headers, kChannelHeader, &header, &size) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    found.channel = text_of(header, size);
  }
  return std::optional<Message>(found);
}

Result<Done, StoreFailure> KafkaReader::read_until(std::int64_t begin,
                                                   const std::function<bool(const Message&)>& each) {
  if (const auto started = start(begin); !started) return started;
  constexpr std::uint64_t kNapMs = 50;
  std::uint64_t heard_ns = os::monotonic_clock_ns();
  std::int64_t fetched = client_->fetched();
  while (!is_at_end_) {
    const auto message = next(kNapMs);
    if (!message) return message.failure();
    const std::uint64_t now_ns = os::monotonic_clock_ns();
    if (message.value()) {
      if (!each(*message.value())) break;
      heard_ns = now_ns;
    } else if (client_->fetched() != fetched) {
      fetched = client_->fetched();
      heard_ns = now_ns;
    } else if (now_ns - heard_ns > std::uint64_t{kKafkaWaitMs} * 1'000'000) {
      return client_->failure("cannot read the topic " + name_, RD_KAFKA_RESP_ERR__TIMED_OUT);
    }
  }
  stop();
  return Done{};
}

Result<std::vector<std::byte>, StoreFailure> KafkaReader::layout(std::uint64_t name) {
  std::vector<std::byte> image;
  std::uint64_t filled = 0;
  std::map<std::uint64_t, std::vector<std::byte>> parts;
  std::uint64_t total = 0;
  const auto read = read_until(range_.begin, [&](const Message& message) {
    const auto part = decode_part(message.value);
    if (!part || part.value().name != name) return true;
    // Newer parts replace older ones, as in a compacted topic; those of an image of another length are all older.
    if (part.value().total != total) parts.clear();
    total = part.value().total;
    parts[part.value().offset].assign(part.value().bytes.begin(), part.value().bytes.end());
    return true;
  });
  if (!read) return read.failure();
  for (const auto& [offset, bytes] : parts) {
    if (offset != filled) break;
    image.insert(image.end(), bytes.begin(), bytes.end());
    filled += bytes.size();
  }
  if (filled != total || name_of_layout(image) != name) image.clear();
  return image;
}

}  // namespace stopbit::relay
