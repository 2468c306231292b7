#include "host/cli/common/stream_copy.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "decoder/record/views.hpp"
#include "host/cli/common/event_printer.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/market/event/sbe.hpp"
#include "host/os/clock.hpp"
#include "host/ring/writer.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t kWaitMs = 20;
constexpr auto kRetryNap = 5ms;
constexpr auto kLineNap = 200us;

/// Verified: a stream comes from anywhere.
Program program_of(std::span<const std::byte> image, const std::string& name) {
  Program program = image_from({reinterpret_cast<const char*>(image.data()), image.size()}, name);
  require_verified(program, name);
  return program;
}

/// Prints each record as soon as it is whole.
class PrintingSink final : public relay::StreamSink, public record::RecordSink {
 public:
  /// Leaves out what is before the first record of `since_ns` or later.
  PrintingSink(RingsPrinter& rings, std::string name, std::uint64_t since_ns)
      : rings_(rings), name_(std::move(name)), since_ns_(since_ns) {}

  Result<relay::StreamSink::Place> begin_ring(const relay::Head& /*head*/, std::span<const std::byte> image) override {
    slots_.resize(std::max<std::size_t>(program_of(image, name_).max_record_slots, 1));
    schema_ = rings_.begin(image, name_);
    return relay::StreamSink::Place{this, static_cast<std::uint32_t>(slots_.size())};
  }
  void end_ring(relay::Ending ending) override {
    rings_.printer().flush();
    has_died_ = ending != relay::Ending::Finished;
  }

  record::RecordSink::Place open() noexcept override { return {slots_.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    if (record::HeaderView(first).arrival_ns() < since_ns_) return;
    since_ns_ = 0;
    slots_.front() = first;
    rings_.printer().print({slots_.data(), slots}, schema_);
  }
  [[nodiscard]] bool has_died() const noexcept { return has_died_; }

 private:
  RingsPrinter& rings_;
  std::string name_;
  std::uint64_t since_ns_;
  std::vector<record::Slot> slots_;
  std::size_t schema_ = 0;
  bool has_died_ = false;  ///< The writer of the last ring.
};

/// Makes a ring of this host for each ring of the stream.
class RingSink final : public relay::StreamSink {
 public:
  RingSink(std::string ring, std::string name, bool is_lossless)
      : ring_(std::move(ring)), name_(std::move(name)), is_lossless_(is_lossless) {}

  Result<relay::StreamSink::Place> begin_ring(const relay::Head& /*head*/, std::span<const std::byte> image) override {
    const Program program = program_of(image, name_);
    const std::uint64_t least = std::uint64_t{program.max_record_slots} * ring::kMaxRecordShare;
    ring::WriterOptions options;
    options.slot_count = std::bit_ceil(std::max(ring::kDefaultSlotCount, least));
    options.origin = ring::Origin::Copy;
    options.spares_originals = true;
    if (is_lossless_) options.lossless.emplace().keep_waiting = [] { return !stop_requested(); };
    writer_.reset();
    Result<ring::Writer> made = ring::Writer::create(ring_, program, options);
    if (!made) return Failure{made.message()};
    writer_.emplace(std::move(made).value());
    if (is_lossless_) (void)writer_->wait_for_readers(1);
    return relay::StreamSink::Place{&*writer_, program.max_record_slots};
  }
  void end_ring(relay::Ending /*ending*/) override { writer_->finish(); }
  /// After each step: a copy that is busy lives, too.
  void beat(bool is_idle) noexcept {
    constexpr std::uint64_t kEveryNs = 100'000'000;
    const std::uint64_t now = os::wall_clock_ns();
    if (!writer_ || (!is_idle && now - beat_ns_ < kEveryNs)) return;
    writer_->beat(now);
    beat_ns_ = now;
  }

 private:
  std::uint64_t beat_ns_ = 0;
  std::string ring_;
  std::string name_;
  bool is_lossless_;
  std::optional<ring::Writer> writer_;
};

/// Reads until the stream ends, a signal comes, or `each` returns false. It gets true if nothing has arrived.
template <class Each>
int read_stream(const StreamCopy& copy, relay::StreamSink& sink, const Each& each) {
  relay::Follower follower(*copy.stream, sink, copy.options, [&](const std::string& line) {
    print_stderr("stopbit: {}: {}\n", printable(copy.address), printable(line));
  });
  while (!stop_requested()) {
    const relay::Follower::State state = follower.step(os::monotonic_clock_ns(), kWaitMs);
    if (state == relay::Follower::State::Failed) {
      const auto& [kind, message] = follower.problem();
      throw ToolError(kind == relay::StoreFailure::Kind::Refused ? kExitRejected : kExitEnvironment, message);
    }
    const bool is_idle = state != relay::Follower::State::Busy;
    if (!each(is_idle) || state == relay::Follower::State::Done) break;
    if (is_idle && !follower.has_session()) std::this_thread::sleep_for(kRetryNap);
  }
  const relay::FollowerCounts& counts = follower.counts();
  if (counts.is_complete()) return kExitDone;
  print_stderr("stopbit: {}: {} records read, {} lost{}; {} messages repeated, {} damaged\n", printable(copy.address),
               counts.records, counts.lost, counts.unknown_losses == 0 ? "" : " and an unknown number more",
               counts.repeated, counts.damaged);
  return kExitRejected;
}

/// Prints market events, with the keys that come with them.
class PrintingEvents final : public multicast::EventSink {
 public:
  PrintingEvents(Format format, Content content) : format_(format), content_(content) {}

  void event(const market::SbeEvent& event) override {
    if (content_ == Content::Records) throw ToolError(kExitUsage, "--records: the lines carry market events");
    if (!prints_events(format_)) {
      throw ToolError(kExitUsage, "--format: market events are printed as jsonl, csv or sbe");
    }
    if (!out_) {
      out_.emplace(Output::open("-"));
      out_->write(EventPrinter::title(format_));
    }
    key_.clear();
    if (format_ == Format::Sbe || event.key.empty()) {
      key_ = event.key;
    } else if (format_ == Format::Csv) {
      std::string text;
      record::append_utf8(text, event.key, false);
      record::append_csv_cell(key_, text);
    } else {
      key_ = json(event.key);
    }
    const market::EventNames names{.instrument = key_, .quantity_decimals = event.quantity_decimals};
    switch (format_) {
      case Format::Csv: market::append_csv(event.event, out_->buffer(), names); break;
      case Format::Sbe: market::append_sbe(event.event, out_->buffer(), names); break;
      default: market::append_json(event.event, out_->buffer(), names);
    }
    out_->flush_if_full();
  }
  void flush() {
    if (out_) out_->flush();
  }
  void close() {
    if (out_) out_->close();
  }

 private:
  Format format_;
  Content content_;
  std::optional<Output> out_;
  std::string key_;
};

/// For --events.
class NoRecords final : public relay::StreamSink {
 public:
  Result<relay::StreamSink::Place> begin_ring(const relay::Head& /*head*/,
                                              std::span<const std::byte> /*image*/) override {
    throw ToolError(kExitUsage, "--events: the lines carry records");
  }
  void end_ring(relay::Ending /*ending*/) override {}
};

/// A ring of them needs tables beside it, which the lines do not carry.
class NoEvents final : public multicast::EventSink {
 public:
  void event(const market::SbeEvent& /*event*/) override {
    throw ToolError(kExitRejected,
                    "the lines carry market events, which are printed by `stopbit tail`; a ring of them would need the "
                    "tables of instruments and states");
  }
};

/// Reads until the ring ends, a signal comes, or `each` returns false. It gets true if nothing has arrived.
template <class Each>
int read_lines(const MulticastCopy& copy, relay::StreamSink& records, multicast::EventSink& events, const Each& each) {
  auto receiver = multicast::Receiver::open(copy.options, records, events, [&](const std::string& line) {
    print_stderr("stopbit: {}: {}\n", printable(copy.address), printable(line));
  });
  if (!receiver) throw ToolError(kExitEnvironment, receiver.message());
  while (!stop_requested()) {
    const auto state = receiver.value()->step(os::monotonic_clock_ns(), os::wall_clock_ns());
    if (state == multicast::Receiver::State::Failed) {
      throw ToolError(kExitEnvironment, printable(copy.address) + ": " + printable(receiver.value()->problem()));
    }
    const bool is_idle = state != multicast::Receiver::State::Busy;
    if (!each(is_idle) || state == multicast::Receiver::State::Done) break;
    if (is_idle) std::this_thread::sleep_for(kLineNap);
  }
  const multicast::ReceiverCounts& counts = receiver.value()->counts();
  if (counts.missing + counts.malformed + counts.refilled != 0 || !counts.is_complete()) {
    print_stderr(
        "stopbit: {}: {} records read, {} lost; {} packets missing, {} refilled, {} datagrams malformed, {} "
        "packets damaged\n",
        printable(copy.address), counts.records, counts.lost, counts.missing, counts.refilled, counts.malformed,
        counts.damaged);
  }
  return counts.is_complete() ? kExitDone : kExitRejected;
}

}  // namespace

int print_multicast(const MulticastCopy& copy, RingsPrinter& rings, Format format, Content content) {
  PrintingSink sink(rings, printable(copy.address), 0);
  NoRecords no_records;
  PrintingEvents events(format, content);
  relay::StreamSink& records = content == Content::Events ? static_cast<relay::StreamSink&>(no_records) : sink;
  const int status = read_lines(copy, records, events, [&](bool is_idle) {
    if (is_idle && rings.has_begun()) rings.printer().flush();
    if (is_idle) events.flush();
    return !rings.has_begun() || !rings.printer().failed();
  });
  events.close();
  if (status != kExitDone || !sink.has_died()) return status;
  print_stderr("stopbit: {}: the ring's writer died\n", printable(copy.address));
  return kExitEnvironment;
}

int copy_multicast(const MulticastCopy& copy, const std::string& ring) {
  RingSink sink(ring, printable(copy.address), false);
  NoEvents events;
  return read_lines(copy, sink, events, [&](bool is_idle) {
    sink.beat(is_idle);
    return true;
  });
}

int print_stream(const StreamCopy& copy, RingsPrinter& rings) {
  PrintingSink sink(rings, printable(copy.address), copy.options.start.time_ns);
  const int status = read_stream(copy, sink, [&](bool is_idle) {
    if (is_idle && rings.has_begun()) rings.printer().flush();
    return !rings.has_begun() || !rings.printer().failed();
  });
  if (status != kExitDone || !sink.has_died()) return status;
  print_stderr("stopbit: {}: the ring's writer died\n", printable(copy.address));
  return kExitEnvironment;
}

int copy_stream(const StreamCopy& copy, const std::string& ring, bool is_lossless) {
  RingSink sink(ring, printable(copy.address), is_lossless);
  return read_stream(copy, sink, [&](bool is_idle) {
    sink.beat(is_idle);
    return true;
  });
}

}  // namespace stopbit::tools
