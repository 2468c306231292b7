#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "host/relay/nats/connection.hpp"
#include "host/relay/nats/nats.hpp"
#include "host/relay/time_search.hpp"

namespace stopbit::relay {
namespace {

/// Messages that a search for a time looks at: a stream of marks and parts only does not hold the reader for good.
constexpr std::uint64_t kMostLooks = 100'000;

class Reader final : public Stream {
 public:
  explicit Reader(NatsAccess access) : access_(std::move(access)) {}

  Result<Done, StoreFailure> begin(const Start& start) override {
    message_.reset();
    subscription_.reset();
    connection_.reset();
    auto opened = NatsConnection::open(access_);
    if (!opened) return opened.failure();
    connection_.emplace(std::move(opened).value());
    const std::string& name = access_.address.stream;
    const auto info = connection_->info(name);
    if (!info) return info.failure();
    if (!info.value()) {
      return StoreFailure{StoreFailure::Kind::Away,
                          fmt::format("the server {} has no stream {}", access_.address.server, name)};
    }
    const std::string suffix = ".*";
    subject_ = info.value()->Config->SubjectsLen == 1 ? info.value()->Config->Subjects[0] : "";
    if (!subject_.ends_with(suffix)) {
      return StoreFailure{StoreFailure::Kind::Refused, fmt::format("no relay made the stream {}", name)};
    }
    if (next_ == 0) {
      const auto first = place_of(start, *info.value());
      if (!first) return first.failure();
      next_ = first.value();
    }
    next_ = std::max(next_, info.value()->State.FirstSeq);
    jsSubOptions how;
    jsSubOptions_Init(&how);
    how.Stream = name.c_str();
    how.Ordered = true;
    how.Config.DeliverPolicy = js_DeliverByStartSequence;
    how.Config.OptStartSeq = next_;
    natsSubscription* made = nullptr;
    jsErrCode code = {};
    const natsStatus status = js_SubscribeSync(&made, connection_->stream(), subject_.c_str(), nullptr, &how, &code);
    subscription_ = NatsSubscription(made, EndSubscription{connection_->connection()});
    if (status != NATS_OK) return nats_failure("cannot read the stream " + name, status, code);
    subject_.resize(subject_.size() - suffix.size());
    return Done{};
  }

  Result<std::optional<Message>, StoreFailure> next(std::uint64_t wait_ms) override {
    natsMsg* found = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&found, subscription_.get(), static_cast<std::int64_t>(wait_ms));
    message_.reset(found);
    if (status == NATS_TIMEOUT) return std::optional<Message>();
    if (status != NATS_OK) return nats_failure("the server " + access_.address.server + " has gone", status);
    jsMsgMetaData* meta = nullptr;
    if (const natsStatus got = natsMsg_GetMetaData(&meta, found); got != NATS_OK) {
      return nats_failure("a message of the stream " + access_.address.stream + " has no number", got);
    }
    const std::uint64_t sequence = meta->Sequence.Stream;
    is_at_end_ = meta->NumPending == 0;
    jsMsgMetaData_Destroy(meta);
    if (sequence < next_) {
      return StoreFailure{StoreFailure::Kind::Away, fmt::format("the server sent message {} again", sequence)};
    }
    next_ = sequence + 1;
    const std::span<const std::byte> bytes = bytes_of(found);
    return std::optional<Message>(
        Message{decode_message(bytes), bytes.subspan(std::min(bytes.size(), kHeadBytes)), sequence});
  }

  bool is_at_end() const noexcept override { return is_at_end_; }

  Result<std::vector<std::byte>, StoreFailure> layout(std::uint64_t name) override {
    auto image = connection_->layout(access_.address.stream, subject_, name);
    if (image && image.value().empty()) {
      return StoreFailure{StoreFailure::Kind::Refused,
                          fmt::format("the stream {} has no layout {:016x}", layouts_of(access_.address.stream), name)};
    }
    return image;
  }

 private:
  [[nodiscard]] Result<std::uint64_t, StoreFailure> place_of(const Start& start, const jsStreamInfo& info) {
    const std::uint64_t end = info.State.LastSeq + 1;
    if (start.from == Start::From::Oldest) return std::uint64_t{1};
    if (start.from == Start::From::Newest || info.State.Msgs == 0) return end;
    std::uint64_t looks = 0;
    return find_time(std::max<std::uint64_t>(info.State.FirstSeq, 1), end, start.time_ns,
                     [&](std::uint64_t from, std::uint64_t to) { return find_timed(from, to, looks); });
  }

  [[nodiscard]] Result<std::optional<TimedMessage>, StoreFailure> find_timed(std::uint64_t from, std::uint64_t to,
                                                                             std::uint64_t& looks) {
    const std::string& name = access_.address.stream;
    for (; from < to; ++from) {
      if (++looks > kMostLooks) {
        return StoreFailure{StoreFailure::Kind::Refused,
                            fmt::format("the stream {} has no records among {} messages", name, kMostLooks)};
      }
      natsMsg* found = nullptr;
      jsErrCode code = {};
      const natsStatus status = js_GetMsg(&found, connection_->stream(), name.c_str(), from, nullptr, &code);
      const NatsMessage message(found);
      if (status == NATS_NOT_FOUND || code == JSNoMessageFoundErr) continue;
      if (status != NATS_OK) return nats_failure("cannot look for a time in the stream " + name, status, code);
      const std::span<const std::byte> bytes = bytes_of(found);
      const Result<Head> head = decode_message(bytes);
      const auto time_ns = head ? time_of(head.value(), bytes.subspan(kHeadBytes)) : std::nullopt;
      if (time_ns) return std::optional<TimedMessage>(TimedMessage{from, *time_ns});
    }
    return std::optional<TimedMessage>();
  }

  NatsAccess access_;
  std::optional<NatsConnection> connection_;
  NatsSubscription subscription_;  ///< Ends before the connection, which it closes.
  NatsMessage message_;
  std::string subject_;     ///< Without the last part.
  std::uint64_t next_ = 0;  ///< Sequence of the next message; 0: not known yet.
  bool is_at_end_ = false;
};

}  // namespace

Result<std::unique_ptr<Stream>> make_nats_stream(NatsAccess access) {
  return std::unique_ptr<Stream>(std::make_unique<Reader>(std::move(access)));
}

}  // namespace stopbit::relay
