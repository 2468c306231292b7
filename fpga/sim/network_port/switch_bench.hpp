#pragma once

#include <Vstopbit_network_port.h>

#include "network_port_bench.hpp"

namespace stopbit::sim {

/// A port at a switch: what the port sends is checked cell by cell, what is sent to it keeps to its credits.
class NetworkPortTest : public ::testing::Test {
 protected:
  struct Sent {
    std::size_t channel = 0;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
  };

  NetworkPortTest() { settle(); }

  auto& model() { return unit_.model(); }
  [[nodiscard]] std::uint64_t cycles() const { return unit_.cycles(); }
  /// Queues need some cycles after a reset.
  void settle() {
    for (int i = 0; i < 20; ++i) cycle();
  }
  void reset() {
    unit_.reset();
    theirs_ = {};
    mine_ = {};
    to_free_.clear();
    leaving_.clear();
    cells_.clear();
    raw_.clear();
    for (auto& queue : expected_out_) queue.clear();
    for (auto& queue : expected_in_) queue.clear();
    packets_in_.clear();
    due_in_ = 0;
    settle();
  }

  // ---- from the unit to the network

  /// Queues a packet at the unit, and notes what has to come of it.
  void send(const Packet& packet) {
    unit_.send(packet);
    expected_out_[Start::of(packet.start).traffic_class].push_back(packet);
    ++due_out_;
  }
  /// Of a packet the port chooses the channel, and begins to count its hops.
  static Packet on(Packet packet, std::size_t vc) {
    Start start = Start::of(packet.start);
    start.vc = vc;
    start.marker &= 0x3F00;
    packet.start = start.data();
    return packet;
  }

  // ---- from the network to the unit

  void come(const Packet& packet) { packets_in_.push_back(packet); }
  /// Cells as they are, whatever the credits. Nothing is expected of them.
  void inject(Cell cell) { raw_.push_back(cell); }
  void inject(const std::vector<Cell>& cells) { raw_.insert(raw_.end(), cells.begin(), cells.end()); }

  /// The neighbour gives no credits of this channel back.
  void hold(std::optional<std::size_t> channel) { held_ = channel; }
  void set_network_stalls(std::uint32_t percent) { in_.emplace(random_, percent); }
  /// One more than was used.
  void free_too_much(std::size_t channel) { excess_ = channel; }

  void cycle() {
    unit_.offer();
    free_one();
    model().valid_i = 0;
    model().ready_i = !random_.chance(ready_stalls_);
    drive();
    unit_.bench().settle();
    const std::size_t before = unit_.came().size();
    unit_.look();
    for (std::size_t i = before; i < unit_.came().size(); ++i) check_in(unit_.came()[i]);
    if (model().valid_o && model().ready_i) check_out({model().kind_o, model().data_o});
    if (model().freed_o) {
      freed_.push_back(cycles());
      if (checks_credits_) mine_.free(model().freed_channel_o);
    }
    unit_.bench().step();
  }
  template <class Until>
  void run(const Until& until, std::uint64_t patience = 400'000) {
    for (std::uint64_t i = 0; !until(); ++i) {
      ASSERT_LT(i, patience) << "stuck: " << due_out_ << " are to be sent, " << due_in_ << " to come, "
                             << packets_in_.size() << " to begin, " << unit_.waiting() << " words wait; "
                             << ::testing::PrintToString(unit_.counts);
      cycle();
      if (HasFailure()) return;
    }
  }
  void run_for(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles && !HasFailure(); ++i) cycle();
  }
  /// Until all has arrived, and all slots are free again.
  void finish() {
    run([this] {
      return due_out_ == 0 && due_in_ == 0 && packets_in_.empty() && raw_.empty() && cells_.empty() &&
             unit_.waiting() == 0 && mine_.used() == 0 && theirs_.used() == 0;
    });
    run_for(60);
  }

  Random random_{77};
  Packets packets_{random_};
  Unit<Vstopbit_network_port> unit_{random_, 3};
  Slots theirs_;  ///< Of the neighbour.
  Slots mine_;
  std::array<std::deque<Packet>, kClasses> expected_out_;  ///< By class.
  std::array<std::deque<Packet>, kChannels> expected_in_;  ///< By channel.
  std::deque<Packet> packets_in_;
  std::deque<Cell> raw_;
  std::uint64_t due_out_ = 0;
  std::uint64_t due_in_ = 0;
  std::vector<std::uint64_t> freed_;  ///< When slots came back.
  std::deque<Sent> sent_;
  bool leaves_nothing_bad_ = true;  ///< Store-and-forward.
  bool checks_credits_ = true;
  std::uint32_t ready_stalls_ = 0;         ///< Of the neighbour, in percent.
  std::uint32_t free_stalls_ = 10;         ///< Credits that come late.
  bool unknown_out_ = false;               ///< It is not looked at whether packets that leave are those that were sent.
  std::uint32_t channels_ = kAllChannels;  ///< On which packets may begin, by the settings.

 private:
  void free_one() {
    model().freed_i = 0;
    if (excess_) {
      model().freed_i = 1;
      model().freed_channel_i = static_cast<std::uint8_t>(*excess_);
      excess_.reset();
      return;
    }
    const auto at =
        std::find_if(to_free_.begin(), to_free_.end(), [this](std::size_t channel) { return channel != held_; });
    if (at == to_free_.end() || random_.chance(free_stalls_)) return;
    model().freed_i = 1;
    model().freed_channel_i = static_cast<std::uint8_t>(*at);
    theirs_.free(*at);
    to_free_.erase(at);
  }

  void check_out(const Cell& cell) {
    if (cell.kind == Cell::Start) {
      EXPECT_TRUE(leaving_.empty()) << "a packet begins in another";
      const Start start = Start::of(cell.data);
      ASSERT_LT(start.vc, kVcs);
      EXPECT_TRUE(theirs_.may_begin(start.channel())) << "channel " << start.channel() << " has no credits";
      EXPECT_NE(channels_ >> start.channel() & 1, 0U) << "channel " << start.channel() << " is not allowed";
      theirs_.use(start.channel());
      to_free_.push_back(start.channel());
      sent_.push_back({start.channel(), cycles(), 0});
    } else {
      ASSERT_FALSE(leaving_.empty()) << "a cell without a packet";
      const std::size_t channel = Start::of(leaving_.front().data).channel();
      if (cell.kind == Cell::Payload && leaving_.size() > kSlotCells && (leaving_.size() - 1) % kSlotCells == 0) {
        theirs_.use(channel);
        to_free_.push_back(channel);
      }
    }
    leaving_.push_back(cell);
    if (cell.kind != Cell::End) return;
    sent_.back().ended = cycles();
    const Start start = Start::of(leaving_.front().data);
    if (unknown_out_) {
      EXPECT_EQ(leaving_.front().data, start.data()) << "its CRC";
      EXPECT_LE(leaving_.size(), kMaxPayload + 2);
      EXPECT_EQ(cell.data & ~kBad, 0U);
      leaving_.clear();
      return;
    }
    auto& queue = expected_out_[start.traffic_class];
    ASSERT_FALSE(queue.empty()) << "a packet of class " << start.traffic_class << " that nobody sent";
    EXPECT_EQ(leaving_, cells_of(on(queue.front(), start.vc)));
    queue.pop_front();
    --due_out_;
    leaving_.clear();
  }

  /// The next cell of a packet whose channel has credits; those of a channel stay in order.
  void drive() {
    if (!in_->open()) return;
    if (cells_.empty() && raw_.empty()) {
      std::array<bool, kChannels> seen{};
      for (std::size_t i = 0; i < packets_in_.size() && i < 64; ++i) {
        const std::size_t channel = Start::of(packets_in_[i].start).channel();
        if (!seen[channel] && mine_.may_begin(channel)) {
          begin(i, channel);
          break;
        }
        seen[channel] = true;
      }
    }
    std::deque<Cell>& from = cells_.empty() ? raw_ : cells_;
    if (from.empty()) return;
    const Cell cell = from.front();
    from.pop_front();
    model().valid_i = 1;
    model().kind_i = cell.kind;
    model().data_i = cell.data;
  }
  void begin(std::size_t i, std::size_t channel) {
    const Packet packet = packets_in_[i];
    packets_in_.erase(packets_in_.begin() + static_cast<std::ptrdiff_t>(i));
    // Its slots are all taken at once: the port may free some before the last one has come.
    for (std::size_t slot = 0; slot < slots_of(packet.payload.size()); ++slot) mine_.use(channel);
    const auto cells = cells_of(packet);
    cells_.insert(cells_.end(), cells.begin(), cells.end());
    if (packet.is_bad && leaves_nothing_bad_) return;
    expected_in_[channel].push_back(packet);
    ++due_in_;
  }
  void check_in(const Packet& packet) {
    auto& queue = expected_in_[Start::of(packet.start).channel()];
    if (queue.empty()) return;  // of a test that looks at it itself
    EXPECT_EQ(packet, queue.front());
    queue.pop_front();
    --due_in_;
  }

  std::optional<Gate> in_{std::in_place, random_, 0};
  std::deque<std::size_t> to_free_;
  std::optional<std::size_t> held_;
  std::optional<std::size_t> excess_;
  std::vector<Cell> leaving_;
  std::deque<Cell> cells_;
};

}  // namespace stopbit::sim
