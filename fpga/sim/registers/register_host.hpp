#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "bench.hpp"

namespace stopbit::sim {

/// One access of the bus.
struct BusRequest {
  bool write = false;
  std::uint32_t address = 0;
  std::uint32_t data = 0;
  std::uint8_t strobe = 0xF;
};
struct BusAnswer {
  bool error = false;
  std::uint32_t data = 0;
  int cycles = 0;  ///< From when it was taken until the answer.
};

/// A host on the AXI4-Lite bus of a register tree: offers accesses and takes answers, both with pauses. It checks that
/// each access has one answer of its kind within `patience` cycles, which stays until it is taken.
///
/// In each cycle of the bus: drive(), let the model settle, see(), the edge.
template <class Model>
class RegisterHost {
 public:
  using Done = std::function<void(const BusRequest&, const BusAnswer&)>;

  RegisterHost(Random& random, std::uint32_t stall, int patience)
      : patience_(patience), bready_(random, stall), rready_(random, stall), offers_(random, stall) {}

  /// Its answer comes to `done`.
  void offer(const BusRequest& request, Done done) {
    (request.write ? writes_ : reads_).push_back({request, std::move(done)});
  }
  [[nodiscard]] bool is_idle() const { return writes_.empty() && reads_.empty() && !writing_ && !reading_; }
  /// An access was taken and has no answer yet.
  [[nodiscard]] bool is_waiting() const { return asks_ && !is_answered_; }
  /// It takes no answer.
  void stop_reading(bool stops) { reads_nothing_ = stops; }

  /// With a reset of the bus: what was under way has no answer any more. It may have been done, or may still be.
  void reset() {
    asks_.reset();
    writing_.reset();
    reading_.reset();
    is_last_write_ = false;
    aw_ = w_ = false;
  }
  /// The same, and drops what was offered: all of it.
  std::vector<BusRequest> forget() {
    std::vector<BusRequest> all;
    for (const auto* queue : {&writes_, &reads_}) {
      for (const Pending& pending : *queue) all.push_back(pending.request);
    }
    for (const auto* one : {&writing_, &reading_}) {
      if (*one) all.push_back((*one)->request);
    }
    writes_.clear();
    reads_.clear();
    reset();
    return all;
  }

  void drive(Model& model) {
    if (!writing_ && !writes_.empty() && offers_.open()) {
      writing_ = std::move(writes_.front());
      writes_.pop_front();
    }
    if (!reading_ && !reads_.empty() && offers_.open()) {
      reading_ = std::move(reads_.front());
      reads_.pop_front();
    }
    const bool asks_write = asks_ && asks_->first.request.write;
    const bool asks_read = asks_ && !asks_->first.request.write;
    // Address and data come apart, and stay.
    if (writing_ && !asks_write) {
      aw_ = aw_ || offers_.open();
      w_ = w_ || offers_.open();
    }
    model.awvalid_i = writing_ && !asks_write && aw_;
    model.wvalid_i = writing_ && !asks_write && w_;
    model.arvalid_i = reading_ && !asks_read;
    if (writing_) {
      model.awaddr_i = static_cast<std::uint16_t>(writing_->request.address);
      model.wdata_i = writing_->request.data;
      model.wstrb_i = writing_->request.strobe;
    }
    if (reading_) model.araddr_i = static_cast<std::uint16_t>(reading_->request.address);
    model.bready_i = bready_.open() && !reads_nothing_;
    model.rready_i = rready_.open() && !reads_nothing_;
  }
  /// Instead of drive(), while the bus is in reset.
  static void drive_nothing(Model& model) { model.awvalid_i = model.wvalid_i = model.arvalid_i = 0; }

  void see(const Model& model) {
    ASSERT_EQ(model.awready_o, model.wready_o);
    const bool takes_write = model.awvalid_i && model.awready_o;
    const bool takes_read = model.arvalid_i && model.arready_o;
    ASSERT_FALSE(takes_write && (takes_read || !model.wvalid_i));
    // An answer only to what was taken, of its kind, within the limit, and kept until it is taken.
    if (asks_) {
      ++asks_->second.cycles;
      const bool is_write = asks_->first.request.write;
      const bool comes = is_write ? model.bvalid_o : model.rvalid_o;
      ASSERT_FALSE(is_write ? model.rvalid_o : model.bvalid_o);
      ASSERT_FALSE(takes_write || takes_read);
      if (is_answered_) {
        ASSERT_TRUE(comes);
      } else {
        ASSERT_LE(asks_->second.cycles, patience_ + 2);
      }
      if (comes) see_answer(model, is_write);
      if (comes && (is_write ? model.bready_i : model.rready_i)) finish(is_write);
    } else {
      ASSERT_FALSE(model.bvalid_o || model.rvalid_o);
      if (takes_write) take(model, *writing_);
      if (takes_read) take(model, *reading_);
      const bool waits = (model.awvalid_i && model.wvalid_i) || model.arvalid_i;
      ASSERT_FALSE(waits && !takes_write && !takes_read) << "for nothing";
    }
  }

  std::function<void(const BusRequest&)> on_take;
  std::function<void(const BusRequest&, const BusAnswer&)> on_answer;  ///< In its first cycle.

 private:
  /// What waits for its answer.
  struct Pending {
    BusRequest request;
    Done done;
  };

  void take(const Model& model, const Pending& pending) {
    asks_.emplace(pending, BusAnswer{});
    is_answered_ = false;
    // After a write a read comes first, after a read or a reset a write.
    if (model.awvalid_i && model.wvalid_i && model.arvalid_i) {
      EXPECT_NE(is_last_write_, pending.request.write);
    }
    is_last_write_ = pending.request.write;
    if (on_take) on_take(pending.request);
  }
  void see_answer(const Model& model, bool is_write) {
    const std::uint32_t code = is_write ? model.bresp_o : model.rresp_o;
    BusAnswer& answer = asks_->second;
    if (is_answered_) {
      ASSERT_EQ(code, answer.error ? 2U : 0U);
      ASSERT_EQ(is_write ? 0U : model.rdata_o, answer.data);
      return;
    }
    ASSERT_TRUE(code == 0 || code == 2) << code;
    is_answered_ = true;
    answer.error = code == 2;
    if (!is_write) answer.data = model.rdata_o;
    if (on_answer) on_answer(asks_->first.request, answer);
  }
  void finish(bool is_write) {
    const auto [pending, answer] = *asks_;
    asks_.reset();
    (is_write ? writing_ : reading_).reset();
    if (is_write) aw_ = w_ = false;
    pending.done(pending.request, answer);
  }

  int patience_;
  Gate bready_;
  Gate rready_;
  Gate offers_;
  bool reads_nothing_ = false;
  std::deque<Pending> writes_;
  std::deque<Pending> reads_;
  std::optional<Pending> writing_;
  std::optional<Pending> reading_;
  std::optional<std::pair<Pending, BusAnswer>> asks_;  // taken
  bool is_last_write_ = false;                         // of those taken since a reset
  bool aw_ = false;
  bool w_ = false;
  bool is_answered_ = false;
};

}  // namespace stopbit::sim
