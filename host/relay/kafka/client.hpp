#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/relay/kafka/kafka.hpp"
#include "host/relay/store.hpp"

namespace stopbit::relay {

inline constexpr int kKafkaWaitMs = 5'000;  ///< For an answer of a broker.
/// Everything is in one partition, whose order is total.
inline constexpr std::int32_t kPartition = 0;

[[nodiscard]] std::string layouts_topic_of(const std::string& topic);

/// A handle of librdkafka. After a failure make another one, so that what is on its way is known.
class KafkaClient {
 public:
  /// `settings` come after those of the user.
  [[nodiscard]] static Result<std::unique_ptr<KafkaClient>, StoreFailure> open(rd_kafka_type_t type,
                                                                               const KafkaAccess& access,
                                                                               const KafkaSettings& settings);
  ~KafkaClient();
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;

  [[nodiscard]] rd_kafka_t* handle() const noexcept { return handle_; }
  /// "WHAT: the library's words", with the reason that it gave last.
  [[nodiscard]] StoreFailure failure(const std::string& what, rd_kafka_resp_err_t code);
  /// Something that waiting does not repair, or the loss of all brokers, since the last call.
  [[nodiscard]] std::optional<StoreFailure> problem();
  /// How far a reader has fetched its partition, as the library said last, with what it does not hand on: messages of
  /// aborted transactions. -1: it has not said it.
  [[nodiscard]] std::int64_t fetched() const noexcept { return fetched_; }

 private:
  explicit KafkaClient(std::string brokers) : brokers_(std::move(brokers)) {}
  static void on_error(rd_kafka_t* handle, int code, const char* reason, void* self);
  static int on_statistics(rd_kafka_t* handle, char* text, std::size_t size, void* self);

  rd_kafka_t* handle_ = nullptr;
  std::string brokers_;
  std::string reason_;
  bool is_down_ = false;
  bool is_refused_ = false;
  std::int64_t fetched_ = -1;
};

/// A client that reads what is committed, and its partition of one topic.
class KafkaReader {
 public:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;  ///< Offset after the last stable message.
  };
  [[nodiscard]] static Result<KafkaReader, StoreFailure> open(const KafkaAccess& access, const std::string& topic);
  KafkaReader(KafkaReader&&) noexcept = default;
  KafkaReader& operator=(KafkaReader&&) = delete;  // the order in which its parts end
  ~KafkaReader() { stop(); }

  [[nodiscard]] const Range& range() const noexcept { return range_; }
  /// Whether a transaction of another process was open when the end was read last.
  [[nodiscard]] bool has_open_transaction() const noexcept { return has_open_transaction_; }
  /// Begins at an offset; ends what was begun before.
  [[nodiscard]] Result<Done, StoreFailure> start(std::int64_t offset);

  struct Message {
    std::string_view key;
    std::optional<std::string_view> channel;
    std::span<const std::byte> value;
    std::int64_t offset = 0;
  };
  /// A message, valid until the next call; nothing: none within `wait_ms`.
  [[nodiscard]] Result<std::optional<Message>, StoreFailure> next(std::uint64_t wait_ms);
  /// Whether the last message was the last committed one.
  [[nodiscard]] bool is_at_end() const noexcept { return is_at_end_; }
  /// Gives `each` the messages of offsets from `begin` on, to the end or until it returns false. Fails if nothing is
  /// fetched for kKafkaWaitMs.
  [[nodiscard]] Result<Done, StoreFailure> read_until(std::int64_t begin,
                                                      const std::function<bool(const Message&)>& each);
  /// The image of a layout in this topic; empty: it is not there, or not complete.
  [[nodiscard]] Result<std::vector<std::byte>, StoreFailure> layout(std::uint64_t name);

 private:
  KafkaReader(std::unique_ptr<KafkaClient> client, std::string topic)
      : client_(std::move(client)), name_(std::move(topic)) {}
  [[nodiscard]] Result<Done, StoreFailure> look();
  void stop() noexcept;

  template <auto destroy>
  struct Destroy {
    template <class T>
    void operator()(T* object) const noexcept {
      destroy(object);
    }
  };
  std::unique_ptr<KafkaClient> client_;
  std::string name_;
  std::unique_ptr<rd_kafka_topic_t, Destroy<rd_kafka_topic_destroy>> topic_;  ///< Ends before the client.
  std::unique_ptr<rd_kafka_message_t, Destroy<rd_kafka_message_destroy>> message_;
  Range range_;
  bool is_started_ = false;
  bool is_at_end_ = false;
  bool has_open_transaction_ = false;
};

}  // namespace stopbit::relay
