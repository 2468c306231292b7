#include "host/remote/node_port.hpp"

#include <string>
#include <utility>
#include <vector>

#include "host/nic/rma/memory.hpp"

namespace stopbit::remote {
namespace {

std::size_t pages_in(std::size_t bytes) noexcept {
  return (bytes + nic::kPageBytes - 1) / nic::kPageBytes;
}

}  // namespace

Result<std::unique_ptr<NodePort>> NodePort::open(nic::Node& node, nic::Pdid domain, const nic::MessagePort& how) {
  nic::SharedMemory pages;
  if (!pages.create("stopbit-port", nic::PageLayout::kBytes)) return Failure{"not enough memory for a port"};
  const std::optional<nic::Vpid> vpid = node.open_port(pages.page(), domain, how);
  if (!vpid) return Failure{"node " + std::to_string(node.id()) + " has no port left"};
  return std::unique_ptr<NodePort>(new NodePort(node, std::move(pages), *vpid));
}

NodePort::NodePort(nic::Node& node, nic::SharedMemory pages, nic::Vpid vpid)
    : node_(node),
      pages_(std::move(pages)),
      vpid_(vpid),
      events_(pages_.page()),
      notifications_(pages_.page()),
      low_(pages_.page(), nic::Priority::Low) {}

NodePort::~NodePort() {
  node_.close_port(vpid_);
}

bool NodePort::send(nic::NodeId node, nic::Vpid vpid, std::span<const std::byte> message, std::uint64_t now_ns) {
  nic::MessageUnit::Message head;
  head.node = node;
  head.target = vpid;
  return node_.messages().send(vpid_, head, message, now_ns).outcome == nic::MessageUnit::Outcome::Sent;
}

std::optional<nic::Nla> NodePort::add_memory(std::span<const std::byte> pages, nic::Access access) {
  std::vector<nic::PageNumber> numbers(pages_in(pages.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = nic::to_page_number(pages.data() + i * nic::kPageBytes);
  return node_.atu().register_pages(vpid_, numbers, access);
}

void NodePort::take_memory(std::span<const std::byte> pages, nic::Nla address) noexcept {
  (void)node_.rma().revoke(vpid_, address, pages_in(pages.size()));
  node_.rma().flush();
}

Result<PortMemory> PortMemory::make(NodePort& port, const char* name, std::size_t bytes, nic::Access access) {
  PortMemory made;
  if (!made.memory_.create(name, pages_in(bytes) * nic::kPageBytes)) {
    return Failure{"not enough memory for " + std::to_string(bytes) + " bytes"};
  }
  const std::optional<nic::Nla> address = port.add_memory(made.memory_.span(), access);
  if (!address) return Failure{"node " + std::to_string(port.node().id()) + " has no addresses left"};
  made.address_ = *address;
  made.port_ = &port;
  return made;
}

PortMemory& PortMemory::operator=(PortMemory&& other) noexcept {
  std::swap(port_, other.port_);
  std::swap(memory_, other.memory_);
  std::swap(address_, other.address_);
  return *this;
}

PortMemory::~PortMemory() {
  if (port_ != nullptr) port_->take_memory(memory_.span(), address_);
}

}  // namespace stopbit::remote
