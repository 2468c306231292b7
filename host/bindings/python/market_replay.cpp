#include "host/bindings/python/market_replay.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/views.hpp"
#include "host/feed/channel/stage.hpp"
#include "host/market/stage/market_stage.hpp"
#include "host/os/shm/read_file.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::python {
namespace {

using consumer::Failed;
using consumer::Fault;

market::Map load_map(const std::string& path, std::optional<std::uint64_t> depth, const Program& program) {
  const auto text = os::read_file(path, market::kMaxMapBytes);
  if (!text) {
    if (text.failure().system_error != 0) throw Failed(text.failure().system_error, path);
    throw Failed(Fault::Input, text.message());
  }
  Diagnostics diagnostics;
  auto source = market::read_map(path, text.value(), diagnostics);
  std::optional<market::Map> map;
  if (source) map = market::compile_map(std::move(*source), program, diagnostics);
  if (!map) throw Failed(Fault::Input, diagnostics.format());
  if (!depth) return std::move(*map);
  if (const Status done = market::set_depth(*map, *depth); !done) {
    throw Failed(Fault::Usage, "depth: " + done.message());
  }
  return std::move(*map);
}

/// Whether records have come to the moment, and gone beyond it.
class Clock {
 public:
  Clock(const Moment& moment, const feed::Description& feed) : moment_(moment) {
    if (!moment.sequence) return;
    if (!moment.channel && feed.channels.size() > 1) {
      throw Failed(Fault::Usage,
                   "at: the feed has several channels, each with its own numbers: give (channel, number)");
    }
    const auto is_it = [&](const feed::Channel& channel) { return channel.number == moment.channel; };
    if (moment.channel && std::none_of(feed.channels.begin(), feed.channels.end(), is_it)) {
      throw Failed(Fault::Usage, "at: the feed has no channel " + std::to_string(*moment.channel));
    }
  }

  /// Whether the record is the first one after the moment.
  [[nodiscard]] bool passes(const record::HeaderView& record) {
    if (has_passed_ || (moment_.sequence && record.channel() != moment_.channel.value_or(record.channel())))
      return false;
    const bool is_after = (moment_.sequence && record.sequence() > *moment_.sequence) ||
                          (moment_.time_ns && record.arrival_ns() > *moment_.time_ns);
    if (is_after && !has_begun_) throw Failed(Fault::Usage, "at: before the first message of the captures");
    has_begun_ = true;
    last_sequence_ = std::max<std::uint64_t>(last_sequence_, record.sequence());
    return has_passed_ = is_after;
  }
  [[nodiscard]] bool has_passed() const noexcept { return has_passed_; }

  void check_end(std::uint64_t last_arrival_ns) const {
    const bool is_too_late = (moment_.sequence && (!has_begun_ || last_sequence_ < *moment_.sequence)) ||
                             (moment_.time_ns && last_arrival_ns < *moment_.time_ns);
    if (!has_passed_ && is_too_late) throw Failed(Fault::Usage, "at: after the end of the captures");
  }

 private:
  Moment moment_;
  bool has_begun_ = false;
  bool has_passed_ = false;
  std::uint64_t last_sequence_ = 0;
};

}  // namespace

MarketReplay::MarketReplay(consumer::FirmwarePtr firmware, std::vector<std::string> captures, consumer::ReplayWish wish,
                           const std::string& map, std::optional<std::uint64_t> depth, std::uint32_t instruments)
    : firmware_(std::move(firmware)),
      captures_(std::move(captures)),
      wish_(std::move(wish)),
      map_(load_map(map, depth, firmware_->program())) {
  if (instruments == 0 || instruments > market::kMaxInstruments) {
    throw Failed(Fault::Usage, "instruments: from 1 to " + std::to_string(market::kMaxInstruments));
  }
  options_.room.instruments = instruments;
  if (wish_.feed == nullptr) {
    wish_.feed = consumer::feed_of_captures(firmware_, captures_, wish_.decode);
    wish_.decode.framing.clear();
    wish_.decode.reset.clear();
    options_.recovery = market::recovery_of_captures(wish_.feed->channels().size());
  } else {
    const std::vector<const feed::Channel*>& taken = wish_.feed->channels();
    options_.recovery.channels = market::plan_channels(wish_.feed->description(), [&](const feed::Channel& channel) {
      return std::find(taken.begin(), taken.end(), &channel) != taken.end();
    });
  }
}

void MarketReplay::run(const Moment& moment, const OnEvent& on_event, const AtMoment& at_moment,
                       const Interrupted& interrupted) {
  Clock clock(moment, wish_.feed->description());
  std::exception_ptr failure;
  std::optional<consumer::CaptureReplay> replay;
  // The engine must not be disturbed: what is thrown waits for its end.
  const auto guarded = [&](const auto& action) {
    if (failure) return;
    try {
      action();
    } catch (...) {
      failure = std::current_exception();
      replay->request_stop();
    }
  };

  record::BufferSink events(1, [&](std::span<const record::Slot> slots) noexcept {
    if (on_event && !clock.has_passed()) guarded([&] { on_event(market::Event::from(slots[0])); });
  });
  auto made = market::EventMaker::prepare(map_, firmware_->program(), options_, events);
  if (!made) throw Failed(Fault::Usage, made.message());
  market::EventMaker& maker = *made.value();
  // Records come here before their events are made.
  record::BufferSink records(firmware_->program().max_record_slots, [&](std::span<const record::Slot> slots) noexcept {
    guarded([&] {
      if (!clock.passes(record::HeaderView(slots[0]))) return;
      maker.translator().finish();
      if (at_moment) at_moment(maker);
      replay->request_stop();
    });
  });
  feed::Stages stages;
  stages.add(std::make_unique<market::MarketStage>(maker.translator()));
  const auto on_progress = [&](const replay::Progress&) {
    if (interrupted && interrupted()) replay->request_stop();
  };
  replay.emplace(firmware_, captures_, wish_, stages.connect(records), on_progress);
  const replay::Summary summary = replay->run();
  if (!failure && !clock.has_passed()) {
    maker.translator().finish();
    guarded([&] {
      if (summary.faults != 0) throw Failed(Fault::Input, summary.problems.back());
      if (!summary.stopped) clock.check_end(summary.last_arrival_ns);
      if (at_moment) at_moment(maker);
    });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stopbit::python
