#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "host/relay/nats/chain.hpp"
#include "host/relay/nats/connection.hpp"
#include "host/relay/nats/nats.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

/// The server remembers ids this long, to drop repeated messages. The chain of ids does that already, so it is as short
/// as can be: the server keeps an entry in memory for each message of this time.
constexpr std::int64_t kRememberedNs = 100'000'000;
constexpr std::int64_t kHeaderRoom = 512;

StoreFailure refused(std::string message) {
  return {StoreFailure::Kind::Refused, std::move(message)};
}

class NatsStore final : public Store {
 public:
  explicit NatsStore(NatsStreamOptions options) : options_(std::move(options)) {}

  Result<std::optional<Head>, StoreFailure> begin() override {
    chain_.end();
    connection_.reset();
    auto opened = NatsConnection::open(options_.access);
    if (!opened) return opened.failure();
    connection_.emplace(std::move(opened).value());
    const std::int64_t most = natsConnection_GetMaxPayload(connection_->connection());
    constexpr auto kNeeded = static_cast<std::int64_t>(kPartHeadBytes + kPartBytes) + kHeaderRoom;
    if (most < kNeeded) {
      return refused(fmt::format("the server takes messages of at most {} bytes; the relay needs {}: raise max_payload",
                                 most, kNeeded));
    }
    if (const auto made = prepare(layouts_of(name()), options_.subject + ".layout.*.*", true); !made)
      return made.failure();
    const auto info = prepare(name(), options_.subject + ".*", false);
    if (!info) return info.failure();
    if (const auto begun = chain_.begin(*connection_, options_.access.address.server, info.value()->State.LastSeq);
        !begun) {
      return begun.failure();
    }
    if (info.value()->State.Msgs == 0) return std::optional<Head>();
    return last_message();
  }

  Result<Done, StoreFailure> show_layout(std::uint64_t layout, std::span<const std::byte> image) override {
    const auto there = connection_->layout(name(), options_.subject, layout);
    if (!there) return there.failure();
    if (std::equal(there.value().begin(), there.value().end(), image.begin(), image.end())) return Done{};
    if (!there.value().empty()) return refused("the stream of layouts has another image under the name of this one");
    // From the last part to the first: a layout whose first part is stored is whole.
    for (std::size_t i = (image.size() + kPartBytes - 1) / kPartBytes; i-- > 0;) {
      const std::span<const std::byte> rest = image.subspan(i * kPartBytes);
      const auto message =
          encode_part({layout, i * kPartBytes, image.size(), rest.first(std::min(rest.size(), kPartBytes))});
      jsErrCode code = {};
      const natsStatus status =
          js_Publish(nullptr, connection_->stream(), subject_of_part(options_.subject, layout, i).c_str(),
                     message.data(), static_cast<int>(message.size()), nullptr, &code);
      if (status != NATS_OK) return nats_failure("cannot store the layout", status, code);
    }
    return Done{};
  }

  Result<Done, StoreFailure> send(const Outgoing& message, bool asks) override {
    return chain_.send(options_.subject + "." + topic_of(message.head), message.message(), asks, id_of(message.head));
  }

  Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) override { return chain_.stored(wait_ms); }

 private:
  [[nodiscard]] const std::string& name() const noexcept { return options_.access.address.stream; }

  /// The stream, made if it does not exist, with exactly this subject.
  [[nodiscard]] Result<NatsStreamInfo, StoreFailure> prepare(const std::string& stream, const std::string& subject,
                                                             bool is_layouts) {
    auto found = connection_->info(stream);
    if (!found) return found;
    if (!found.value()) return make(stream, subject, is_layouts);
    const jsStreamConfig& config = *found.value()->Config;
    if (config.SubjectsLen != 1 || subject != config.Subjects[0]) {
      return refused(fmt::format("the stream {} is of another use: its subject is not {}", stream, subject));
    }
    if (config.Retention != js_LimitsPolicy || config.NoAck || config.Sealed) {
      return refused(
          fmt::format("the stream {} must keep messages that were read, confirm them and not be sealed", stream));
    }
    return found;
  }

  [[nodiscard]] Result<NatsStreamInfo, StoreFailure> make(const std::string& stream, const std::string& subject,
                                                          bool is_layouts) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char* subjects[] = {subject.c_str()};
    config.Name = stream.c_str();
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Replicas = static_cast<std::int64_t>(options_.replicas);
    config.Duplicates = kRememberedNs;
    if (is_layouts) {
      config.MaxMsgsPerSubject = 1;
    } else {
      if (options_.max_bytes != 0) config.MaxBytes = static_cast<std::int64_t>(options_.max_bytes);
      config.Discard = options_.keeps_oldest ? js_DiscardNew : js_DiscardOld;
    }
    jsStreamInfo* made = nullptr;
    jsErrCode code = {};
    const natsStatus status = js_AddStream(&made, connection_->stream(), &config, nullptr, &code);
    NatsStreamInfo owned(made);
    if (status != NATS_OK) return nats_failure("cannot make the stream " + stream, status, code);
    return owned;
  }

  [[nodiscard]] Result<std::optional<Head>, StoreFailure> last_message() {
    natsMsg* found = nullptr;
    jsErrCode code = {};
    const natsStatus status = js_GetMsg(&found, connection_->stream(), name().c_str(), chain_.begun(), nullptr, &code);
    const NatsMessage message(found);
    if (status != NATS_OK) return nats_failure("cannot read the last message of " + name(), status, code);
    const Result<Head> head = decode_message(bytes_of(found));
    if (!head) return refused("the last message of the stream " + name() + " is foreign: " + head.message());
    return std::optional<Head>(head.value());
  }

  NatsStreamOptions options_;
  std::optional<NatsConnection> connection_;
  NatsChain chain_;  ///< Ends before the connection.
};

}  // namespace

bool has_nats() noexcept {
  return true;
}

Result<std::unique_ptr<Store>> make_nats_store(NatsStreamOptions options) {
  return std::unique_ptr<Store>(std::make_unique<NatsStore>(std::move(options)));
}

}  // namespace stopbit::relay
