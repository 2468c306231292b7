#pragma once

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/day/machine.hpp"
#include "tests/day/model.hpp"
#include "tests/day/receiver.hpp"

namespace stopbit::day {

/// Knows what was sent and what every port handed out, hears what the appliance says, and compares:
///
/// - What any line carried of a true run within the window is delivered, once and in order.
/// - A number that is not delivered is told as lost, with a reason that fits what happened to it.
/// - Nothing of a stranger is delivered while a line carries the true run; after a wrong switch the run comes back.
/// - Nothing is held longer than the window once every port has been read; the account is balanced.
///
/// It does not compute what the arbiter should say: where the rules leave a choice, each answer is right.
class Oracle final : public Listener {
 public:
  Oracle(Day& day, Counts& counts);

  void handed_out(const HandOut& hand_out);
  void dropped(const Copy& copy, Fate fate);
  /// A turn of the appliance is over: every port was read up to here.
  void turn(const Receiver& receiver);
  void killed();
  /// The day is over, and the appliance has finished.
  void finish(const Receiver& receiver);

  bool delivered(std::size_t channel, const arbitrate::Packet& packet, std::uint16_t epoch) override;
  void gap(std::size_t channel, const arbitrate::Gap& gap, const Blame& blame) override;
  void run(std::size_t channel, const arbitrate::NewRun& run) override;
  void conflict(std::size_t channel, const arbitrate::Conflict& conflict) override;
  void late(std::size_t channel, const arbitrate::Packet& packet, std::uint64_t late_ns) override;
  void late_of_gap(std::size_t channel, std::uint64_t first, std::uint64_t count, std::uint16_t epoch) override;
  void contradiction(std::size_t channel, const std::string& what) override { fail(channel, what); }
  void horizon(std::uint64_t until_ns) override;

  /// Conflicts are told once a run only, and what came late by its gap.
  bool hears_notices = false;
  /// Prints everything about this channel.
  int story = -1;

  /// The first thing that is not as it should be; empty if there is none.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  struct Gap {
    arbitrate::Gap gap;
    Blame blame = {};
  };
  struct Waiting {
    std::uint64_t high_ns = 0;
    std::uint32_t run = 0;
    std::uint64_t number = 0;
  };
  /// A gap of a true run, for what is said of it later.
  struct ToldGap {
    std::uint64_t first = 0;  ///< As on the wire.
    std::uint64_t count = 0;
    std::uint16_t epoch = 0;
    std::uint32_t run = 0;
    std::uint64_t number = 0;  ///< The first, as the exchange counts.
  };
  /// What is known of a channel by what it says.
  struct Channel {
    std::uint64_t mask = 0;
    bool running = false;
    std::uint16_t epoch = 0;
    arbitrate::NewRun::Reason reason{};
    std::optional<std::uint64_t> cursor;    ///< The wire number that comes next.
    std::uint8_t chunk = 0;                 ///< The last one of a number that is not whole yet; 0 = none is.
    bool may_retry = false;                 ///< The last packet did not decode.
    std::optional<std::uint32_t> run;       ///< Of the exchange; a stranger's is kStranger.
    std::uint64_t number = 0;               ///< That the cursor stands for.
    std::uint64_t true_next = 0;            ///< The same of the true run that had the channel last.
    std::vector<Gap> pending;               ///< Before the first packet of the run.
    std::optional<std::uint32_t> true_run;  ///< The true run that had the channel last.
    std::uint64_t run_ns = 0;               ///< Arrival of its last packet.
    const Copy* lone = nullptr;             ///< The last one that was too far ahead to be believed by itself.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> silences;  ///< Horizon and its silence then, the last few.
    std::uint64_t leapt = 0;                                        ///< Numbers left out just before the cursor.
    bool was_stranger = false;                                      ///< The run before was a stranger's.
    bool has_leapt = false;                                         ///< In this life.
    std::uint32_t switches = 0;                                     ///< Runs told,
    std::vector<std::uint32_t> epochs;           ///< and how many when this one last began, by run of the exchange.
    bool is_fused = false;                       ///< The cycle told has packets of two of the exchange.
    std::vector<bool> announced;                 ///< By run: it has said that the numbers begin anew.
    bool has_met = false;                        ///< A true run had the channel, in this life of the appliance.
    std::uint64_t foreign_ns = 0;                ///< Arrival of the last stranger's packet,
    std::array<std::uint64_t, 2> last_run_ns{};  ///< and of the last packets of the last two runs,
    std::array<std::uint32_t, 2> last_run{};     ///< these.
    std::vector<const Copy*> numberless;         ///< Framing none: handed out.
    std::size_t numberless_at = 0;               ///< The first that was not delivered.
    std::uint32_t handed = 0;                    ///< Packets handed out.
    std::uint64_t left_out = 0;                  ///< Numbers lost just before the cursor,
    std::uint64_t passed = 0;                    ///< and since the true run had the channel last.
    std::optional<std::uint32_t> joined_from;  ///< The true run that this was taken for, since the reported one began.
    std::optional<Gap> last_gap;               ///< Just before the cursor.
    std::uint64_t led_to = 0;   ///< A stranger's packet with this number of the run was believed after a leap.
    std::uint32_t foreign = 0;  ///< How often strangers have got the channel.
    std::vector<Waiting> waiting;
    std::size_t waiting_at = 0;
    std::vector<ToldGap> told_gaps;
    std::set<std::uint64_t> of_strangers;  ///< Numbers that they have brought,
    std::set<std::uint64_t> spoofed;       ///< and those from an address of the true run;
    std::uint32_t spoofers = 0;            ///< packets of these.
    std::uint32_t conflicts = 0;           ///< Told.
    std::vector<std::uint32_t> aside;      ///< By run: packets handed out while another run had the channel.
  };

  Number* find(std::size_t channel, std::uint32_t run, std::uint64_t number);
  void move_cursor(Channel& channel, std::uint64_t to, std::uint64_t count);
  void meet(std::size_t index, std::uint32_t run, std::uint64_t number);
  void take(std::size_t index, std::uint32_t run, std::uint64_t number);
  void take_by_wire(std::size_t index, std::uint64_t sequence);
  bool take_of_joined(std::size_t index, std::uint64_t sequence);
  void settle(std::size_t index, const Gap& gap, std::uint64_t first);
  void settle_passed(std::size_t index);
  void settle_leapt(std::size_t index, const Gap& gap);
  void reopen(std::size_t index, std::uint32_t run, std::uint64_t number);
  [[nodiscard]] bool is_stale(const Channel& channel, const ChannelPlan& plan, const Number& number) const;
  void forget_fused(const Channel& channel, Number& number) const;
  [[nodiscard]] bool is_of_cycle_before(std::size_t index, std::uint32_t run, const Number& number,
                                        unsigned lines) const;
  [[nodiscard]] bool begins_again(std::size_t index, std::uint32_t run, const Number& number) const;
  void lose(std::size_t index, std::uint32_t run, std::uint64_t number, const Gap& gap);
  void check_cause(std::size_t index, const Gap& gap, std::uint64_t first);
  void check_run(std::size_t index, std::uint32_t run);
  [[nodiscard]] bool is_lone(Channel& channel, const ChannelPlan& plan, const Copy& copy) const;
  [[nodiscard]] bool is_outlived(const ChannelPlan& plan, const Run& run, std::size_t at) const;
  [[nodiscard]] bool was_led_on(std::size_t index, const Number& number) const;
  [[nodiscard]] bool is_pushed_out(std::size_t index, const Number& number) const;
  [[nodiscard]] bool is_alone(const ChannelPlan& plan, const Run& run, std::size_t at) const;
  [[nodiscard]] bool was_in_time(const ChannelPlan& plan, const Run& run, std::size_t at, bool by_room) const;
  /// For people: what happens in the channel whose story is told.
  template <class... Args>
  void tell(std::size_t channel, fmt::format_string<Args...> format, Args&&... args) const {
    if (story != static_cast<int>(channel)) return;
    fmt::print("{:>10} us  {}\n", static_cast<double>(until_ns_ - kBegin) / 1e3,
               fmt::format(format, std::forward<Args>(args)...));
  }
  void fail(std::size_t channel, const std::string& what);
  void count(Count what, std::uint64_t by = 1) { counts_[static_cast<std::size_t>(what)] += by; }

  Day& day_;
  Counts& counts_;
  std::vector<Channel> channels_;
  std::uint32_t order_ = 0;
  std::uint64_t until_ns_ = kBegin;
  std::uint64_t kernel_drop_ns_ = 0;  ///< Arrival of the last datagram that a socket had no room for. In this life.
  std::string fault_;
};

}  // namespace stopbit::day
