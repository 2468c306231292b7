#include "host/lab/simulate/exchange.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "host/lab/impair/random.hpp"
#include "host/lab/simulate/lines.hpp"
#include "host/lab/simulate/writer.hpp"
#include "host/ports/out/datagrams.hpp"
#include "microcode/base/time.hpp"
#include "templates/compiler.hpp"

namespace stopbit::simulate {
namespace {

constexpr std::uint64_t kChunkGapNs = 1'000;

/// The instruments of a channel.
struct Instrument {
  std::uint64_t id = 0;
  std::string symbol;
  std::uint64_t product = 0;  ///< Index.
  std::uint64_t price = 0;    ///< Between the best bid and offer, in hundredths.
  std::uint64_t report = 0;   ///< RptSeq of the last change.
};

/// A stream model with what its templates became.
struct CompiledModel {
  const StreamModel* model = nullptr;
  std::unique_ptr<const Program> program;
  std::optional<record::Schema> schema;
};

struct Stream {
  StreamReport report;
  const CompiledModel* compiled = nullptr;
  std::unique_ptr<Writer> writer;
  std::size_t line = 0;        ///< Of Lines.
  std::uint64_t sequence = 0;  ///< The last one used.
  std::uint64_t last_time_ns = 0;

  [[nodiscard]] const StreamModel& model() const { return *compiled->model; }
};

struct Channel {
  std::uint64_t number = 0;  ///< From 1.
  std::vector<Stream> streams;
  std::vector<Instrument> instruments;
  std::vector<std::uint64_t> product_messages;  ///< Last number of a message, by product.
  std::uint64_t sender = 1;
  bool on_backup = false;
  std::size_t next_snapshot = 0;  ///< Instrument.
};

enum class EventKind : std::uint8_t { Update, Burst, BurstPacket, Snapshot, Heartbeat, Reset, Failover };

struct Event {
  std::uint64_t time_ns = 0;
  std::uint64_t order = 0;  ///< Of events at the same time: first come, first served.
  EventKind kind = EventKind::Update;
  std::size_t channel = 0;
  std::uint64_t left = 0;  ///< BurstPacket: how many follow.

  bool operator>(const Event& other) const { return std::pair(time_ns, order) > std::pair(other.time_ns, other.order); }
};

using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

class Box final : public Exchange {
 public:
  Box(const Settings& settings, const Preset& preset, std::vector<CompiledModel> models)
      : settings_(settings), preset_(preset), models_(std::move(models)), random_(settings.seed), lines_(settings) {
    // The models point into the preset that was given; ours is a copy.
    for (std::size_t i = 0; i < models_.size(); ++i) models_[i].model = &preset_.streams[i];
    for (std::uint64_t number = 1; number <= settings.channels; ++number) channels_.push_back(make_channel(number));
    for (std::size_t i = 0; i < channels_.size(); ++i) schedule_start(i);
  }

  /// Writes every message once, without a trace. Fails with what cannot be encoded.
  Status rehearse() {
    Channel& channel = channels_.front();
    for (Stream& stream : channel.streams) {
      const StreamModel& model = stream.model();
      const std::array trials = {std::pair("update", &model.update), std::pair("trade", &model.trade),
                                 std::pair("heartbeat", &model.heartbeat), std::pair("reset", &model.reset),
                                 std::pair("snapshot", &model.snapshot)};
      for (const auto& [name, pattern] : trials) {
        if (pattern->empty()) continue;
        Facts facts = facts_of(channel, stream, settings_.start_ns);
        tell(channel, channel.instruments[0], facts);
        fill_level(channel.instruments[0], facts, 1, 0);
        facts.first = facts.final = true;
        std::string entry;
        (model.snapshot.empty() || pattern != &model.snapshot ? model.entry : model.level).write(facts, entry);
        facts.entries = entry;
        begin_packet(stream, facts);
        add_message(stream, *pattern, facts);
        if (!fault_.empty()) return Failure{std::string(role_text(model.role)) + " stream, " + name + ": " + fault_};
      }
      stream.report.messages = 0;
    }
    return Done{};
  }

  bool next(Sent& sent) override {
    while (fault_.empty() && may_come_earlier()) advance();
    if (!lines_.next_time() || !fault_.empty()) return false;
    sent = lines_.take();
    return true;
  }

  const std::string& fault() const noexcept override { return fault_; }

  std::vector<StreamReport> report() const override {
    std::vector<StreamReport> reports;
    for (const Channel& channel : channels_) {
      for (const Stream& stream : channel.streams) {
        reports.push_back(stream.report);
        reports.back().last_sequence = stream.sequence;
        reports.back().impaired = lines_.impaired(stream.line);
      }
    }
    return reports;
  }

 private:
  Channel make_channel(std::uint64_t number) {
    Channel channel;
    channel.number = number;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      Stream stream;
      stream.compiled = &models_[i];
      const StreamModel& model = stream.model();
      stream.writer = std::make_unique<Writer>(*models_[i].program, *models_[i].schema, model.framing.reset);
      stream.report.channel = number;
      stream.report.role = model.role;
      stream.report.framing = model.framing.name;
      stream.report.templates = model.templates_name;
      stream.report.groups = Lines::groups(settings_, (number - 1) * models_.size() + i);
      channel.streams.push_back(std::move(stream));
    }
    for (Stream& stream : channel.streams) {
      stream.line = lines_.add(stream.report.groups, skew_of(stream), is_impaired(settings_) ? random_.next() : 0);
    }
    for (std::uint64_t i = 0; i < settings_.instruments; ++i) {
      Instrument& instrument = channel.instruments.emplace_back();
      instrument.id = number * 100'000 + i + 1;
      instrument.product = i % settings_.products;
      instrument.price = 5'000 + random_.below(20'000);
      // "AAAA", "BAAA", ...
      for (std::uint64_t rest = i, letters = 0; letters < 4; ++letters, rest /= 26) {
        instrument.symbol += static_cast<char>('A' + rest % 26);
      }
    }
    channel.product_messages.resize(settings_.products);
    return channel;
  }

  [[nodiscard]] std::uint64_t skew_of(const Stream& stream) const {
    return stream.model().role == Role::Carousel ? settings_.carousel_skew_ns : settings_.skew_ns;
  }

  void schedule(std::uint64_t time_ns, EventKind kind, std::size_t channel, std::uint64_t left = 0) {
    events_.push({time_ns, order_++, kind, channel, left});
  }

  void schedule_start(std::size_t channel) {
    const std::uint64_t start = settings_.start_ns;
    schedule(start, EventKind::Update, channel);
    if (settings_.snapshot_every_ns != 0 && snapshot_stream(channels_[channel]) != nullptr) {
      schedule(start, EventKind::Snapshot, channel);
    }
    if (settings_.heartbeat_every_ns != 0) {
      schedule(start + settings_.heartbeat_every_ns, EventKind::Heartbeat, channel);
    }
    if (settings_.burst_every_ns != 0) schedule(start + settings_.burst_every_ns, EventKind::Burst, channel);
    const auto moments = [&](const std::vector<Moment>& list, EventKind kind) {
      for (const Moment& moment : list) {
        if (!moment.channel || *moment.channel == channel + 1) schedule(start + moment.at_ns, kind, channel);
      }
    };
    moments(settings_.resets, EventKind::Reset);
    moments(settings_.failovers, EventKind::Failover);
  }

  void handle(const Event& event) {
    Channel& channel = channels_[event.channel];
    switch (event.kind) {
      case EventKind::Update: {
        send_update(channel, event.time_ns);
        // Between half and one and a half of the mean.
        const auto mean = static_cast<std::uint64_t>(static_cast<double>(kNsPerSecond) / settings_.rate);
        schedule(event.time_ns + std::max<std::uint64_t>(1, mean / 2 + random_.below(mean + 1)), EventKind::Update,
                 event.channel);
        break;
      }
      case EventKind::Burst:
        schedule(event.time_ns, EventKind::BurstPacket, event.channel, settings_.burst_packets - 1);
        schedule(event.time_ns + settings_.burst_every_ns, EventKind::Burst, event.channel);
        break;
      case EventKind::BurstPacket:
        send_update(channel, event.time_ns);
        if (event.left != 0) {
          schedule(event.time_ns + settings_.burst_gap_ns, EventKind::BurstPacket, event.channel, event.left - 1);
        }
        break;
      case EventKind::Snapshot:
        send_snapshot(channel, event.time_ns);
        schedule(event.time_ns + std::max<std::uint64_t>(1, settings_.snapshot_every_ns / settings_.instruments),
                 EventKind::Snapshot, event.channel);
        break;
      case EventKind::Heartbeat:
        send_heartbeats(channel, event.time_ns);
        schedule(event.time_ns + settings_.heartbeat_every_ns, EventKind::Heartbeat, event.channel);
        break;
      case EventKind::Reset: send_reset(channel, event.time_ns); break;
      case EventKind::Failover: fail_over(channel); break;
    }
  }

  /// Whether something that has not happened yet may be sent before what is on its way.
  [[nodiscard]] bool may_come_earlier() const {
    if (events_.empty()) return !flushed_;
    return !lines_.next_time() || events_.top().time_ns <= *lines_.next_time();
  }

  void advance() {
    if (events_.empty()) {
      flushed_ = true;
      lines_.flush(settings_.start_ns + settings_.duration_ns);
      return;
    }
    const Event event = events_.top();
    events_.pop();
    if (event.time_ns < settings_.start_ns + settings_.duration_ns) handle(event);
  }

  static Stream* snapshot_stream(Channel& channel) {
    for (Stream& stream : channel.streams) {
      if (!stream.model().snapshot.empty()) return &stream;
    }
    return nullptr;
  }

  [[nodiscard]] Facts facts_of(const Channel& channel, const Stream& stream, std::uint64_t time_ns) const {
    Facts facts;
    facts.sequence = stream.sequence + 1;
    facts.time_ns = time_ns;
    facts.sender = channel.sender;
    facts.last_sequence = channel.streams[0].sequence;
    facts.instruments = channel.instruments.size();
    return facts;
  }

  /// About an instrument and its product.
  static void tell(const Channel& channel, const Instrument& instrument, Facts& facts) {
    facts.instrument = instrument.id;
    facts.symbol = instrument.symbol;
    facts.product = instrument.product + 1;
    facts.report = instrument.report;
    facts.last_message = channel.product_messages[instrument.product];
  }

  void fill_level(const Instrument& instrument, Facts& facts, std::uint64_t level, std::uint64_t side) {
    facts.level = level;
    facts.side = side;
    facts.price = side == 0 ? instrument.price - level : instrument.price + level;
    facts.size = 1 + random_.below(500);
    facts.orders = 1 + random_.below(20);
  }

  void begin_packet(Stream& stream, const Facts& facts) {
    stream.writer->begin_datagram();
    for (const Pattern& pattern : stream.model().begin) add_message(stream, pattern, facts);
  }

  void add_message(Stream& stream, const Pattern& pattern, const Facts& facts) {
    line_.clear();
    pattern.write(facts, line_);
    if (const Status added = stream.writer->add(line_); !added) fault_ = added.message();
    ++stream.report.messages;
  }

  void send_update(Channel& channel, std::uint64_t time_ns) {
    Stream& stream = channel.streams[0];
    const StreamModel& model = stream.model();
    Facts facts = facts_of(channel, stream, time_ns);
    begin_packet(stream, facts);
    const std::uint64_t messages = 1 + random_.below(preset_.messages);
    for (std::uint64_t i = 0; i < messages && fault_.empty(); ++i) {
      Instrument& instrument = channel.instruments[random_.below(channel.instruments.size())];
      walk(instrument);
      tell(channel, instrument, facts);
      facts.message = ++channel.product_messages[instrument.product];
      const bool is_trade = !model.trade.empty() && random_.below(8) == 0;
      if (is_trade) {
        fill_level(instrument, facts, 1, random_.below(2));
        facts.report = ++instrument.report;
      } else {
        const std::uint64_t entries = 1 + random_.below(preset_.entries);
        const std::uint64_t side = random_.below(2);
        entries_.clear();
        for (std::uint64_t entry = 0; entry < entries; ++entry) {
          fill_level(instrument, facts, 1 + random_.below(preset_.levels), side);
          facts.action = random_.below(3);
          facts.report = ++instrument.report;
          if (entry != 0) entries_ += ',';
          model.entry.write(facts, entries_);
        }
        facts.entries = entries_;
      }
      add_message(stream, is_trade ? model.trade : model.update, facts);
    }
    send(channel, stream, time_ns);
  }

  void walk(Instrument& instrument) {
    const std::uint64_t step = random_.below(5);
    const std::uint64_t lowest = preset_.levels + 10;
    instrument.price = std::max(instrument.price + 2, lowest + step) - step;
  }

  void send_snapshot(Channel& channel, std::uint64_t time_ns) {
    Stream& stream = *snapshot_stream(channel);
    const StreamModel& model = stream.model();
    if (channel.next_snapshot == 0) {
      ++stream.report.cycles;
      if (model.role == Role::Carousel) stream.sequence = 0;
    }
    const Instrument& instrument = channel.instruments[channel.next_snapshot];
    channel.next_snapshot = (channel.next_snapshot + 1) % channel.instruments.size();
    const std::uint64_t levels = 2 * preset_.levels;
    std::uint64_t done = 0;
    for (std::uint64_t fragment = 0; fragment < preset_.fragments && fault_.empty(); ++fragment) {
      const std::uint64_t sent_ns = time_ns + fragment * kChunkGapNs;
      Facts facts = facts_of(channel, stream, sent_ns);
      tell(channel, instrument, facts);
      facts.first = fragment == 0;
      facts.final = fragment + 1 == preset_.fragments;
      const std::uint64_t end = levels * (fragment + 1) / preset_.fragments;
      entries_.clear();
      for (; done < end; ++done) {
        fill_level(instrument, facts, done % preset_.levels + 1, done / preset_.levels);
        if (!entries_.empty()) entries_ += ',';
        model.level.write(facts, entries_);
      }
      facts.entries = entries_;
      begin_packet(stream, facts);
      add_message(stream, model.snapshot, facts);
      send(channel, stream, sent_ns);
    }
  }

  void send_heartbeats(Channel& channel, std::uint64_t time_ns) {
    for (Stream& stream : channel.streams) {
      if (stream.model().heartbeat.empty() || stream.last_time_ns + settings_.heartbeat_every_ns > time_ns) continue;
      Facts facts = facts_of(channel, stream, time_ns);
      tell(channel, channel.instruments.front(), facts);
      begin_packet(stream, facts);
      add_message(stream, stream.model().heartbeat, facts);
      send(channel, stream, time_ns);
    }
  }

  /// The last packet of the old numbers says that the next one is 1.
  void send_reset(Channel& channel, std::uint64_t time_ns) {
    Stream& stream = channel.streams[0];
    if (stream.model().reset.empty()) return;
    const Facts facts = facts_of(channel, stream, time_ns);
    begin_packet(stream, facts);
    add_message(stream, stream.model().reset, facts);
    send(channel, stream, time_ns);
    stream.sequence = 0;
    ++stream.report.resets;
    for (Instrument& instrument : channel.instruments) instrument.report = 0;
  }

  /// Another sender goes on, from another address.
  void fail_over(Channel& channel) {
    ++channel.sender;
    channel.on_backup = !channel.on_backup;
    for (Stream& stream : channel.streams) {
      ++stream.report.failovers;
      if (preset_.restarts_on_failover) stream.sequence = 0;
    }
    if (preset_.restarts_on_failover) std::fill(channel.product_messages.begin(), channel.product_messages.end(), 0);
  }

  /// The packet that the stream's writer has, on all lines.
  void send(Channel& channel, Stream& stream, std::uint64_t time_ns) {
    if (!fault_.empty()) return;
    const std::span<const std::byte> data = stream.writer->data();
    if (stream.writer->owed_bytes() != 0 || data.size() > egress::max_data_bytes(stream.model().framing)) {
      fault_ = "a packet of the " + std::string(role_text(stream.model().role)) +
               " stream has a length that no decoder accepts";
      return;
    }
    ++stream.sequence;
    ++stream.report.packets;
    stream.last_time_ns = time_ns;
    std::uint64_t at = time_ns;
    for (auto& datagram : egress::make_datagrams(stream.model().framing, data, stream.sequence, preset_.max_payload)) {
      ++stream.report.datagrams;
      stream.report.bytes += datagram.size();
      lines_.send(stream.line, std::move(datagram), at, channel.on_backup);
      at += kChunkGapNs;
    }
  }

  Settings settings_;
  Preset preset_;
  std::vector<CompiledModel> models_;
  impair::Random random_;
  Lines lines_;
  std::vector<Channel> channels_;
  Events events_;
  std::uint64_t order_ = 0;
  bool flushed_ = false;
  std::string line_;
  std::string entries_;
  std::string fault_;
};

}  // namespace

std::unique_ptr<Exchange> Exchange::make(const Settings& settings, const Preset& preset, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& message) {
    diagnostics.error(ErrorCode::None, {}, "preset '" + preset.name + "': " + message);
    return nullptr;
  };
  const std::size_t step = settings.channels * preset.streams.size();
  for (const LineSettings& line : settings.lines) {
    if (line.group.port + step > 65'535) return refuse("the ports of its streams exceed 65535");
  }
  if (!settings.resets.empty() && preset.streams[0].reset.empty()) {
    return refuse("its numbers are never reset, so [[reset]] is not allowed");
  }
  std::vector<CompiledModel> models;
  for (const StreamModel& model : preset.streams) {
    const std::size_t errors_before = diagnostics.errors();
    std::optional<Program> program = templates::compile({model.templates}, {}, diagnostics);
    if (!program || diagnostics.errors() != errors_before) return nullptr;
    CompiledModel& compiled = models.emplace_back();
    compiled.program = std::make_unique<const Program>(std::move(*program));
    Result<record::Schema> schema = record::Schema::make(*compiled.program);
    if (!schema) return refuse(schema.message());
    compiled.schema = schema.value();
  }
  // A box of its own: a rehearsal uses up random numbers and previous values.
  std::vector<CompiledModel> rehearsed;
  for (const CompiledModel& compiled : models) {
    rehearsed.push_back({nullptr, std::make_unique<const Program>(*compiled.program), std::nullopt});
    rehearsed.back().schema = record::Schema::make(*rehearsed.back().program).value();
  }
  if (const Status good = Box(settings, preset, std::move(rehearsed)).rehearse(); !good) return refuse(good.message());
  return std::make_unique<Box>(settings, preset, std::move(models));
}

}  // namespace stopbit::simulate
