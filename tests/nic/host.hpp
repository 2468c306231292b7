#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/atu/atu.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "host/nic/msg/message_engine.hpp"
#include "host/nic/node/broker.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/notify/events.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/rma/rma.hpp"
#include "host/nic/rma/rma_engine.hpp"
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

/// A port as its process sees it: a port that the broker opened for a client, or a port of this process's memory.
struct HostPort {
  explicit HostPort(std::unique_ptr<Client> of) : client(std::move(of)), page(client->page()) {}
  HostPort() : memory(std::make_unique<PageMemory>()), page(memory->page()) {}

  std::unique_ptr<Client> client;  ///< One of the two.
  std::unique_ptr<PageMemory> memory;
  Page page;
  CommandQueue queue{page, CommandRing::Transfer};
  NotificationReader notifications{page};
  EventCounters events{page};
  MailboxReader low{page, Priority::Low};
  MailboxReader high{page, Priority::High};
};

/// A node as it runs in an appliance, and some ports, in this thread.
class Host {
 public:
  static constexpr std::size_t kPorts = 8;
  static constexpr std::size_t kPages = 4096;  ///< That can be registered at once.

  /// With an engine, its message unit or remote memory access is in hardware.
  explicit Host(Transport& transport, const LinkOptions& options = {}, const RmaOptions& rma_options = {},
                std::unique_ptr<MessageEngine> message_engine = nullptr,
                std::unique_ptr<RmaEngine> memory_engine = nullptr)
      : engine(std::move(message_engine)),
        rma_engine(std::move(memory_engine)),
        node(transport, options_of(options, rma_options)) {
    if (engine) messages.set_engine(*engine);
    if (rma_engine) rma.set_engine(*rma_engine);
  }

  /// A port of this process's memory.
  HostPort& open(Vpid vpid, Pdid domain = 0) {
    auto port = std::make_unique<HostPort>();
    turn_to(vpid);
    if (node.open_port(port->page, domain, {}) != vpid) throw std::runtime_error("the port is in use");
    return *(of_port[vpid] = std::move(port));
  }
  /// A port that a client gets from a broker, as any process does: over its socket, in `folder`.
  HostPort& open_client(Vpid vpid, Pdid domain, const std::filesystem::path& folder) {
    std::unique_ptr<Broker>& broker = brokers_[domain];
    const std::string socket = (folder / (std::to_string(node.id()) + "." + std::to_string(domain))).string();
    if (!broker) {
      BrokerOptions options;
      options.socket = socket;
      options.entitlements.emplace_back().domain = domain;
      auto opened = Broker::open(node, options);
      if (!opened) throw std::runtime_error(opened.message());
      broker = std::move(opened).value();
    }
    turn_to(vpid);
    // The client waits for the broker's answer, which is given here.
    std::atomic<bool> is_done = false;
    Result<std::unique_ptr<Client>> client = Failure{"not asked yet"};
    std::thread process([&] {
      client = Client::open(socket);
      is_done = true;
    });
    while (!is_done) {
      if (broker->step() == 0) std::this_thread::yield();
    }
    process.join();
    if (!client) throw std::runtime_error(client.message());
    if (client.value()->vpid() != vpid) throw std::runtime_error("the port is in use");
    return *(of_port[vpid] = std::make_unique<HostPort>(std::move(client).value()));
  }
  void close(Vpid vpid) {
    const auto port = of_port.find(vpid);
    if (port == of_port.end()) return;
    // A client's end reaches the broker through the socket; it has mapped the pages, too.
    if (port->second->client == nullptr) node.close_port(vpid);
    of_port.erase(port);
    while (ports.is_open(vpid)) {
      for (auto& [domain, broker] : brokers_) (void)broker->step();
    }
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
  void step(std::uint64_t now_ns) { (void)node.step(now_ns); }
  /// Nothing is under way, and no command waits in a ring.
  [[nodiscard]] bool is_idle() const {
    for (const auto& [vpid, port] : of_port) {
      for (const CommandRing ring : {CommandRing::High, CommandRing::Low, CommandRing::Transfer}) {
        const RingPlace place = place_of(ring);
        if (port->page.word(place.claimed).load() != port->page.word(place.taken).load()) return false;
      }
    }
    return node.is_idle();
  }

  std::map<Vpid, std::unique_ptr<HostPort>> of_port;  // their pages outlive the node
  std::unique_ptr<MessageEngine> engine;              // as these do
  std::unique_ptr<RmaEngine> rma_engine;
  Node node;
  Atu& atu = node.atu();
  Ports& ports = node.ports();
  Rma& rma = node.rma();
  MessageUnit& messages = node.messages();
  const Links& links = node.links();

 private:
  static NodeOptions options_of(const LinkOptions& link, const RmaOptions& rma) {
    NodeOptions options;
    options.ports = kPorts;
    options.atu = {1, kPages, 64, 55};
    options.rma = rma;
    options.link = link;
    return options;
  }
  /// The node gives out free numbers in turn; those before this one are taken and given back.
  void turn_to(Vpid vpid) {
    if (vpid >= kPorts || ports.is_open(vpid)) throw std::runtime_error("the port is open, or cannot be");
    PageMemory memory;
    while (next_ != vpid) {
      if (!ports.is_open(next_)) node.close_port(node.open_port(memory.page(), 0, {}).value());
      next_ = static_cast<Vpid>((next_ + 1U) % kPorts);
    }
    next_ = static_cast<Vpid>((vpid + 1U) % kPorts);
  }

  Vpid next_ = 0;
  std::map<Pdid, std::unique_ptr<Broker>> brokers_;
};

}  // namespace stopbit::nic
