#include "host/device/engine.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/device/generated/registers.hpp"
#include "host/device/load.hpp"
#include "host/device/record_copy.hpp"
#include "microcode/image/image.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::device {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLeastRingSlots = 1024;
constexpr int kLooksBeforeNap = 64;
constexpr auto kNap = std::chrono::microseconds(50);
/// How often the registers are read if the ring stays empty.
constexpr auto kLook = std::chrono::milliseconds(500);

/// Counts the values that a record holds.
struct ValueCount : record::Visitor {
  std::uint32_t values = 0;
  void field(const SchemaNode& node, const record::Value& /*value*/) { values += node.constant ? 0 : 1; }
  void begin_sequence(const SchemaNode& /*node*/, std::uint32_t /*count*/) { ++values; }
};

}  // namespace

std::vector<std::string> obstacles(const Program& program, const EngineOptions& options, std::uint32_t capabilities) {
  std::vector<std::string> out = firmware::obstacles(program, options);
  if (options.limits.datagram_bytes < kMaxDatagramBytes) {
    out.push_back("longest datagram: " + std::to_string(options.limits.datagram_bytes) +
                  " bytes requested, but the card has a fixed limit of " + std::to_string(kMaxDatagramBytes));
  }
  // What this program knows of may be more than what is on the card.
  std::uint64_t told = capabilities | ~firmware::kCapabilities;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const std::uint64_t needed = isa::capability(program.code[i].op, program.code[i].control);
    if ((needed & ~told) == 0) continue;
    told |= needed;
    out.push_back(std::string(isa::capability_name(needed)) + ": not on this card, instruction " + std::to_string(i) +
                  ", " + std::string(isa::info(program.code[i].op)->mnemonic));
  }
  return out;
}

std::uint16_t channels_with_room(const Program& program, const EngineOptions& options) {
  const auto fits = [&](std::uint16_t channels) {
    EngineOptions tried = options;
    tried.channels = channels;
    return firmware::obstacles(program, tried).empty();
  };
  if (!fits(1)) return 0;
  std::uint16_t most = 1;
  for (std::uint16_t step = std::bit_floor(options.channels); step != 0; step /= 2) {
    if (most + step <= options.channels && fits(static_cast<std::uint16_t>(most + step))) {
      most = static_cast<std::uint16_t>(most + step);
    }
  }
  return most;
}

DeviceEngine::DeviceEngine(Kernel kernel, Network& network, const Program& program, const record::Schema& schema,
                           const EngineOptions& options, std::chrono::milliseconds patience)
    : kernel_(kernel), network_(network), program_(program), options_(options), patience_(patience), reader_(schema) {}

Result<std::unique_ptr<DeviceEngine>> DeviceEngine::make(Device& device, Network& network, const Program& program,
                                                         const EngineOptions& options,
                                                         std::chrono::milliseconds patience) {
  Result<Kernel> kernel = Kernel::open(device);
  if (!kernel) return Failure{kernel.message()};
  const Result<record::Schema> schema = record::Schema::make(program);
  if (!schema) return Failure{schema.message()};
  std::unique_ptr<DeviceEngine> engine(
      new DeviceEngine(std::move(kernel).value(), network, program, schema.value(), options, patience));
  const Status done = engine->set_up(device);
  if (!done) return Failure{done.message()};
  return engine;
}

Status DeviceEngine::set_up(Device& device) {
  const Result<std::vector<firmware::Word>> words = firmware::device_words(program_, options_);
  if (!words) return Failure{words.message()};
  channel_words_ = firmware::channel_words(program_, options_, kEngineBank);
  Status done = load(words.value());
  if (done) done = load(channel_words_);
  if (done) done = kernel_.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0});
  if (!done) return done;

  const std::vector<std::byte> image = image::write(program_);
  const std::uint64_t most = std::bit_ceil(std::uint64_t{program_.max_record_slots});
  auto ring = DeviceRing::start(device, program_, image,
                                {.index = 0,
                                 .slot_count = std::max(kLeastRingSlots, ring::kMaxRecordShare * most),
                                 .mode = RingMode::Stall,
                                 .image_generation = options_.image_generation,
                                 .segment_slots = 0,
                                 .timeout_cycles = 0});
  if (!ring) return Failure{ring.message()};
  ring_ = std::move(ring).value();
  const Result<Counters> counters = kernel_.counters();
  if (!counters) return Failure{counters.message()};
  before_ = counters.value();
  // What went wrong before is not ours.
  const Result<std::uint32_t> errors = kernel_.take_errors();
  if (!errors) return Failure{errors.message()};
  return kernel_.receive(true);
}

DeviceEngine::~DeviceEngine() {
  (void)kernel_.receive(false);  // the ring ends by itself
}

Status DeviceEngine::load(std::span<const firmware::Word> words) {
  firmware_words_ += words.size();
  return load_words(kernel_, words);
}

Outcome DeviceEngine::decode(std::span<const std::byte> datagram, const PacketInfo& info,
                             record::RecordSink& sink) noexcept {
  Outcome outcome;
  outcome.offset_bytes = static_cast<std::uint32_t>(datagram.size());
  if (!failed()) {
    Status done = send(datagram, info);
    if (done) done = collect(datagram, info, &sink, outcome);
    if (!done) fail(done.message());
  }
  if (failed()) outcome.dropped = true;
  return outcome;
}

void DeviceEngine::reset(std::uint16_t channel) noexcept {
  if (failed()) return;
  const std::size_t words = channel_words_.size() / options_.channels;
  const Status done = load(std::span(channel_words_).subspan(channel * words, words));
  if (!done) fail(done.message());
}

void DeviceEngine::invalidate(std::uint16_t channel) noexcept {
  if (failed() || options_.reset == ResetRule::Packet) return;
  const PacketInfo beyond_the_end{.data_offset = 1, .channel = channel};
  Outcome outcome;
  Status done = send({}, beyond_the_end);
  if (done) done = collect({}, beyond_the_end, nullptr, outcome);
  if (!done) fail(done.message());
}

void DeviceEngine::fail(std::string problem) {
  problem_ = std::move(problem);
  failed_.store(true, std::memory_order_release);
}

Status DeviceEngine::send(std::span<const std::byte> datagram, const PacketInfo& info) {
  const auto preamble = static_cast<std::uint16_t>(std::min<std::uint32_t>(info.data_offset, 0xFFFF));
  const auto source = static_cast<std::uint8_t>(info.source);
  const auto quality = static_cast<std::uint8_t>(info.time_quality);
  const std::uint64_t description = std::uint64_t{source} << 32 | std::uint64_t{quality} << 16 | preamble;
  if (description != described_) {
    const Status done = kernel_.describe_input(source, quality, preamble);
    if (!done) return done;
    described_ = description;
  }
  ++sent_;
  return network_.send(datagram, info.channel, info.arrival_ns);
}

/// Takes the records of the datagram that is on its way.
Status DeviceEngine::collect(std::span<const std::byte> datagram, const PacketInfo& info, record::RecordSink* sink,
                             Outcome& outcome) {
  // A datagram ends with an event or with a record that says so: except for one without messages, which may give
  // nothing, and one that is cut, whose event follows what it takes for the last record.
  const bool may_give_nothing = info.data_offset == datagram.size();
  const bool is_cut = datagram.size() > kMaxDatagramBytes;
  const Clock::time_point begin = Clock::now();
  Clock::time_point moved = begin;
  Clock::time_point next_look = begin + kLook;
  std::uint64_t executed = 0;
  bool is_decoded = false;
  for (int looks = 0;;) {
    const ring::Poll poll = ring_->poll();
    if (poll == ring::Poll::Record) {
      const Status taken = take_record(info, sink, outcome);
      if (!taken) return taken;
      const record::HeaderView header(ring_->record()[0]);
      if (header.is_event() || (!is_cut && (header.flags() & record::kFlagLastOfPacket) != 0)) return Done{};
      looks = 0;
      continue;
    }
    if (poll != ring::Poll::Nothing) return give_up("its ring: " + ring_->problem());
    if (is_decoded) {
      if (may_give_nothing) return Done{};
      return give_up("it has decoded the datagram of packet " + std::to_string(info.number) +
                     ", but sent no record for its end");
    }
    if (++looks < kLooksBeforeNap) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(kNap);
    const Clock::time_point now = Clock::now();
    if (!may_give_nothing && now < next_look) continue;
    next_look = now + kLook;
    const Result<Counters> counters = kernel_.counters();
    if (!counters) return give_up(counters.message());
    const Counters since = counters.value() - before_;
    if (since.datagrams_dropped != 0) return give_up("it has dropped a datagram at its input");
    if (since.datagrams_decoded >= sent_) {
      const Result<bool> idle = kernel_.idle();
      if (!idle) return give_up(idle.message());
      is_decoded = idle.value();  // after the next look at the ring: a record may just have come
    }
    if (since.instructions != executed) moved = now;
    executed = since.instructions;
    if (now - moved > patience_) {
      return give_up("it has executed nothing for " + std::to_string(patience_.count()) +
                     " ms, in the datagram of packet " + std::to_string(info.number));
    }
  }
}

Status DeviceEngine::take_record(const PacketInfo& info, record::RecordSink* sink, Outcome& outcome) {
  const std::span<const record::Slot> record = ring_->record();
  record::Slot first = record[0];
  const record::HeaderView header(first);
  if (header.is_event()) {
    const Outcome event = outcome_of(record::EventView(first));
    const std::uint32_t messages = outcome.messages;
    const std::uint32_t fields = outcome.fields;
    outcome = event;
    outcome.messages = messages;
    outcome.fields = fields;
    first.words[6] = info.number;
  } else {
    ValueCount count;
    const record::ReadError error = reader_.read(record, count);
    if (error != record::ReadError::None) {
      return give_up("a record of packet " + std::to_string(info.number) +
                     " cannot be read: " + std::string(record::error_text(error)));
    }
    ++outcome.messages;
    outcome.fields += count.values;
  }
  first.words[2] = with_bits(first.words[2], 0, 32, info.sequence);
  first.words[3] = with_bits(first.words[3], 32, 16, info.sender_epoch);

  if (sink == nullptr) return Done{};
  copy_record(record, first, *sink);
  return Done{};
}

/// A failure that says of the device what it did, and what it says of itself.
Status DeviceEngine::give_up(std::string what) {
  const Result<std::uint32_t> errors = kernel_.take_errors();
  if (errors) errors_ |= errors.value();
  std::string said = errors ? Kernel::describe_errors(errors.value()) : std::string();
  if (!said.empty()) said = " (" + said + ")";
  return Failure{"the card: " + std::move(what) + said};
}

Result<Figures> DeviceEngine::figures() {
  const Result<Counters> counters = kernel_.counters();
  if (!counters) return Failure{counters.message()};
  const Result<RingCounters> ring = ring_->counters();
  if (!ring) return Failure{ring.message()};
  const Result<std::uint32_t> errors = kernel_.take_errors();
  if (!errors) return Failure{errors.message()};
  errors_ |= errors.value();
  return Figures{.kernel = counters.value() - before_,
                 .ring = ring.value(),
                 .engines = kernel_.engines(),
                 .errors = errors_,
                 .firmware_words = firmware_words_};
}

}  // namespace stopbit::device
