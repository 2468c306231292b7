#include "host/relay/nats/nats.hpp"

namespace stopbit::relay {
namespace {

constexpr const char* kWithout = "this program was built without libnats (Debian package: libnats-dev)";

}  // namespace

bool has_nats() noexcept {
  return false;
}

Result<std::unique_ptr<Store>> make_nats_store(NatsStreamOptions /*options*/) {
  return Failure{kWithout};
}

Result<std::unique_ptr<Stream>> make_nats_stream(NatsAccess /*access*/) {
  return Failure{kWithout};
}

Result<std::unique_ptr<KeyValues>> make_nats_key_values(NatsAccess /*access*/, std::uint64_t /*replicas*/) {
  return Failure{kWithout};
}

}  // namespace stopbit::relay
