#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "host/relay/kafka/client.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/kafka/record.hpp"
#include "host/relay/time_search.hpp"

namespace stopbit::relay {
namespace {

class TopicStream final : public Stream {
 public:
  explicit TopicStream(KafkaAccess access) : access_(std::move(access)) {}

  Result<Done, StoreFailure> begin(const Start& start) override {
    reader_.reset();
    auto opened = KafkaReader::open(access_, topic());
    if (!opened) return opened.failure();
    reader_.emplace(std::move(opened).value());
    const auto [first, end] = reader_->range();
    if (next_ < 0) {
      const auto place = place_of(start);
      if (!place) return place.failure();
      next_ = place.value();
    }
    if (next_ > end) {
      return StoreFailure{StoreFailure::Kind::Refused,
                          fmt::format("the topic {} ends with offset {}, before what was read already: it was made "
                                      "again, or has lost messages",
                                      topic(), end)};
    }
    next_ = std::max(next_, first);
    return reader_->start(next_);
  }

  Result<std::optional<Message>, StoreFailure> next(std::uint64_t wait_ms) override {
    const auto found = reader_->next(wait_ms);
    if (!found) return found.failure();
    if (!found.value()) return std::optional<Message>();
    const KafkaReader::Message& message = *found.value();
    if (message.offset < next_) {
      return StoreFailure{StoreFailure::Kind::Away, fmt::format("the brokers sent offset {} again", message.offset)};
    }
    next_ = message.offset + 1;
    return std::optional<Message>(Message{decode_kafka_record({message.key, message.channel, message.value}),
                                          message.value.subspan(std::min(message.value.size(), kHeadBytes)),
                                          static_cast<std::uint64_t>(message.offset)});
  }

  bool is_at_end() const noexcept override { return reader_ && reader_->is_at_end(); }

  Result<std::vector<std::byte>, StoreFailure> layout(std::uint64_t name) override {
    auto layouts = KafkaReader::open(access_, layouts_topic_of(topic()));
    if (!layouts) return layouts.failure();
    auto image = layouts.value().layout(name);
    if (image && image.value().empty()) {
      return StoreFailure{StoreFailure::Kind::Refused,
                          fmt::format("the topic {} has no layout {:016x}", layouts_topic_of(topic()), name)};
    }
    return image;
  }

 private:
  [[nodiscard]] Result<std::int64_t, StoreFailure> place_of(const Start& start) {
    const auto [first, end] = reader_->range();
    if (start.from == Start::From::Oldest) return first;
    if (start.from == Start::From::Newest) return end;
    const auto found = find_time(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(end), start.time_ns,
                                 [this](std::uint64_t from, std::uint64_t to) { return find_timed(from, to); });
    if (!found) return found.failure();
    return static_cast<std::int64_t>(found.value());
  }

  [[nodiscard]] Result<std::optional<TimedMessage>, StoreFailure> find_timed(std::uint64_t from, std::uint64_t to) {
    std::optional<TimedMessage> timed;
    const auto read = reader_->read_until(static_cast<std::int64_t>(from), [&](const KafkaReader::Message& message) {
      if (static_cast<std::uint64_t>(message.offset) >= to) return false;
      const Result<Head> head = decode_kafka_record({message.key, message.channel, message.value});
      const auto time_ns = head ? time_of(head.value(), message.value.subspan(kHeadBytes)) : std::nullopt;
      if (time_ns) timed = TimedMessage{static_cast<std::uint64_t>(message.offset), *time_ns};
      return !timed;
    });
    if (!read) return read.failure();
    return timed;
  }

  [[nodiscard]] const std::string& topic() const noexcept { return access_.address.topic; }

  KafkaAccess access_;
  std::optional<KafkaReader> reader_;
  std::int64_t next_ = -1;  ///< Offset of the next message; negative: not known yet.
};

}  // namespace

Result<std::unique_ptr<Stream>> make_kafka_stream(KafkaAccess access) {
  return std::unique_ptr<Stream>(std::make_unique<TopicStream>(std::move(access)));
}

}  // namespace stopbit::relay
