#include "host/nic/remote/port.hpp"

#include <string>
#include <utility>
#include <vector>

#include "host/nic/rma/memory.hpp"

namespace stopbit::nic::remote {
namespace {

std::size_t pages_in(std::size_t bytes) noexcept {
  return (bytes + kPageBytes - 1) / kPageBytes;
}

}  // namespace

Result<std::unique_ptr<Port>> Port::open(Node& node, Pdid domain, const MessagePort& how) {
  SharedMemory pages;
  if (!pages.create("stopbit-port", PageLayout::kBytes)) return Failure{"there is no memory for a port"};
  const std::optional<Vpid> vpid = node.open_port(pages.page(), domain, how);
  if (!vpid) return Failure{"node " + std::to_string(node.id()) + " has no port left"};
  return std::unique_ptr<Port>(new Port(node, std::move(pages), *vpid));
}

Port::Port(Node& node, SharedMemory pages, Vpid vpid)
    : node_(node),
      pages_(std::move(pages)),
      vpid_(vpid),
      events_(pages_.page()),
      notifications_(pages_.page()),
      low_(pages_.page(), Priority::Low) {}

Port::~Port() {
  node_.close_port(vpid_);
}

bool Port::send(NodeId node, Vpid vpid, std::span<const std::byte> message, std::uint64_t now_ns) {
  MessageUnit::Message head;
  head.node = node;
  head.target = vpid;
  return node_.messages().send(vpid_, head, message, now_ns).outcome == MessageUnit::Outcome::Sent;
}

std::optional<Nla> Port::add_memory(std::span<const std::byte> pages, Access access) {
  std::vector<PageNumber> numbers(pages_in(pages.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = to_page_number(pages.data() + i * kPageBytes);
  return node_.atu().register_pages(vpid_, numbers, access);
}

void Port::take_memory(std::span<const std::byte> pages, Nla address) noexcept {
  (void)node_.rma().revoke(vpid_, address, pages_in(pages.size()));
  node_.rma().flush();
}

Result<PortMemory> PortMemory::make(Port& port, const char* name, std::size_t bytes, Access access) {
  PortMemory made;
  if (!made.memory_.create(name, pages_in(bytes) * kPageBytes)) {
    return Failure{"there is no memory for " + std::to_string(bytes) + " bytes"};
  }
  const std::optional<Nla> address = port.add_memory(made.memory_.span(), access);
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

}  // namespace stopbit::nic::remote
