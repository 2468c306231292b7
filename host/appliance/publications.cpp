#include "host/appliance/publications.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "host/os/shm/read_file.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::size_t kMinTokenBytes = 16;
constexpr const char* kStartAgain = ": restore it, or restart the appliance";

/// The first key of [nic] that says something else; empty: none. What clients of the broker may is not looked at.
std::string other_key(const NicSettings& then, const NicSettings& now) {
  const std::pair<const char*, bool> keys[] = {
      {"network", then.network == now.network},
      {"listen", then.listen == now.listen},
      {"provider", then.provider == now.provider},
      {"udp", then.udp == now.udp},
      {"broker", then.broker == now.broker},
      {"entitlements", then.entitlements_file == now.entitlements_file},
      {"clients", then.clients == now.clients},
      {"resident", then.resident_bytes == now.resident_bytes},
      {"subscribers", then.subscribers == now.subscribers},
      {"subscribers_per_address", then.subscribers_per_address == now.subscribers_per_address},
      {"requests_per_second", then.requests_per_second == now.requests_per_second},
      {"core", then.thread.core == now.thread.core},
      {"idle", then.thread.idle == now.thread.idle},
      {"sleep", then.thread.sleep_ns == now.thread.sleep_ns},
  };
  const auto* const other = std::find_if(std::begin(keys), std::end(keys), [](const auto& key) { return !key.second; });
  return other != std::end(keys) ? other->first : "";
}

}  // namespace

Result<std::string> read_token(const std::string& path) {
  Result<std::string> read = os::read_first_line(path);
  if (!read) return Failure{"cannot read the token in '" + path + "': " + read.message()};
  if (read.value().size() < kMinTokenBytes || read.value().size() > remote::kMaxTokenBytes) {
    return Failure{path + ": a token must have " + std::to_string(kMinTokenBytes) + " to " +
                   std::to_string(remote::kMaxTokenBytes) + " characters"};
  }
  return read;
}

Result<nic::UdpOptions> udp_options_of(const UdpSettings& settings) {
  nic::UdpOptions options;
  options.listen = settings.listen;
  options.encryption = settings.is_encrypted ? nic::UdpEncryption::Required : nic::UdpEncryption::Off;
  options.frame_bytes = settings.frame_bytes;
  options.peer_bytes_per_second = settings.bytes_per_second;
  if (settings.token_file.empty()) return options;
  Result<std::string> token = read_token(settings.token_file);
  if (!token) return token.failure();
  options.token = std::move(token).value();
  return options;
}

Result<std::vector<remote::PublishedRing>> publications_of(const NicSettings& settings, bool PublishSettings::*wanted) {
  std::vector<remote::PublishedRing> rings;
  for (const PublishSettings& published : settings.publish) {
    if (!(published.*wanted)) continue;
    std::string token;
    if (!published.token_file.empty()) {
      Result<std::string> read = read_token(published.token_file);
      if (!read) return Failure{read.message()};
      token = std::move(read).value();
    }
    // Subscribers by shm belong to the appliance's user: the kernel admits no other.
    const bool has_addresses = wanted != &PublishSettings::to_shm;
    rings.push_back({.name = published.name,
                     .ring = published.ring,
                     .token = std::move(token),
                     .allow = has_addresses ? published.allow : std::vector<nic::AddressPrefix>(),
                     .allows_lossless = published.lossless,
                     .detach_after_ns = published.detach_after_ns,
                     .bytes_per_second = published.bytes_per_second});
  }
  return rings;
}

Status can_republish(const NicSettings& then, const NicSettings& now) {
  if (const std::string key = other_key(then, now); !key.empty()) {
    return Failure{"'" + key + "' of [nic] cannot change while the appliance is running" + kStartAgain};
  }
  for (const PublishSettings& published : now.publish) {
    const std::string table = " of [[publish]] '" + published.name + "'";
    const auto is_its = [&](const OfferedRing& ring) { return ring.ring == published.ring; };
    if (std::none_of(then.rings.begin(), then.rings.end(), is_its)) {
      return Failure{"'ring'" + table + " names a ring that the running appliance does not write: reload the settings"};
    }
    if (!published.lossless) continue;
    // How long a ring's agent waits, and whether it does, was settled when it made the ring.
    const std::optional<std::uint64_t> patience_ns = then.patience_ns(published.ring);
    if (!patience_ns)
      return Failure{"'lossless'" + table + ": the ring was created without waiting for readers" + kStartAgain};
    if (now.patience_ns(published.ring) > patience_ns) {
      return Failure{"'detach_after'" + table + ": the agent of this lossless ring was started to wait at most " +
                     std::to_string(*patience_ns / 1'000'000) + "ms" + kStartAgain};
    }
  }
  return Done{};
}

}  // namespace stopbit::appliance
