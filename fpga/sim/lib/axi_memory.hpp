#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "bench.hpp"

namespace stopbit::sim {

/// Memory at an AXI port of 512 bits, as a card's interconnect shows it: writes are seen in the order of their
/// beats, some time after they were accepted, and get their response some time later. Notes the first breach of the
/// rules that the port has to keep: whole aligned beats, no burst over 4 KiB or 16 beats, W after its AW, nothing
/// withdrawn or changed while it waits, no address that is not mapped.
///
/// A cycle: drive() what prepare() says, settle the model, give clock() the port's other side, step the model.
class AxiMemory {
 public:
  static constexpr std::size_t kBeatBytes = 64;
  using Beat = std::array<std::uint32_t, kBeatBytes / 4>;

  /// What the model drives.
  struct Master {
    bool awvalid = false;
    std::uint64_t awaddr = 0;
    std::uint32_t awlen = 0;
    bool wvalid = false;
    Beat wdata{};
    std::uint64_t wstrb = 0;
    bool wlast = false;
    bool bready = false;
    bool arvalid = false;
    std::uint64_t araddr = 0;
    bool rready = false;
    bool operator==(const Master&) const = default;
  };
  /// What the memory drives.
  struct Slave {
    bool awready = false;
    bool wready = false;
    bool bvalid = false;
    std::uint8_t bresp = 0;
    bool arready = false;
    bool rvalid = false;
    std::uint8_t rresp = 0;
    Beat rdata{};
  };

  AxiMemory(Random& random, std::uint32_t stall_percent)
      : random_(random),
        aw_(random, stall_percent),
        w_(random, stall_percent),
        b_(random, stall_percent),
        ar_(random, stall_percent),
        r_(random, stall_percent),
        commit_(random, stall_percent) {}

  /// `bytes` at `data`, which outlive this, have the address; both multiples of 64.
  void map(std::uint64_t address, std::byte* data, std::size_t bytes) { ranges_[address] = {data, bytes}; }
  /// False if nothing is mapped there.
  bool unmap(std::uint64_t address) { return ranges_.erase(address) != 0; }

  /// Responses from now on are errors, in this share.
  void fail(std::uint32_t percent) { fail_percent_ = percent; }

  /// Forgets what is on its way, as after a reset of everything.
  void reset() {
    writes_.clear();
    beats_.clear();
    responses_.clear();
    reads_.clear();
    slave_ = {};
    before_ = {};
  }

  [[nodiscard]] const Slave& prepare() {
    slave_.awready = aw_.open();
    slave_.wready = w_.open();
    slave_.arready = ar_.open();
    // A valid beat stays until it is taken.
    if (!slave_.bvalid && !responses_.empty() && b_.open()) {
      slave_.bvalid = true;
      slave_.bresp = responses_.front();
    }
    if (!slave_.rvalid && !reads_.empty() && r_.open()) {
      slave_.rvalid = true;
      read(reads_.front());
    }
    return slave_;
  }

  void clock(const Master& master) {
    check_stable(master);
    if (master.awvalid && slave_.awready) accept_address(master);
    if (master.wvalid && slave_.wready) accept_beat(master);
    if (slave_.bvalid && master.bready) {
      responses_.pop_front();
      slave_.bvalid = false;
    }
    if (master.arvalid && slave_.arready) {
      if (master.araddr % kBeatBytes != 0) note("a read is not aligned");
      reads_.push_back(master.araddr);
    }
    if (slave_.rvalid && master.rready) {
      reads_.pop_front();
      slave_.rvalid = false;
    }
    before_ = master;
    while (!beats_.empty() && commit_.open()) {
      apply(beats_.front());
      beats_.pop_front();
      if (random_.chance(50)) break;
    }
  }

  /// The first breach of a rule; empty if there is none.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Nothing is on its way.
  [[nodiscard]] bool idle() const { return writes_.empty() && beats_.empty() && responses_.empty() && reads_.empty(); }
  [[nodiscard]] std::uint64_t bursts() const { return bursts_; }
  [[nodiscard]] std::uint64_t beats() const { return beat_count_; }

 private:
  struct Range {
    std::byte* data;
    std::size_t bytes;
  };
  struct Burst {
    std::uint64_t address;
    std::uint32_t beats_left;
  };
  struct Write {
    std::uint64_t address;
    Beat data;
    std::uint64_t strobe;
    bool is_last;
  };

  void note(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  void check_stable(const Master& now) {
    const Master& old = before_;
    if (old.awvalid && !old_awready_ && (!now.awvalid || now.awaddr != old.awaddr || now.awlen != old.awlen)) {
      note("a write address changed while it waited");
    }
    if (old.wvalid && !old_wready_ &&
        (!now.wvalid || now.wdata != old.wdata || now.wstrb != old.wstrb || now.wlast != old.wlast)) {
      note("write data changed while it waited");
    }
    if (old.arvalid && !old_arready_ && (!now.arvalid || now.araddr != old.araddr)) {
      note("a read address changed while it waited");
    }
    old_awready_ = slave_.awready;
    old_wready_ = slave_.wready;
    old_arready_ = slave_.arready;
  }

  void accept_address(const Master& master) {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint32_t kMaxBeats = 16;
    const std::uint64_t end = master.awaddr + (std::uint64_t{master.awlen} + 1) * kBeatBytes;
    if (master.awaddr % kBeatBytes != 0) note("a burst is not aligned");
    if (master.awaddr / kPage != (end - 1) / kPage) note("a burst crosses 4 KiB");
    if (master.awlen >= kMaxBeats) note("a burst is too long");
    writes_.push_back({master.awaddr, master.awlen + 1});
    ++bursts_;
  }

  void accept_beat(const Master& master) {
    if (writes_.empty()) return note("data came before its address");
    Burst& burst = writes_.front();
    beats_.push_back({burst.address, master.wdata, master.wstrb, master.wlast});
    burst.address += kBeatBytes;
    --burst.beats_left;
    if ((burst.beats_left == 0) != master.wlast) note("the last beat of a burst is not the one that says so");
    if (burst.beats_left == 0) writes_.pop_front();
    ++beat_count_;
  }

  [[nodiscard]] std::byte* at(std::uint64_t address) const {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return nullptr;
    --range;
    const std::uint64_t offset = address - range->first;
    return offset + kBeatBytes <= range->second.bytes ? range->second.data + offset : nullptr;
  }

  /// A line is written as a processor's bus does it: readers see the word that says that it is complete last.
  void apply(const Write& write) {
    const bool fails = random_.chance(fail_percent_);
    std::byte* to = at(write.address);
    if (to == nullptr) note("a write goes where no memory is");
    if (to != nullptr && !fails) {
      constexpr std::size_t kWord = sizeof(std::uint64_t);
      for (std::size_t word = 0; word < kBeatBytes / kWord; ++word) {
        const auto strobe = static_cast<std::uint8_t>(write.strobe >> (word * kWord));
        if (strobe == 0) continue;
        if (strobe != 0xFF) note("a word is written in part");
        const std::uint64_t value = write.data[2 * word] | std::uint64_t{write.data[2 * word + 1]} << 32;
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(to) + word, value, __ATOMIC_RELEASE);
      }
    }
    constexpr std::uint8_t kSlaveError = 2;
    burst_failed_ |= fails || to == nullptr;
    if (!write.is_last) return;
    responses_.push_back(burst_failed_ ? kSlaveError : std::uint8_t{0});
    burst_failed_ = false;
  }

  void read(std::uint64_t address) {
    const std::byte* from = at(address);
    constexpr std::uint8_t kDecodeError = 3;
    slave_.rresp = from == nullptr || random_.chance(fail_percent_) ? kDecodeError : std::uint8_t{0};
    slave_.rdata = {};
    if (from != nullptr) std::memcpy(slave_.rdata.data(), from, kBeatBytes);
  }

  Random& random_;
  Gate aw_;
  Gate w_;
  Gate b_;
  Gate ar_;
  Gate r_;
  Gate commit_;
  std::map<std::uint64_t, Range> ranges_;
  std::deque<Burst> writes_;
  std::deque<Write> beats_;
  std::deque<std::uint8_t> responses_;
  std::deque<std::uint64_t> reads_;
  Slave slave_;
  Master before_;
  bool old_awready_ = false;
  bool old_wready_ = false;
  bool old_arready_ = false;
  bool burst_failed_ = false;
  std::uint32_t fail_percent_ = 0;
  std::uint64_t bursts_ = 0;
  std::uint64_t beat_count_ = 0;
  std::string problem_;
};

}  // namespace stopbit::sim
