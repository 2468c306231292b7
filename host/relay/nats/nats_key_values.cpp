#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "host/relay/nats/chain.hpp"
#include "host/relay/nats/connection.hpp"
#include "host/relay/nats/nats.hpp"

namespace stopbit::relay {
namespace {

/// A bucket is the stream KV_BUCKET, in which each key is a subject with its newest value.
class Bucket final : public KeyValues {
 public:
  Bucket(NatsAccess access, std::uint64_t replicas) : access_(std::move(access)), replicas_(replicas) {}

  Result<Done, StoreFailure> begin() override {
    chain_.end();
    connection_.reset();
    auto opened = NatsConnection::open(access_);
    if (!opened) return opened.failure();
    connection_.emplace(std::move(opened).value());
    const auto found = prepare();
    if (!found) return found.failure();
    return chain_.begin(*connection_, access_.address.server, found.value()->State.LastSeq);
  }

  Result<Done, StoreFailure> put(std::string_view key, std::string_view value, bool asks) override {
    subject_.assign(prefix_).append(key);
    return chain_.send(subject_, std::as_bytes(std::span(value)), asks);
  }

  Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) override { return chain_.stored(wait_ms); }

 private:
  [[nodiscard]] const std::string& name() const noexcept { return access_.address.stream; }

  [[nodiscard]] Result<NatsStreamInfo, StoreFailure> prepare() {
    auto found = connection_->info(stream_);
    if (!found) return found;
    if (!found.value()) {
      if (const auto made = make(); !made) return made.failure();
      found = connection_->info(stream_);
      if (!found) return found;
      if (!found.value()) return StoreFailure{StoreFailure::Kind::Away, "the bucket " + name() + " has vanished"};
    }
    const jsStreamConfig& config = *found.value()->Config;
    const bool is_bucket = config.SubjectsLen == 1 && prefix_ + ">" == config.Subjects[0];
    if (!is_bucket || config.Retention != js_LimitsPolicy || config.NoAck || config.Sealed ||
        config.MaxMsgsPerSubject < 1) {
      return StoreFailure{StoreFailure::Kind::Refused, fmt::format("the stream {} is no bucket of key-value", stream_)};
    }
    if (config.MaxAge != 0) {
      return StoreFailure{
          StoreFailure::Kind::Refused,
          fmt::format("the bucket {} has a time to live: values that do not change would vanish from it", name())};
    }
    return found;
  }

  /// By the library, so that every client of key-value finds what it expects.
  [[nodiscard]] Result<Done, StoreFailure> make() {
    kvConfig config;
    kvConfig_Init(&config);
    config.Bucket = name().c_str();
    config.Description = "states of instruments, by stopbit relay --books";
    config.History = 1;
    config.StorageType = js_FileStorage;
    config.Replicas = static_cast<int>(replicas_);
    kvStore* made = nullptr;
    const natsStatus status = js_CreateKeyValue(&made, connection_->stream(), &config);
    kvStore_Destroy(made);
    if (status != NATS_OK) return nats_failure("cannot make the bucket " + name(), status);
    return Done{};
  }

  NatsAccess access_;
  std::uint64_t replicas_;
  std::string stream_ = "KV_" + access_.address.stream;
  std::string prefix_ = "$KV." + access_.address.stream + ".";
  std::string subject_;
  std::optional<NatsConnection> connection_;
  NatsChain chain_;  ///< Ends before the connection.
};

}  // namespace

Result<std::unique_ptr<KeyValues>> make_nats_key_values(NatsAccess access, std::uint64_t replicas) {
  return std::unique_ptr<KeyValues>(std::make_unique<Bucket>(std::move(access), replicas));
}

}  // namespace stopbit::relay
