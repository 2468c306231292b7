#pragma once

#include <Vrtl_link_port.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "bench.hpp"
#include "link_wire.hpp"

namespace stopbit::nic {

/// One end of a link in RTL: cells of packets in and out.
class LinkEnd {
 public:
  /// `take` gets each cell that comes.
  LinkEnd(std::uint64_t seed, std::function<void(const sim::Cell&)> take) : bench_(seed), take_(std::move(take)) {
    bench_->valid_i = bench_->link_kind_i = bench_->link_signal_i = bench_->freed_i = 0;
    bench_->link_data_i = 0;
    bench_->ready_i = 1;
    bench_.reset();
  }
  /// What is on the wire to the other end.
  [[nodiscard]] sim::Cell link() { return {bench_->link_kind_o, bench_->link_data_o}; }
  [[nodiscard]] bool is_up() { return bench_->up_o != 0; }
  void send(const sim::Cell& cell) { to_send_.push_back(cell); }
  /// All packets were answered by the other end.
  [[nodiscard]] bool is_idle() const { return to_send_.empty() && under_way_ == 0; }
  /// Gives back the room of a packet of `cells` cells, besides its start and end.
  void free(std::uint8_t channel, std::size_t cells) {
    to_free_.insert(to_free_.end(), std::max<std::size_t>(1, (cells + kSlotCells - 1) / kSlotCells), channel);
  }
  /// With what the wire from the other end has.
  void cycle(const sim::Cell& cell) {
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
      under_way_ += to_send_.front().kind == sim::Cell::End ? 1 : 0;
      to_send_.pop_front();
    }
    under_way_ -= bench_->answered_o;
    if (bench_->valid_o) take_({bench_->kind_o, bench_->data_o});
    bench_.step();
  }

 private:
  static constexpr std::size_t kSlotCells = 8;

  sim::Bench<Vrtl_link_port> bench_;
  std::function<void(const sim::Cell&)> take_;
  std::deque<sim::Cell> to_send_;
  std::size_t under_way_ = 0;  ///< Packets without an answer.
  std::deque<std::uint8_t> to_free_;
};

}  // namespace stopbit::nic
