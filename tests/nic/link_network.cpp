#include "tests/nic/link_network.hpp"

#include <Vrtl_link_port.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <stdexcept>
#include <vector>

#include "bench.hpp"
#include "link_wire.hpp"

namespace stopbit::nic {
namespace {

using sim::Cell;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kFrameBytes = 4096;
constexpr std::size_t kFrames = 16;  // that wait for one link; then it has no room
constexpr std::size_t kCellBytes = 8;
constexpr std::size_t kPacketBytes = 256;
constexpr std::uint64_t kChannels = 12;
constexpr int kPatience = 1'000'000;  // cycles

/// One end of a link: frames in and out, as packets. The first cell of a frame has its length.
class End {
 public:
  explicit End(std::uint64_t seed) : bench_(seed) {
    bench_->valid_i = 0;
    bench_->link_kind_i = 0;
    bench_->link_data_i = 0;
    bench_->link_signal_i = 0;
    bench_->freed_i = 0;
    bench_->ready_i = 1;
    bench_.reset();
  }

  [[nodiscard]] bool has_room() const { return frames_ < kFrames; }
  void send(std::span<const std::byte> frame) {
    Bytes bytes(kCellBytes + frame.size());
    const std::uint64_t length = frame.size();
    std::memcpy(bytes.data(), &length, sizeof(length));
    std::copy(frame.begin(), frame.end(), bytes.begin() + kCellBytes);
    bytes.resize((bytes.size() + kCellBytes - 1) / kCellBytes * kCellBytes);
    // All packets of a frame on one channel: the link keeps their order, whatever happens to others.
    const std::uint64_t channel = turn_++ % kChannels;
    for (std::size_t at = 0; at < bytes.size(); at += kPacketBytes) {
      to_send_.push_back({Cell::Start, (channel / 3) << 17 | (channel % 3) << 15});
      for (std::size_t i = at; i < std::min(at + kPacketBytes, bytes.size()); i += kCellBytes) {
        Cell cell{Cell::Payload, 0};
        std::memcpy(&cell.data, bytes.data() + i, sizeof(cell.data));
        to_send_.push_back(cell);
      }
      to_send_.push_back({Cell::End, 0});
    }
    ++frames_;
  }
  [[nodiscard]] std::deque<Bytes>& received() { return received_; }
  [[nodiscard]] Cell link() { return {bench_->link_kind_o, bench_->link_data_o}; }
  [[nodiscard]] bool is_idle() const { return to_send_.empty() && packets_ == 0; }

  void cycle(const Cell& cell) {
    bench_->link_signal_i = 1;
    bench_->link_kind_i = cell.kind;
    bench_->link_data_i = cell.data;
    bench_->valid_i = !to_send_.empty();
    if (!to_send_.empty()) {
      bench_->kind_i = to_send_.front().kind;
      bench_->data_i = to_send_.front().data;
    }
    bench_->freed_i = !to_free_.empty();
    if (!to_free_.empty()) {
      bench_->freed_channel_i = to_free_.front();
      to_free_.pop_front();
    }
    bench_.settle();
    if (bench_->valid_i && bench_->ready_o) {
      packets_ += to_send_.front().kind == Cell::End ? 1 : 0;
      to_send_.pop_front();
    }
    packets_ -= bench_->answered_o;
    if (bench_->valid_o) take({bench_->kind_o, bench_->data_o});
    bench_.step();
  }
  void frame_has_left() { --frames_; }

 private:
  void take(const Cell& cell) {
    switch (cell.kind) {
      case Cell::Start:
        channel_ = static_cast<std::uint8_t>((cell.data >> 17 & 3) * 3 + (cell.data >> 15 & 3));
        cells_ = 0;
        return;
      case Cell::Payload: {
        ++cells_;
        const std::size_t at = coming_.size();
        coming_.resize(at + kCellBytes);
        std::memcpy(coming_.data() + at, &cell.data, kCellBytes);
        return;
      }
      default: break;
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(1, (cells_ + 7) / 8); ++i) to_free_.push_back(channel_);
    std::uint64_t length = 0;
    std::memcpy(&length, coming_.data(), sizeof(length));
    if (coming_.size() < kCellBytes + length) return;
    received_.emplace_back(coming_.begin() + kCellBytes,
                           coming_.begin() + static_cast<std::ptrdiff_t>(kCellBytes + length));
    coming_.clear();
  }

  sim::Bench<Vrtl_link_port> bench_;
  std::deque<Cell> to_send_;
  std::size_t frames_ = 0;   ///< Sent by this end, and not taken by the other one's node.
  std::size_t packets_ = 0;  ///< Without an answer.
  std::uint64_t turn_ = 0;
  std::deque<std::uint8_t> to_free_;
  std::uint8_t channel_ = 0;
  std::size_t cells_ = 0;
  Bytes coming_;
  std::deque<Bytes> received_;
};

/// Two ends and the wires between them.
class Link {
 public:
  Link(std::uint64_t seed, std::uint32_t errors)
      : random_(seed), ends_{End(seed), End(seed + 1)}, wires_{sim::Wire(random_), sim::Wire(random_)} {
    for (sim::Wire& wire : wires_) wire.set_errors(errors);
  }
  [[nodiscard]] End& end(std::size_t side) { return ends_[side]; }
  /// Until all that was sent has come.
  void run() {
    for (int i = 0; !ends_[0].is_idle() || !ends_[1].is_idle(); ++i) {
      if (i == kPatience) throw std::runtime_error("a link does not come to its end");
      const std::array<Cell, 2> cells = {ends_[0].link(), ends_[1].link()};
      for (std::size_t side : {0U, 1U}) wires_[1 - side].put(cells[side]);
      for (std::size_t side : {0U, 1U}) ends_[side].cycle(wires_[side].take());
    }
  }

 private:
  sim::Random random_;
  std::array<End, 2> ends_;
  std::array<sim::Wire, 2> wires_;  ///< To each side.
};

class LinkNetwork final : public Network {
 public:
  LinkNetwork(std::size_t nodes, std::uint32_t errors) : is_cut_(nodes), own_(nodes), links_(nodes * nodes) {
    for (std::size_t low = 0; low < nodes; ++low) {
      for (std::size_t high = low + 1; high < nodes; ++high) {
        links_[low * nodes + high] = std::make_unique<Link>(2 * (low * nodes + high), errors);
      }
    }
    for (std::size_t node = 0; node < nodes; ++node)
      ports_.push_back(std::make_unique<Port>(*this, static_cast<NodeId>(node)));
  }
  [[nodiscard]] Transport& port(NodeId node) override { return *ports_[node]; }
  void set_time(std::uint64_t) override {
    for (const auto& link : links_) {
      if (link != nullptr) link->run();
    }
  }
  void cut(NodeId node) override { is_cut_[node] = true; }
  void mend(NodeId node) override { is_cut_[node] = false; }
  void restart(NodeId) override {}

 private:
  class Port final : public Transport {
   public:
    Port(LinkNetwork& network, NodeId node) : network_(network), node_(node) {}
    [[nodiscard]] NodeId node() const noexcept override { return node_; }
    [[nodiscard]] std::size_t nodes() const noexcept override { return network_.is_cut_.size(); }
    [[nodiscard]] std::size_t frame_bytes() const noexcept override { return kFrameBytes; }
    [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override {
      if (network_.is_cut_[node_] || network_.is_cut_[to]) return true;
      if (to == node_) {
        network_.own_[node_].emplace_back(frame.begin(), frame.end());
        return true;
      }
      End& end = network_.end(node_, to);
      if (!end.has_room()) return false;
      end.send(frame);
      return true;
    }
    [[nodiscard]] std::size_t receive(std::span<std::byte> into) override {
      for (std::size_t i = 0; i < nodes(); ++i) {
        const auto from = static_cast<NodeId>((next_ + i) % nodes());
        std::deque<Bytes>& waiting = from == node_ ? network_.own_[node_] : network_.end(node_, from).received();
        if (waiting.empty()) continue;
        next_ = from + std::size_t{1};
        sender_ = from;
        const Bytes frame = std::move(waiting.front());
        waiting.pop_front();
        if (from != node_) network_.end(from, node_).frame_has_left();
        if (network_.is_cut_[node_]) continue;
        const std::size_t length = std::min(frame.size(), into.size());
        std::copy_n(frame.begin(), length, into.begin());
        return length;
      }
      return 0;
    }
    [[nodiscard]] std::optional<NodeId> sender() const noexcept override { return sender_; }

   private:
    LinkNetwork& network_;
    NodeId node_;
    std::size_t next_ = 0;
    std::optional<NodeId> sender_;
  };

  /// Of `node`, towards the other one.
  [[nodiscard]] End& end(NodeId node, NodeId other) {
    const std::size_t low = std::min(node, other);
    return links_[low * is_cut_.size() + std::max(node, other)]->end(node == low ? 0 : 1);
  }

  std::vector<bool> is_cut_;
  std::vector<std::deque<Bytes>> own_;  ///< Frames of a node to itself.
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace

std::unique_ptr<Network> link_network(std::size_t nodes, std::uint32_t errors) {
  return std::make_unique<LinkNetwork>(nodes, errors);
}

}  // namespace stopbit::nic
