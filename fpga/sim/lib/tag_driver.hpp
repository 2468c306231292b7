#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "host/nic/protocol/protocol.hpp"
#include "host/nic/tag/unit.hpp"

/// The tag unit in RTL: a driver of its ports, and the same unit as software sees it.
namespace stopbit::sim::tag {

namespace protocol = nic::protocol;

inline constexpr std::size_t kEntries = 1024;

struct Command {
  std::uint64_t operation = 0;
  bool persistent = false;
  bool is_record = false;
  std::uint64_t id = 0;
  nic::TagHeader header;
  nic::TagMask mask;
  std::uint64_t stamp = 0;
};

struct Answer {
  std::uint64_t kind = 0;
  bool last = false;
  nic::TagReceive receive;
  std::uint64_t stamp = 0;
  nic::TagRecord record;
  std::uint64_t cycles = 0;  ///< From the command taken to the answer shown.
};

[[nodiscard]] inline Command command_of(std::uint64_t operation, const nic::TagReceive& receive) {
  return {operation, receive.is_persistent, false, receive.id, receive.wanted, receive.mask, 0};
}
[[nodiscard]] inline Command command_of(std::uint64_t operation, const nic::TagRecord& record) {
  return {operation, false, true, record.id, record.header, {}, 0};
}

/// A model of `stopbit_tag_unit`, and what is at its ports.
template <class Model>
class Driver {
 public:
  explicit Driver(std::uint64_t seed) : random(seed), bench_(seed) {
    limit(kEntries, kEntries);
    reset();
  }

  /// Everything is forgotten, but not the limits.
  void reset() {
    bench_->valid_i = bench_->ready_i = 0;
    shown_at_.reset();
    bench_.reset();
    for (std::size_t i = 0; bench_->ready_o == 0; ++i) {
      if (bench_->valid_o != 0) throw std::runtime_error("the unit answers without a command");
      if (i > kEntries + 8) throw std::runtime_error("the unit does not begin");
      bench_.step();
    }
  }
  void limit(std::size_t receives, std::size_t records) {
    bench_->receive_limit_i = static_cast<std::uint16_t>(receives);
    bench_->record_limit_i = static_cast<std::uint16_t>(records);
  }

  /// Offers a command; true once it is taken.
  bool offer(const Command& command) {
    BitWriter<12> bits(bench_->command_i);
    bits.put(command.stamp, protocol::kTagStampBits);
    put(bits, {command.mask.channel, command.mask.template_id, command.mask.value});
    put(bits, command.header);
    bits.put(command.id, 64);
    bits.put(command.is_record, 1);
    bits.put(command.persistent, 1);
    bits.put(command.operation, 3);
    bench_->valid_i = 1;
    bench_->ready_i = 0;
    bench_.settle();
    const bool taken = bench_->ready_o != 0;
    if (taken) taken_at_ = bench_.cycles();
    step();
    bench_->valid_i = 0;
    return taken;
  }
  /// A cycle in which an answer is taken, if there is one.
  std::optional<Answer> take() {
    bench_->valid_i = 0;
    bench_->ready_i = 1;
    bench_.settle();
    std::optional<Answer> answer;
    if (bench_->valid_o != 0) answer = seen();
    step();
    return answer;
  }
  /// A cycle in which nothing is taken. What is shown must stay.
  void idle() {
    bench_->valid_i = bench_->ready_i = 0;
    bench_.settle();
    step();
  }

  /// A command with all its answers; both sides stall.
  const std::vector<Answer>& run(const Command& command) {
    answers_.clear();
    while (random.chance(stall_percent)) idle();
    for (std::size_t i = 0; !offer(command); ++i) {
      if (i > 4) throw std::runtime_error("the unit takes no command");
    }
    for (std::uint64_t waited = 0; answers_.empty() || !answers_.back().last;) {
      if (random.chance(stall_percent)) {
        idle();
        continue;
      }
      if (const auto answer = take()) {
        answers_.push_back(*answer);
        waited = 0;
      } else if (++waited > kPatience) {
        throw std::runtime_error("the unit does not answer");
      }
    }
    commands += 1;
    return answers_;
  }

  [[nodiscard]] std::size_t receives() { return bench_->receives_o; }
  [[nodiscard]] std::size_t records() { return bench_->records_o; }
  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }

  Random random;
  std::uint32_t stall_percent = 0;
  std::uint64_t commands = 0;  ///< Of run().

 private:
  using Words = std::array<std::uint32_t, 18>;
  static constexpr std::uint64_t kPatience = 8 * kEntries;

  static void put(BitWriter<12>& bits, const nic::TagHeader& header) {
    bits.put(header.value, 64);
    bits.put(header.template_id, 32);
    bits.put(header.channel, 32);
  }
  [[nodiscard]] nic::TagHeader header_at(unsigned at) {
    return {static_cast<std::uint32_t>(bits_at(bench_->answer_o, at + 96, 32)),
            static_cast<std::uint32_t>(bits_at(bench_->answer_o, at + 64, 32)), bits_at(bench_->answer_o, at, 64)};
  }
  [[nodiscard]] Answer seen() {
    Answer answer;
    unsigned at = 0;
    answer.record.id = bits_at(bench_->answer_o, at, 64);
    answer.record.header = header_at(at += 64);
    answer.stamp = bits_at(bench_->answer_o, at += 128, protocol::kTagStampBits);
    const nic::TagHeader mask = header_at(at += protocol::kTagStampBits);
    answer.receive.mask = {mask.channel, mask.template_id, mask.value};
    answer.receive.wanted = header_at(at += 128);
    answer.receive.id = bits_at(bench_->answer_o, at += 128, 64);
    answer.receive.is_persistent = bits_at(bench_->answer_o, at += 64, 1) != 0;
    answer.last = bits_at(bench_->answer_o, at += 1, 1) != 0;
    answer.kind = bits_at(bench_->answer_o, at += 1, 3);
    answer.cycles = shown_at_.value_or(bench_.cycles()) - taken_at_;
    return answer;
  }
  [[nodiscard]] Words words() {
    Words all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = bench_->answer_o[i];
    return all;
  }
  void step() {
    if (bench_->valid_o == 0) {
      shown_at_.reset();
    } else if (!shown_at_) {
      shown_at_ = bench_.cycles();
      shown_ = words();
    } else if (shown_ != words()) {
      throw std::runtime_error("an answer changes before it is taken");
    }
    if (bench_->valid_o != 0 && bench_->ready_i != 0) shown_at_.reset();
    bench_.step();
  }

  Bench<Model> bench_;
  std::vector<Answer> answers_;
  std::uint64_t taken_at_ = 0;
  std::optional<std::uint64_t> shown_at_;
  Words shown_{};
};

/// The unit as `nic::TagUnit`. Its clock gives the stamps.
template <class Model>
class HardwareUnit : public nic::TagUnit {
 public:
  explicit HardwareUnit(std::shared_ptr<Driver<Model>> driver) : driver_(std::move(driver)) {}

  [[nodiscard]] std::size_t receives() const noexcept override { return driver_->receives(); }
  [[nodiscard]] std::size_t unexpected() const noexcept override { return driver_->records(); }

  [[nodiscard]] nic::PostResult post(const nic::TagReceive& receive, std::uint64_t, nic::TagSink& sink) override {
    const auto& answers = driver_->run(command_of(protocol::kTagPost, receive));
    for (const Answer& answer : answers) {
      if (answer.kind == protocol::kTagAnswerRecord) sink.matched(receive, answer.record);
    }
    switch (answers.back().kind) {
      case protocol::kTagAnswerRecord: return nic::PostResult::Served;
      case protocol::kTagAnswerStored: return nic::PostResult::Posted;
      case protocol::kTagAnswerFull: return nic::PostResult::Full;
      default: throw std::runtime_error("a wrong answer to a post");
    }
  }
  [[nodiscard]] Arrival arrive(const nic::TagRecord& record, std::uint64_t) override {
    const Answer& answer = driver_->run(command_of(protocol::kTagArrive, record)).back();
    switch (answer.kind) {
      case protocol::kTagAnswerMatched: return {answer.receive, false};
      case protocol::kTagAnswerStored: return {};
      case protocol::kTagAnswerFull: return {std::nullopt, true};
      default: throw std::runtime_error("a wrong answer to a record");
    }
  }
  [[nodiscard]] std::optional<nic::TagReceive> take_receive(const nic::TagHeader& header) override {
    const Answer& answer = driver_->run(command_of(protocol::kTagServe, nic::TagRecord{header, 0})).back();
    if (is_none(answer, protocol::kTagAnswerMatched)) return std::nullopt;
    return answer.receive;
  }
  [[nodiscard]] std::optional<nic::TagRecord> take_record(const nic::TagReceive& receive) override {
    return find(receive, false);
  }
  [[nodiscard]] std::optional<nic::TagRecord> find_record(const nic::TagReceive& receive) const override {
    return find(receive, true);
  }
  bool cancel(std::uint64_t id) override {
    Command command;
    command.operation = protocol::kTagCancel;
    command.id = id;
    const Answer& answer = driver_->run(command).back();
    return !is_none(answer, protocol::kTagAnswerReceive) && answer.receive.id == id;
  }
  void store(const nic::TagReceive& receive, std::uint64_t stamp) override {
    Command command = command_of(protocol::kTagLoad, receive);
    command.stamp = stamp;
    load(command);
  }
  void store(const nic::TagRecord& record, std::uint64_t) override { load(command_of(protocol::kTagLoad, record)); }
  void dump(std::vector<nic::Stamped<nic::TagReceive>>& receives,
            std::vector<nic::Stamped<nic::TagRecord>>& records) override {
    Command command;
    command.operation = protocol::kTagDump;
    const auto first = static_cast<std::ptrdiff_t>(receives.size());
    for (const Answer& answer : driver_->run(command)) {
      if (answer.kind == protocol::kTagAnswerReceive) receives.push_back({answer.receive, answer.stamp});
      if (answer.kind == protocol::kTagAnswerRecord) records.push_back({answer.record, 0});
    }
    std::sort(receives.begin() + first, receives.end(), [](const auto& a, const auto& b) { return a.stamp < b.stamp; });
  }

 private:
  static bool is_none(const Answer& answer, std::uint64_t otherwise) {
    if (answer.kind == protocol::kTagAnswerNone) return true;
    if (answer.kind != otherwise) throw std::runtime_error("a wrong answer");
    return false;
  }
  [[nodiscard]] std::optional<nic::TagRecord> find(nic::TagReceive receive, bool stays) const {
    receive.is_persistent = stays;
    const Answer& answer = driver_->run(command_of(protocol::kTagFind, receive)).back();
    if (is_none(answer, protocol::kTagAnswerRecord)) return std::nullopt;
    return answer.record;
  }
  void load(const Command& command) {
    if (driver_->run(command).back().kind != protocol::kTagAnswerStored) throw std::runtime_error("not taken back");
  }

  std::shared_ptr<Driver<Model>> driver_;
};

}  // namespace stopbit::sim::tag
