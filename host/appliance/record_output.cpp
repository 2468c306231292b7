#include "host/appliance/record_output.hpp"

#include <algorithm>

#include "decoder/record/buffer_sink.hpp"
#include "host/market/stage/market_stage.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::appliance {

void RecordOutput::publish() const noexcept {
  if (!load_->events) return;
  const market::EventMaker& maker = load_->events->maker();
  const market::MarketCounts counts = maker.translator().counts();
  const market::BookSet& books = maker.books();
  const MarketCounterSet& counter_set = market_counter_set_;
  counter_set.instruments.set(maker.instruments().count());
  counter_set.books.set(books.defined());
  counter_set.latest.set(books.count_of(market::Standing::Latest));
  counter_set.suspect.set(books.count_of(market::Standing::Suspect));
  counter_set.stale.set(books.count_of(market::Standing::Stale));
  const market::MarketDelays delays = maker.translator().delays();
  counter_set.stale_for_ns.set(delays.stale_ns);
  counter_set.joining_for_ns.set(delays.joining_ns);
  counter_set.cycle_ns.set(delays.cycle_ns);
  counter_set.announced_cycle_ns.set(delays.announced_cycle_ns);
  counter_set.stale_limit_ns.set(plan_.events.recovery.stale_limit_ns());
  std::size_t i = 0;
#define STOPBIT_MARKET_COUNT(member, name, what) counter_set.counts[i++].set(counts.member);
#include "host/market/stage/counts.def"
#undef STOPBIT_MARKET_COUNT
  for (std::size_t fault = 0; fault < market::kFaults; ++fault) {
    counter_set.faults[fault].set(books.faults(static_cast<market::Fault>(fault)));
  }
}

market::SavedHead RecordOutput::saved_head(std::uint64_t now_ns) const noexcept {
  return {.image = load_->layout_hash,
          .map = load_->events->maker().translator().map().source.text_hash ^ plan_.events.depth,
          .ring = fnv1a(plan_.events.ring),
          .saved_ns = now_ns};
}

void RecordOutput::save_some(std::uint32_t budget, std::uint64_t now_ns) noexcept {
  if (!load_->events) return saving_->done();
  if (!saver_.is_running()) {
    saver_.begin();
    saved_ = saved_head(now_ns);
    saved_generation_ = load_->generation;
  }
  if (saved_generation_ != load_->generation) {
    saver_.abandon(*saving_);
  } else {
    const market::EventMaker& maker = load_->events->maker();
    saver_.step(maker.translator(), maker.instruments().count(), saved_, budget, SaveQueue::kMostEntries, *saving_);
  }
  if (!saver_.is_running()) saving_->done();
}

EngineOptions RecordOutput::engine_options(std::size_t rule, std::uint16_t generation) const {
  return {.reset = static_cast<ResetRule>(rule),
          .strict = plan_.strict,
          .channels = plan_.channels,
          .image_generation = generation,
          .limits = plan_.limits};
}

std::size_t RecordOutput::first_rule() const noexcept {
  return static_cast<std::size_t>(std::find(plan_.rules.begin(), plan_.rules.end(), true) - plan_.rules.begin());
}

Result<std::unique_ptr<device::LiveCard>> RecordOutput::receive_on(device::Card& card, const Program& program,
                                                                   std::span<const feed::Channel> channels,
                                                                   const device::LiveOptions& live) const {
  return card.receive(program, engine_options(first_rule(), 0), channels, live);
}

Result<std::string> RecordOutput::why_not_on(device::Card& card, const Program& program) const {
  if (std::count(plan_.rules.begin(), plan_.rules.end(), true) > 1) {
    return std::string("its channels have different reset rules, and a card supports one");
  }
  const Result<std::vector<std::string>> obstacles = card.obstacles(program, engine_options(first_rule(), 0));
  if (!obstacles) return Failure{obstacles.message()};
  std::string out;
  for (const std::string& obstacle : obstacles.value()) out += (out.empty() ? "" : "; ") + obstacle;
  return out;
}

Result<std::unique_ptr<Load>> RecordOutput::prepare(std::string name, std::shared_ptr<const Program> program,
                                                    std::uint16_t generation, std::optional<market::Map> map,
                                                    device::Card* card) const {
  auto load = std::make_unique<Load>();
  load->name = std::move(name);
  load->generation = generation;
  load->layout_hash = layout_hash(*program);
  for (std::size_t rule = 0; rule < load->engines.size(); ++rule) {
    if (!plan_.rules[rule]) continue;
    if (card != nullptr) {
      auto engine = card->run(*program, engine_options(rule, generation));
      if (!engine) return Failure{engine.message()};
      load->on_card = engine.value().get();
      load->engines[rule] = std::move(engine).value();
      continue;
    }
    MadeEngine made = make_engine(*program, engine_options(rule, generation), plan_.engine);
    if (!made.why_not_native.empty())
      load->note = "the interpreter is used instead of native code: " + made.why_not_native;
    load->engines[rule] = std::move(made.engine);
  }
  if (map) {
    market::EventRing::Options options;
    options.name = plan_.events.ring;
    options.ring.slot_count = plan_.events.slots;
    options.ring.image_generation = generation;
    options.ring.lossless = plan_.events.lossless;
    options.room = plan_.events.room;
    options.recovery = plan_.events.recovery;
    options.replaces = load_ ? load_->events.get() : nullptr;
    auto events = market::EventRing::prepare(options, std::move(*map), *program);
    if (!events) return Failure{events.message()};
    load->events = std::move(events).value();
  }
  record::RecordSink* last = nullptr;
  if (plan_.ring.empty()) {
    const auto nothing = [](std::span<const record::Slot>) {};
    load->memory = std::make_unique<record::BufferSink<decltype(nothing)>>(program->max_record_slots, nothing);
    last = load->memory.get();
  } else {
    Result<ring::Writer> ring = ring::Writer::prepare(plan_.ring, *program,
                                                      {.slot_count = plan_.slots,
                                                       .image_generation = generation,
                                                       .lossless = plan_.lossless,
                                                       .replaces = load_ && load_->ring ? &*load_->ring : nullptr});
    if (!ring) return Failure{ring.message()};
    load->ring.emplace(std::move(ring).value());
    last = &*load->ring;
  }
  const Status named = market::take_names(load->ring ? &*load->ring : nullptr, load->events.get());
  if (!named) return Failure{named.message()};
  std::vector<counters::Counter> counts;
  for (const Template& item : program->templates) {
    const auto found = templates_.find(std::string(program->name(item.name)));
    counts.push_back(found != templates_.end() ? found->second : counter_set_.other);
  }
  load->stages.add(std::make_unique<CountingStage>(counter_set_, std::move(counts)));
  if (auto session = feed::SessionStage::make(*program)) {
    load->session = session.get();
    load->stages.add(std::move(session));
  }
  if (load->events) {
    load->stages.add(std::make_unique<market::MarketStage>(load->events->translator(), plan_.events.channels));
  }
  load->sink = &load->stages.connect(*last);
  load->builder = std::make_unique<record::Builder>(*program);
  load->program = std::move(program);
  return load;
}

std::unique_ptr<Load> RecordOutput::start(std::unique_ptr<Load> load, std::uint64_t now_ns) noexcept {
  if (load_) {
    load_->builder->write_event(*load_->sink, {.arrival_ns = now_ns, .image_generation = load_->generation},
                                {.kind = record::EventKind::LayoutChanged}, 0);
    finish();
  }
  std::swap(load_, load);
  if (load && load->events && load_->events) load_->events->translator().continue_eras(load->events->translator());
  for (std::size_t rule = 0; rule < targets_.size(); ++rule) {
    targets_[rule] = {.engine = load_->engines[rule].get(),
                      .sink = load_->sink,
                      .builder = load_->builder.get(),
                      .image_generation = load_->generation,
                      .session = load_->session};
  }
  counter_set_.generation.set(load_->generation);
  counter_set_.layout_hash.set(load_->layout_hash);
  counter_set_.image.set(load_->name);
  return load;
}

}  // namespace stopbit::appliance
