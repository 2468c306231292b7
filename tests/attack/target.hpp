#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/reader.hpp"
#include "decoder/select/make_engine.hpp"
#include "microcode/program.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"
#include "tests/attack/counts.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/guarded_memory.hpp"

namespace stopbit::attack {

using Bytes = std::vector<std::byte>;

struct Feed;

/// The target under attack when something goes wrong.
class Attacked {
 public:
  virtual ~Attacked() = default;
  [[nodiscard]] virtual const Feed& feed() const noexcept = 0;
  /// Its history, as a case.
  [[nodiscard]] virtual std::string history() const = 0;
};

/// The target whose case is kept from now on; null: none.
void attacked_is(const Attacked* attacked) noexcept;

/// A promise is broken: tells what and where, and keeps the case, or else that of what is under attack.
void report(std::string_view promise, std::string_view detail = {}, std::string_view kept_case = {});
/// The same, and ends the program.
[[noreturn]] void fail(std::string_view promise, std::string_view detail = {}, std::string_view kept_case = {});
inline void require(bool holds, std::string_view promise, std::string_view detail = {}) {
  if (!holds) fail(promise, detail);
}

/// Where `fail`, a signal and the sanitizers write the case that failed. Call once, before any attack.
void keep_cases_in(const std::string& folder, std::string_view attack);

/// What an attack runs against.
struct Feed {
  std::string name;
  std::string template_text;          ///< Empty: a kept case has the program's listing.
  templates::CompileOptions options;  ///< Of the template text.
  Program program;                    ///< Verified.
  std::optional<Program> general;     ///< The same without profile programs: what the reference of a duel runs.
  ResetRule reset = ResetRule::Never;
  bool strict = false;
  std::uint16_t channels = 1;
  EngineLimits limits = {};
  bool is_traced = false;  ///< Every datagram goes through the engine that tells what it does, too.
};

/// What an engine for the feed is made with.
[[nodiscard]] EngineOptions engine_options(const Feed& feed);

/// An input of an engine: a datagram for a channel, or a reset of it.
struct Move {
  std::uint16_t channel = 0;
  bool is_reset = false;
  Bytes bytes;
};

/// As a case file.
[[nodiscard]] std::string case_text(const Feed& feed, std::span<const Move> moves);
[[nodiscard]] std::string case_text(const Feed& feed, std::span<const Bytes> datagrams);

/// The place an engine writes to: one record, exactly as long as the program allows, with old junk in front. Reads each
/// record as a reader of a ring would; allocates nothing after it is made.
class CheckingSink final : public record::RecordSink {
 public:
  CheckingSink(const Program& program, const record::Schema& schema);

  [[nodiscard]] Place open() noexcept override;
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;

  /// Forgets the records seen.
  void clear() noexcept {
    messages = events = 0;
    digest = 0;
  }

  std::uint32_t messages = 0;
  std::uint32_t events = 0;
  std::uint64_t digest = 0;  ///< Of every word of every record.

 private:
  std::size_t max_slots_;
  std::unique_ptr<record::Slot[]> place_;
  record::Reader reader_;
};

/// An engine under attack. Every datagram goes through `attack` or `decode`, which check what is promised for any
/// bytes: an outcome with a named error or none, inside the datagram; no allocation; instructions within the verifier's
/// bound; a record per message and an event per error, each readable; and every other engine, and one that is watched,
/// do the same.
class Watcher;
class Target final : public Attacked {
 public:
  /// The feed must outlive the target. `costs` as verify::check gave them for its program.
  Target(const Feed& feed, const std::vector<verify::TemplateCost>& costs, Counts& counts);
  ~Target() override;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] const Feed& feed() const noexcept override { return feed_; }

  /// An attack: counted.
  Outcome attack(std::span<const std::byte> datagram) {
    const Outcome outcome = decode(datagram);
    counts_.add(outcome);
    return outcome;
  }
  /// Everything that is checked and not counted.
  Outcome decode(std::span<const std::byte> datagram);
  void reset();

  /// Of the records of the last datagram.
  [[nodiscard]] std::uint64_t digest() const noexcept { return sink_.digest; }

  /// The datagrams since the last reset, as a case.
  [[nodiscard]] std::string history() const override {
    return case_text(feed_, std::span(history_).first(history_size_));
  }

 private:
  void compare_with_others(std::span<const std::byte> datagram, const Outcome& outcome);
  void compare_with_traced(std::span<const std::byte> datagram, const Outcome& outcome);
  std::span<const std::byte> exact_copy(std::span<const std::byte> datagram);
  [[nodiscard]] std::uint64_t bound(std::size_t bytes);

  const Feed& feed_;
  const std::vector<verify::TemplateCost>& costs_;
  Counts& counts_;
  record::Schema schema_;
  CheckingSink sink_;
  std::vector<cases::TestedEngine> engines_;  ///< The first is the reference.
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Engine> traced_engine_;             ///< Null if the feed does not ask for it.
  std::vector<std::unique_ptr<std::byte[]>> copies_;  ///< By size: memory of exactly that size.
  cases::GuardedMemory guarded_;                      ///< Where the other engines find the datagram.
  std::vector<std::uint64_t> bounds_;                 ///< By size, 0 = not yet known.
  std::vector<Bytes> history_;                        ///< [0, history_size_) are since the last reset.
  std::size_t history_size_ = 0;
};

}  // namespace stopbit::attack
