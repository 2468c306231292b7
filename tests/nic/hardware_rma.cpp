#include "tests/nic/hardware_rma.hpp"

#include <Vrtl_rma.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "host/nic/rma/rma.hpp"
#include "rma_driver.hpp"

namespace stopbit::nic {
namespace {

using namespace sim::rma;

constexpr std::uint64_t kPatience = 10'000'000;  // cycles, for whatever is under way
constexpr std::size_t kFirstHeaderWord = 2;      // of a packet, after start and source

class HardwareRma final : public RmaEngine {
 public:
  HardwareRma(NodeId node, std::size_t nodes, Transactions& transactions) : transactions_(transactions), unit_(1) {
    unit_->node_i = node;
    unit_->last_node_i = static_cast<std::uint16_t>(nodes - 1);
    unit_.gives_back = false;
    unit_.read_word = [this](std::uint64_t address) {
      ++transactions_.reads;
      return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).load(std::memory_order_acquire);
    };
    unit_.write_word = [this](std::uint64_t address, std::uint64_t word, std::uint64_t strobe) {
      ++transactions_.writes;
      auto* const bytes = reinterpret_cast<std::byte*>(address);
      if (strobe == 0xFF) {
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(bytes)).store(word, std::memory_order_release);
        return;
      }
      for (unsigned byte = 0; byte < sizeof(word); ++byte) {
        if ((strobe >> byte & 1) != 0) bytes[byte] = static_cast<std::byte>(word >> 8 * byte);
      }
    };
    unit_.translate = [this](Vpid who, std::uint64_t nla, Access access) -> std::optional<std::uint64_t> {
      return host_->translate(who, nla, access);
    };
    unit_.on_told = [this](const Notice& notice) {
      if (notice.event != 0) host_->signal(notice.vpid, notice.event);
      if (notice.tells) host_->tell(notice.vpid, notice.notification);
    };
    unit_.on_sent = [this](const Packet& packet) {
      ++transactions_.messages;
      host_->send(static_cast<NodeId>(sim::Start::of(packet.words[0]).node),
                  packet.is_answer() ? VirtualChannel::High : VirtualChannel::Low,
                  std::as_bytes(std::span(packet.words).subspan(kFirstHeaderWord)));
      look_for_room();
    };
  }

  void attach(Host& host) override { host_ = &host; }
  void set_port(Vpid vpid, const Port& port) override { unit_.set_port(vpid, {port.is_open, port.domain, port.life}); }
  void set_window(std::uint16_t id, const Window& window) override {
    unit_.set_window(id, {window.is_open, window.is_locked, window.owner, window.access, window.holder_node,
                          window.holder, window.first, window.bytes, window.capability, window.open_to});
  }
  void end_port(Vpid vpid) override { end_all(true, vpid); }
  void end_node(NodeId node) override { end_all(false, node); }

  void start(Vpid vpid, const Command& command) override {
    ++transactions_.messages;
    unit_.commands.emplace_back(vpid, command);
    run();
  }
  void take(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) override {
    ++transactions_.messages;
    RmaHeader header;
    std::memcpy(static_cast<void*>(&header), packet.data(), sizeof(header));
    if ((header.kind >= kAnswerData) != (channel == VirtualChannel::High)) {
      throw std::runtime_error("a packet on the other channel");
    }
    const std::span<const std::byte> data = packet.subspan(sizeof(header));
    std::vector<std::uint64_t> words((data.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memcpy(words.data(), data.data(), data.size());
    unit_.to_come.push_back(to_packet(from, header, words));
    run();
  }
  [[nodiscard]] bool is_free() override { return unit_.to_come.empty() && (unit_->accepts_o & 1U) != 0; }
  [[nodiscard]] bool waits() override { return unit_.waits(); }

  void run() override {
    look_for_room();
    if (!unit_.settle(kPatience)) throw std::runtime_error("remote memory access does not come to its end");
    const auto& events = unit_.events;
    if (events.malformed + events.late + events.expired != 0) {
      throw std::runtime_error("remote memory access does not understand memory or translation");
    }
    unit_.sent.clear();
    unit_.notices.clear();
    for (const std::uint64_t error : unit_.ended) host_->ended(static_cast<Error>(error));
    unit_.ended.clear();
  }

 private:
  void look_for_room() {
    unit_.is_shut = {!host_->has_room(VirtualChannel::Low), !host_->has_room(VirtualChannel::High)};
  }
  void end_all(bool is_port, std::uint16_t index) {
    look_for_room();
    unit_.end_all(is_port, index);
    run();
  }

  Transactions& transactions_;
  sim::rma::Driver<Vrtl_rma> unit_;
  Host* host_ = nullptr;
};

}  // namespace

std::unique_ptr<RmaEngine> hardware_rma(NodeId node, std::size_t nodes, Transactions& transactions) {
  return std::make_unique<HardwareRma>(node, nodes, transactions);
}

}  // namespace stopbit::nic
