#include "host/remote/places.hpp"

#include <utility>

namespace stopbit::remote {

std::string cannot_reach(const std::string& place, const std::string& why) {
  return "cannot reach '" + place + "': " + why;
}

Result<std::unique_ptr<nic::FabricTransport>> FabricPlace::start() const {
  nic::FabricOptions options;
  if (!provider.empty()) options.provider = provider;
  if (nic::leaves_host(options.provider)) {
    auto program = nic::find_fabric_program();
    if (!program) return Failure{cannot_reach(place, program.message())};
    options.program = std::move(program).value();
  }
  auto started = nic::FabricTransport::start(options, place);
  if (!started) return Failure{cannot_reach(place, started.message())};
  return started;
}

Result<std::unique_ptr<nic::UdpTransport>> UdpPlace::start() const {
  nic::UdpOptions options;
  options.token = token;
  if (is_plain) options.encryption = nic::UdpEncryption::Off;
  if (frame_bytes != 0) options.frame_bytes = frame_bytes;
  auto started = nic::UdpTransport::start(options, place);
  if (!started) return Failure{cannot_reach(place, started.message())};
  return started;
}

std::string UdpPlace::hint() const {
  return std::string("`listen` in [nic.udp] of the appliance sets the address") +
         (token.empty() ? ", `token_file` the token for --network-token-file" : "");
}

bool UdpPlace::learn(const Carrier& carrier) noexcept {
  const std::size_t wanted = carrier.frame_bytes_of_host();
  if (wanted == 0 || wanted == carrier.frame_bytes()) return false;
  frame_bytes = wanted;
  return true;
}

}  // namespace stopbit::remote
