#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "host/nic/atu/atu.hpp"
#include "host/nic/link/services.hpp"
#include "host/nic/msg/message_unit.hpp"
#include "host/nic/notify/events.hpp"
#include "host/nic/notify/ports.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/rma/rma.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic {

/// Pages that a port has registered.
class Registered {
 public:
  explicit Registered(std::size_t pages) : pages_(pages), storage_(new Storage[pages]) {}
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {reinterpret_cast<std::byte*>(storage_.get()), pages_ * kPageBytes};
  }
  [[nodiscard]] std::uint64_t word(std::size_t at) noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(bytes().data() + at)).load();
  }
  Vpid owner = 0;
  Nla nla = 0;

 private:
  struct alignas(kPageBytes) Storage {
    std::byte bytes[kPageBytes] = {};
  };
  std::size_t pages_;
  std::unique_ptr<Storage[]> storage_;
};

/// A port as its process sees it.
struct HostPort {
  PageMemory memory;
  CommandQueue queue{memory.page(), CommandRing::Transfer};
  CommandSource source{memory.page(), CommandRing::Transfer};
  NotificationReader notifications{memory.page()};
  EventCounters events{memory.page()};
  MailboxReader low{memory.page(), Priority::Low};
  MailboxReader high{memory.page(), Priority::High};
};

/// A node with all its units and some ports, in this thread.
class Host {
 public:
  static constexpr std::size_t kPorts = 8;
  static constexpr std::size_t kPages = 4096;  ///< That can be registered at once.

  explicit Host(Transport& transport, const LinkOptions& options = {}, const RmaOptions& rma_options = {})
      : links(transport, options),
        atu({1, kPages, 64, 55}),
        ports(kPorts),
        rma(links, atu, ports, rma_options),
        messages(links, ports, transport.node(), transport.nodes()) {
    services.attach(Service::Rma, rma);
    services.attach(Service::Message, messages);
  }

  HostPort& open(Vpid vpid, Pdid domain = 0) {
    auto& port = of_port[vpid] = std::make_unique<HostPort>();
    port->memory.set_state(PortState::Enabled);
    (void)ports.open(vpid, port->memory.page(), domain);
    (void)messages.open(vpid, port->memory.page(), {});
    return *port;
  }
  void close(Vpid vpid) {
    rma.close_port(vpid);
    messages.close(vpid);
    ports.close(vpid);
    of_port.erase(vpid);
  }
  /// Null: there are no addresses left.
  [[nodiscard]] std::unique_ptr<Registered> add_memory(Vpid owner, std::size_t pages, Access access) {
    auto memory = std::make_unique<Registered>(pages);
    std::vector<PageNumber> numbers(pages);
    for (std::size_t i = 0; i < pages; ++i) numbers[i] = to_page_number(memory->bytes().data() + i * kPageBytes);
    const auto nla = atu.register_pages(owner, numbers, access);
    if (!nla) return nullptr;
    memory->owner = owner;
    memory->nla = *nla;
    return memory;
  }
  void step(std::uint64_t now_ns) {
    Command command;
    for (auto& [vpid, port] : of_port) {
      while (!rma.is_busy(vpid) && port->source.take(command)) rma.start(vpid, command, now_ns);
    }
    (void)links.step(services, now_ns);
    (void)rma.step(now_ns);
    (void)messages.step(now_ns);
  }
  [[nodiscard]] bool is_idle() const {
    for (const auto& [vpid, port] : of_port) {
      if (port->source.taken() != port->memory.page().word(PageWord::TransferClaimed).load()) return false;
    }
    return links.is_idle() && rma.is_idle() && messages.is_idle();
  }

  Links links;
  Services services;
  Atu atu;
  Ports ports;
  Rma rma;
  MessageUnit messages;
  std::map<Vpid, std::unique_ptr<HostPort>> of_port;
};

}  // namespace stopbit::nic
