#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "host/relay/nats/connection.hpp"
#include "host/relay/nats/nats.hpp"

namespace stopbit::relay {
namespace {

class Reader final : public Stream {
 public:
  explicit Reader(NatsAccess access) : access_(std::move(access)) {}

  Result<Done, StoreFailure> begin(Start start) override {
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
    if (next_ == 0) next_ = start == Start::Oldest ? 1 : info.value()->State.LastSeq + 1;
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
    subscription_.reset(made);
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
    const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(natsMsg_GetData(found)),
                                           static_cast<std::size_t>(natsMsg_GetDataLength(found))};
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
  NatsAccess access_;
  std::optional<NatsConnection> connection_;
  NatsSubscription subscription_;  ///< Ends before the connection.
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
