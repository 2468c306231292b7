#include "host/relay/nats/connection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

constexpr std::int64_t kWaitMs = 2'000;  ///< For a connection, an answer, or room in the socket.
constexpr std::int64_t kPingMs = 5'000;
constexpr int kPings = 2;  ///< Without an answer the connection is closed.

using NatsOptions = std::unique_ptr<natsOptions, Destroy<natsOptions_Destroy>>;

/// Whether waiting cannot help.
bool needs_a_person(natsStatus status) noexcept {
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
    case NATS_SSL_ERROR:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_INVALID_ARG:
    case NATS_ADDRESS_MISSING: return true;
    default: return false;
  }
}

/// Sets options one after another; the first failure counts.
class Setting {
 public:
  explicit Setting(natsOptions* options) noexcept : options_(options) {}
  template <class Call, class... Arguments>
  void set(const char* what, Call call, Arguments... arguments) noexcept {
    if (status_ != NATS_OK) return;
    status_ = call(options_, arguments...);
    what_ = what;
  }
  [[nodiscard]] natsStatus status() const noexcept { return status_; }
  [[nodiscard]] const char* what() const noexcept { return what_; }

 private:
  natsOptions* options_;
  natsStatus status_ = NATS_OK;
  const char* what_ = "";
};

void set_identity(Setting& setting, const NatsAccess& access) {
  if (!access.user.empty()) {
    setting.set("user", natsOptions_SetUserInfo, access.user.c_str(), access.password.c_str());
  }
  if (!access.token.empty()) setting.set("token", natsOptions_SetToken, access.token.c_str());
  if (!access.credentials.empty()) {
    setting.set("credentials", natsOptions_SetUserCredentialsFromFiles, access.credentials.c_str(), nullptr);
  }
}

void set_tls(Setting& setting, const NatsAccess& access) {
  if (!access.uses_tls) return;
  setting.set("TLS", natsOptions_SetSecure, true);
  if (!access.ca.empty()) {
    setting.set("certificates of authorities", natsOptions_LoadCATrustedCertificates, access.ca.c_str());
  }
  if (!access.certificate.empty()) {
    setting.set("certificate", natsOptions_LoadCertificatesChain, access.certificate.c_str(), access.key.c_str());
  }
}

}  // namespace

std::span<const std::byte> bytes_of(const natsMsg* message) noexcept {
  return {reinterpret_cast<const std::byte*>(natsMsg_GetData(message)),
          static_cast<std::size_t>(natsMsg_GetDataLength(message))};
}

StoreFailure nats_failure(const std::string& what, natsStatus status, int code) {
  natsStatus last = NATS_OK;
  const char* detail = nats_GetLastError(&last);
  std::string text = natsStatus_GetText(status);
  if (detail != nullptr && last == status) {
    // "(conn.c:1905): Authorization Violation", of the library's source
    std::string_view words = detail;
    const std::size_t place = words.find("): ");
    if (words.starts_with('(') && place != std::string_view::npos) words.remove_prefix(place + 3);
    if (!words.empty() && words != text) text += ", " + std::string(words);
  }
  const bool is_refused = needs_a_person(status) || code == JSNotEnabledForAccountErr;
  return {is_refused ? StoreFailure::Kind::Refused : StoreFailure::Kind::Away, what + ": " + printable(text)};
}

std::string layouts_of(const std::string& stream) {
  return stream + "_layouts";
}

std::string subject_of_part(const std::string& subject, std::uint64_t name, std::uint64_t part) {
  return fmt::format("{}.layout.{:016x}.{}", subject, name, part);
}

Result<NatsConnection, StoreFailure> NatsConnection::open(const NatsAccess& access) {
  const std::string what = "cannot connect to " + access.address.server;
  natsOptions* made = nullptr;
  if (const natsStatus status = natsOptions_Create(&made); status != NATS_OK) return nats_failure(what, status);
  const NatsOptions options(made);
  Setting setting(made);
  setting.set("address", natsOptions_SetURL, access.address.server.c_str());
  setting.set("name", natsOptions_SetName, "stopbit");
  setting.set("reconnection", natsOptions_SetAllowReconnect, false);
  setting.set("other servers", natsOptions_SetIgnoreDiscoveredServers, true);
  setting.set("time to connect", natsOptions_SetTimeout, kWaitMs);
  setting.set("time to write", natsOptions_SetWriteDeadline, kWaitMs);
  setting.set("pings", natsOptions_SetPingInterval, kPingMs);
  setting.set("pings", natsOptions_SetMaxPingsOut, kPings);
  setting.set("failure of requests", natsOptions_SetFailRequestsOnDisconnect, true);
  set_identity(setting, access);
  set_tls(setting, access);
  if (setting.status() != NATS_OK) return nats_failure(what + ": " + setting.what(), setting.status());
  NatsConnection result;
  natsConnection* connection = nullptr;
  if (const natsStatus status = natsConnection_Connect(&connection, made); status != NATS_OK) {
    return nats_failure(what, status);
  }
  result.connection_.reset(connection);
  jsOptions how;
  jsOptions_Init(&how);
  how.Wait = kWaitMs;
  jsCtx* context = nullptr;
  if (const natsStatus status = natsConnection_JetStream(&context, connection, &how); status != NATS_OK) {
    return nats_failure(what, status);
  }
  result.context_.reset(context);
  return result;
}

Result<NatsStreamInfo, StoreFailure> NatsConnection::info(const std::string& stream) const {
  jsStreamInfo* found = nullptr;
  jsErrCode code = {};
  const natsStatus status = js_GetStreamInfo(&found, context_.get(), stream.c_str(), nullptr, &code);
  if (status == NATS_OK) return NatsStreamInfo(found);
  if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr) return NatsStreamInfo();
  if (status == NATS_NO_RESPONDERS) {
    return StoreFailure{StoreFailure::Kind::Away, "the server has no JetStream, or it has not started yet"};
  }
  return nats_failure("cannot look at the stream " + stream, status, code);
}

Result<std::vector<std::byte>, StoreFailure> NatsConnection::layout(const std::string& stream,
                                                                    const std::string& subject,
                                                                    std::uint64_t name) const {
  std::vector<std::byte> image;
  for (std::uint64_t total = 1; image.size() < total;) {
    const std::string where = subject_of_part(subject, name, image.size() / kPartBytes);
    natsMsg* found = nullptr;
    jsErrCode code = {};
    const natsStatus status =
        js_GetLastMsg(&found, context_.get(), layouts_of(stream).c_str(), where.c_str(), nullptr, &code);
    const NatsMessage message(found);
    if (status == NATS_NOT_FOUND || code == JSNoMessageFoundErr || code == JSStreamNotFoundErr) {
      return std::vector<std::byte>();
    }
    if (status != NATS_OK) return nats_failure("cannot read the layout " + where, status, code);
    const auto part = decode_part(bytes_of(found));
    if (!part || part.value().name != name || part.value().offset != image.size() ||
        (total != 1 && part.value().total != total)) {
      return StoreFailure{StoreFailure::Kind::Refused, "the layout " + where + " is not usable: " +
                                                           (part ? "it is of another image" : part.message())};
    }
    total = part.value().total;
    image.insert(image.end(), part.value().bytes.begin(), part.value().bytes.end());
  }
  if (name_of_layout(image) != name) {
    return StoreFailure{StoreFailure::Kind::Refused,
                        "a layout beside the stream " + stream + " is not the one it is named"};
  }
  return image;
}

}  // namespace stopbit::relay
