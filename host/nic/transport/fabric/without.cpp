#include "host/nic/transport/fabric/fabric_transport.hpp"

// Of a build that found no libfabric: everything is refused.
namespace stopbit::nic {

class FabricTransport::Parts {
 public:
  std::string none;
  FabricCounters counters;
  FabricDeaths deaths;
};

namespace {
constexpr const char* kWhyNot = "this build has no carrier 'fabric': libfabric-dev was not found at build time";
}

LinkOptions fabric_link_options() noexcept {
  return {};
}
Result<std::string> find_fabric_program() {
  return Failure{kWhyNot};
}
bool leaves_host(std::string_view provider) noexcept {
  return !provider.starts_with("shm");
}
Status FabricTransport::available() {
  return Failure{kWhyNot};
}
Result<std::unique_ptr<FabricTransport>> FabricTransport::listen(const FabricOptions&) {
  return Failure{kWhyNot};
}
Result<std::unique_ptr<FabricTransport>> FabricTransport::start(const FabricOptions&, const std::string&) {
  return Failure{kWhyNot};
}
Result<std::unique_ptr<FabricTransport>> FabricTransport::join(const FabricOptions&, const std::string&) {
  return Failure{kWhyNot};
}

// There is no object to ask.
FabricTransport::~FabricTransport() = default;
NodeId FabricTransport::node() const noexcept {
  return 0;
}
std::size_t FabricTransport::nodes() const noexcept {
  return 0;
}
std::size_t FabricTransport::frame_bytes() const noexcept {
  return 0;
}
bool FabricTransport::send(NodeId, std::span<const std::byte>) {
  return false;
}
std::size_t FabricTransport::receive(std::span<std::byte>) {
  return 0;
}
std::optional<NodeId> FabricTransport::sender() const noexcept {
  return std::nullopt;
}
std::optional<HostAddress> FabricTransport::address_of(NodeId) const noexcept {
  return std::nullopt;
}
void FabricTransport::progress() {}
bool FabricTransport::is_joined() const noexcept {
  return false;
}
std::string FabricTransport::problem() const {
  return {};
}
std::string FabricTransport::why_not_joined() const {
  return kWhyNot;
}
bool FabricTransport::is_member(NodeId) const noexcept {
  return false;
}
const std::string& FabricTransport::address() const noexcept {
  return parts_->none;
}
const FabricCounters& FabricTransport::counters() const noexcept {
  return parts_->counters;
}
const FabricDeaths& FabricTransport::deaths() const noexcept {
  return parts_->deaths;
}

}  // namespace stopbit::nic
