#include "host/lab/venue/venue.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <queue>
#include <utility>

#include "host/feed/framing/framing.hpp"
#include "host/lab/simulate/writer.hpp"
#include "host/ports/out/datagrams.hpp"
#include "microcode/base/time.hpp"
#include "templates/compiler.hpp"

namespace stopbit::venue {
namespace {

enum class What : std::uint8_t {
  Update,
  Burst,
  BurstPacket,
  Snapshot,
  Definition,
  Alive,
  Phase,
  ResetNumbers,
  ResetBooks,
  Failover,
};

struct Moment {
  std::uint64_t time_ns = 0;
  std::uint64_t order = 0;  ///< Of those at the same time: first come, first served.
  What what = What::Update;
  std::uint64_t of = 0;  ///< BurstPacket: how many follow. Phase: which.

  bool operator>(const Moment& other) const {
    return std::pair(time_ns, order) > std::pair(other.time_ns, other.order);
  }
};

struct SentStream {
  net::Framing framing;
  std::unique_ptr<simulate::Writer> writer;
  std::uint64_t sequence = 0;  ///< The last one used.
  std::uint64_t last_ns = 0;
};

class VenueModel final : public Venue, private Post {
 public:
  VenueModel(const simulate::Settings& settings, const MarketSettings& market)
      : settings_(settings), market_(market), random_(settings.seed), voice_(make_voice(floor_, *this, market_)) {}

  Status prepare(Diagnostics& diagnostics) {
    auto source =
        std::make_shared<SourceBuffer>(std::string(voice_->templates_name()), std::string(voice_->templates()));
    auto program = templates::compile({std::move(source)}, {}, diagnostics);
    if (!program) return Failure{"its templates are faulty"};
    program_ = std::make_unique<const Program>(std::move(*program));
    const Result<record::Schema> schema = record::Schema::make(*program_);
    if (!schema) return Failure{schema.message()};
    for (const StreamPlan& plan : voice_->streams()) {
      SentStream& stream = streams_.emplace_back();
      stream.framing = net::parse_framing(plan.framing).value();
      stream.writer = std::make_unique<simulate::Writer>(*program_, schema.value(), stream.framing.reset);
    }
    open();
    return Done{};
  }

  bool next(Packet& packet) override {
    while (ready_.empty() && fault_.empty() && !moments_.empty()) {
      const Moment moment = moments_.top();
      moments_.pop();
      if (moment.time_ns >= settings_.start_ns + settings_.duration_ns) continue;
      floor_.time_ns = moment.time_ns;
      handle(moment);
    }
    if (ready_.empty() || !fault_.empty()) return false;
    packet = std::move(ready_.front());
    ready_.pop_front();
    return true;
  }
  const std::string& fault() const noexcept override { return fault_; }
  std::span<const Instrument> instruments() const noexcept override { return floor_.instruments; }
  const Voice& voice() const noexcept override { return *voice_; }

 private:
  void open() {
    floor_.time_ns = settings_.start_ns;
    for (std::uint64_t i = 0; i < settings_.products; ++i) floor_.products.push_back({.id = 500 + i});
    of_product_.resize(settings_.products);
    for (std::uint64_t i = 0; i < settings_.instruments; ++i) {
      Instrument& instrument = floor_.instruments.emplace_back();
      instrument.id = 100'001 + i;
      instrument.product = i % settings_.products;
      of_product_[instrument.product].push_back(i);
      // "AAAA", "BAAA", ...
      for (std::uint64_t rest = i, letters = 0; letters < 4; ++letters, rest /= 26) {
        instrument.symbol += static_cast<char>('A' + rest % 26);
      }
      instrument.key = voice_->key(instrument);
      instrument.trading = Trading(static_cast<std::int64_t>(5'000 + random_.below(20'000)), market_.orders);
    }
    // One sleeps for half of the time: a book that has had no entry yet.
    if (settings_.instruments >= 4) {
      floor_.instruments.back().wakes_ns = settings_.start_ns + settings_.duration_ns / 2;
    }
    plan();
  }

  void plan() {
    const std::uint64_t start = settings_.start_ns;
    const bool has_first = std::any_of(market_.phases.begin(), market_.phases.end(),
                                       [](const simulate::PhaseMoment& one) { return one.at_ns == 0; });
    if (!has_first) add(start, What::Phase, static_cast<std::uint64_t>(Phase::Open));
    for (const simulate::PhaseMoment& one : market_.phases) {
      add(start + one.at_ns, What::Phase, static_cast<std::uint64_t>(one.phase));
    }
    add(start, What::Update);
    if (settings_.snapshot_every_ns != 0) add(start, What::Snapshot);
    if (market_.definitions_every_ns != 0) add(start, What::Definition);
    if (settings_.heartbeat_every_ns != 0) add(start + settings_.heartbeat_every_ns, What::Alive);
    if (settings_.burst_every_ns != 0) add(start + settings_.burst_every_ns, What::Burst);
    for (const simulate::Moment& one : settings_.resets) {
      add(start + one.at_ns, one.empties_books ? What::ResetBooks : What::ResetNumbers);
    }
    for (const simulate::Moment& one : settings_.failovers) add(start + one.at_ns, What::Failover);
  }

  void add(std::uint64_t time_ns, What what, std::uint64_t of = 0) { moments_.push({time_ns, order_++, what, of}); }
  void add_after(std::uint64_t wait_ns, What what, std::uint64_t of = 0) {
    add(floor_.time_ns + std::max<std::uint64_t>(1, wait_ns), what, of);
  }
  [[nodiscard]] bool is_quiet() const { return floor_.time_ns < quiet_until_ns_; }

  void handle(const Moment& moment) {
    switch (moment.what) {
      case What::Update: {
        if (!is_quiet()) update();
        // Between half and one and a half of the mean.
        const auto mean = static_cast<std::uint64_t>(static_cast<double>(kNsPerSecond) / settings_.rate);
        return add_after(mean / 2 + random_.below(mean + 1), What::Update);
      }
      case What::Burst:
        add_after(1, What::BurstPacket, settings_.burst_packets - 1);
        return add_after(settings_.burst_every_ns, What::Burst);
      case What::BurstPacket:
        if (!is_quiet()) update();
        if (moment.of != 0) add_after(settings_.burst_gap_ns, What::BurstPacket, moment.of - 1);
        return;
      case What::Snapshot: return snapshot();
      case What::Definition: return definition();
      case What::Alive: return alive();
      case What::Phase: return change_phase(static_cast<Phase>(moment.of));
      case What::ResetNumbers:
      case What::ResetBooks:
        next_snapshot_ = next_definition_ = 0;
        voice_->reset(moment.what == What::ResetBooks);
        if (moment.what == What::ResetNumbers) quiet_until_ns_ = floor_.time_ns + voice_->pause_ns();
        return;
      case What::Failover:
        next_snapshot_ = 0;
        from_backup_ = !from_backup_;
        return voice_->fail_over();
    }
  }

  // What happens.

  void update() {
    if (random_.below(20) == 0) return voice_->say_other(floor_.instruments[random_.below(floor_.instruments.size())]);
    if (floor_.phase != Phase::Open && floor_.phase != Phase::PreOpen) return;
    const std::uint64_t products = 1 + random_.below(std::min<std::uint64_t>(3, floor_.products.size()));
    const std::uint64_t first = random_.below(floor_.products.size());
    for (std::uint64_t i = 0; i < products; ++i) {
      const std::size_t product = (first + i) % floor_.products.size();
      const std::uint64_t deeds = 1 + random_.below(market_.changes);
      for (std::uint64_t deed = 0; deed < deeds; ++deed) act(pick(product));
      voice_->end_product(product);
    }
    voice_->end_update();
  }
  /// The first ones of a product have the most to do.
  Instrument& pick(std::size_t product) {
    const std::vector<std::size_t>& all = of_product_[product];
    return floor_.instruments[all[std::min(random_.below(all.size()), random_.below(all.size()))]];
  }
  void act(Instrument& instrument) {
    if (floor_.time_ns < instrument.wakes_ns) return;
    voice_->act(instrument, instrument.trading.next(instrument.book, random_, last_order_));
  }

  void change_phase(Phase phase) {
    floor_.phase = phase;
    voice_->say_phase();
    if (phase != Phase::Closed) return;
    // No order outlives the day.
    for (std::size_t product = 0; product < of_product_.size(); ++product) {
      for (const std::size_t index : of_product_[product]) {
        Instrument& instrument = floor_.instruments[index];
        if (!instrument.book.is_empty()) voice_->act(instrument, Deed());
      }
      voice_->end_product(product);
    }
    voice_->end_update();
  }

  void snapshot() {
    const std::size_t all = floor_.instruments.size();
    const std::size_t count = std::min(voice_->snapshots_at_once(), all - next_snapshot_);
    add_after(settings_.snapshot_every_ns / all * count, What::Snapshot);
    if (is_quiet()) return;
    voice_->say_snapshots(std::span(floor_.instruments).subspan(next_snapshot_, count), next_snapshot_ == 0,
                          next_snapshot_ + count == all);
    next_snapshot_ = (next_snapshot_ + count) % all;
  }
  void definition() {
    add_after(market_.definitions_every_ns / floor_.instruments.size(), What::Definition);
    if (is_quiet()) return;
    voice_->say_definition(floor_.instruments[next_definition_], next_definition_ == 0);
    next_definition_ = (next_definition_ + 1) % floor_.instruments.size();
  }
  void alive() {
    for (std::size_t stream = 0; stream < streams_.size() && !is_quiet(); ++stream) {
      if (streams_[stream].last_ns + settings_.heartbeat_every_ns <= floor_.time_ns) voice_->say_alive(stream);
    }
    add_after(settings_.heartbeat_every_ns, What::Alive);
  }

  // Packets.

  void post(std::size_t index, std::span<const std::string> messages) override {
    if (!fault_.empty()) return;
    SentStream& stream = streams_[index];
    std::vector<std::string> first;
    voice_->begin_packet(index, first);
    stream.writer->begin_datagram();
    for (const std::string& message : first) encode(stream, message);
    for (const std::string& message : messages) encode(stream, message);
    if (!fault_.empty()) return;
    const std::span<const std::byte> data = stream.writer->data();
    if (stream.writer->owed_bytes() != 0 || data.size() > egress::max_data_bytes(stream.framing)) {
      fault_ = "a packet of the stream " + std::string(voice_->streams()[index].name) +
               " has a length that no decoder accepts";
      return;
    }
    stream.last_ns = floor_.time_ns;
    Packet& packet = ready_.emplace_back();
    packet.time_ns = floor_.time_ns;
    packet.stream = index;
    packet.sequence = ++stream.sequence;
    packet.from_backup = from_backup_;
    packet.messages = first.size() + messages.size();
    packet.datagrams = egress::make_datagrams(stream.framing, data, packet.sequence, voice_->max_payload());
    if (index == kIncrements) tell_truth(packet);
  }
  [[nodiscard]] std::uint64_t next(std::size_t stream) const override { return streams_[stream].sequence + 1; }
  void restart(std::size_t stream) override { streams_[stream].sequence = 0; }

  void encode(SentStream& stream, const std::string& message) {
    if (!fault_.empty()) return;
    if (const Status added = stream.writer->add(message); !added) fault_ = added.message();
  }
  void tell_truth(Packet& packet) {
    for (std::size_t i = 0; i < floor_.instruments.size(); ++i) {
      Instrument& instrument = floor_.instruments[i];
      if (!std::exchange(instrument.has_changed, false)) continue;
      packet.truth.push_back({.instrument = static_cast<std::uint32_t>(i),
                              .number = voice_->number(instrument),
                              .bids = instrument.book.levels(Side::Bid, voice_->depth()),
                              .asks = instrument.book.levels(Side::Ask, voice_->depth())});
    }
  }

  const simulate::Settings settings_;
  const MarketSettings market_;
  impair::Random random_;
  Floor floor_;
  std::unique_ptr<Voice> voice_;
  std::unique_ptr<const Program> program_;
  std::vector<SentStream> streams_;
  std::vector<std::vector<std::size_t>> of_product_;  ///< Instruments.
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
  std::deque<Packet> ready_;
  std::uint64_t order_ = 0;
  std::uint64_t last_order_ = 0;
  std::uint64_t quiet_until_ns_ = 0;
  std::size_t next_snapshot_ = 0;
  std::size_t next_definition_ = 0;
  bool from_backup_ = false;
  std::string fault_;
};

void append_levels(std::string& text, std::string_view name, const std::vector<Level>& levels) {
  text += ",\"";
  text += name;
  text += "\":[";
  for (const Level& level : levels) {
    if (&level != levels.data()) text += ',';
    text += '[' + std::to_string(level.price / 100) + '.' + std::to_string(100 + level.price % 100).substr(1) + ',' +
            std::to_string(level.size) + ',' + std::to_string(level.orders) + ']';
  }
  text += ']';
}

}  // namespace

std::unique_ptr<Voice> make_voice(Floor& floor, Post& post, const MarketSettings& settings) {
  switch (settings.exchange) {
    case simulate::VenueKind::MoexFx: return make_moex_voice(floor, post, settings);
    case simulate::VenueKind::T7:
    case simulate::VenueKind::T7Mdi: return make_t7_voice(floor, post, settings);
    case simulate::VenueKind::B3: return make_b3_voice(floor, post, settings);
    case simulate::VenueKind::Cme: return make_cme_voice(floor, post, settings);
  }
  return nullptr;
}

std::unique_ptr<Venue> Venue::make(const simulate::Settings& settings, Diagnostics& diagnostics) {
  auto made = std::make_unique<VenueModel>(settings, *settings.market);
  const auto refuse = [&](const std::string& message) {
    diagnostics.error(ErrorCode::None, {}, "the market: " + message);
    return nullptr;
  };
  for (const simulate::Moment& reset : settings.resets) {
    if (!made->voice().can_reset(reset.empties_books)) {
      return refuse(std::string("this exchange never begins the ") + (reset.empties_books ? "books" : "numbers") +
                    " anew, so no [[reset]] can be of them");
    }
  }
  if (!settings.failovers.empty() && !made->voice().can_fail_over()) {
    return refuse("this exchange has no [[failover]]");
  }
  for (const simulate::LineSettings& line : settings.lines) {
    if (line.group.port + made->voice().streams().size() > 65'535)
      return refuse("the ports of its streams exceed 65535");
  }
  if (const Status done = made->prepare(diagnostics); !done) return refuse(done.message());
  return made;
}

std::string truth_line(const Venue& venue, const Packet& packet, const TruthRow& row) {
  std::string text = R"({"channel":0,"sequence":)" + std::to_string(packet.sequence) + R"(,"time":)" +
                     std::to_string(packet.time_ns) + R"(,"instrument":")" + venue.instruments()[row.instrument].key +
                     R"(","number":)" + std::to_string(row.number);
  append_levels(text, "bids", row.bids);
  append_levels(text, "asks", row.asks);
  return text + '}';
}

}  // namespace stopbit::venue
