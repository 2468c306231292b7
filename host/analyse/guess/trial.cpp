#include "host/analyse/guess/trial.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/views.hpp"
#include "decoder/select/make_engine.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::guess {
namespace {

constexpr std::size_t kMaxUnknownIds = 1'000;
/// A trial ends early at this many instructions: packets of real feeds take a few hundred each.
constexpr std::uint64_t kMaxInstructions = 20'000'000;

/// Notes what becomes of each packet on its way through an engine.
class Watch final : public Engine {
 public:
  Watch(std::unique_ptr<Engine> engine, Trial& trial) : engine_(std::move(engine)), trial_(trial) {}

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override {
    if (instructions_ > kMaxInstructions) {
      trial_.is_whole = false;
      return {};
    }
    const Outcome outcome = engine_->decode(datagram, info, sink);
    instructions_ += outcome.instructions;
    if (info.number != packet_) {
      end_packet();
      ++trial_.datagrams;
      packet_ = info.number;
      messages_ = 0;
    }
    messages_ += outcome.messages;
    is_faulty_ = is_faulty_ || outcome.error != ErrorCode::None || outcome.dropped;
    trial_.messages += outcome.messages;
    trial_.fields += outcome.fields;
    if (outcome.error != ErrorCode::None) note(outcome.error);
    if (outcome.error == ErrorCode::D9 &&
        (trial_.unknown_ids.size() < kMaxUnknownIds || trial_.unknown_ids.contains(outcome.template_id))) {
      ++trial_.unknown_ids[outcome.template_id];
    }
    if (outcome.dropped) trial_.packet_errors.emplace(info.number, ErrorCode::None);
    return outcome;
  }
  void reset(std::uint16_t channel) noexcept override { engine_->reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { engine_->invalidate(channel); }

  void end_packet() {
    if (packet_ != 0 && !is_faulty_ && messages_ != 0) ++trial_.clean;
    if (packet_ != 0 && !is_faulty_ && messages_ == 0) trial_.packet_errors.emplace(packet_, ErrorCode::None);
    is_faulty_ = false;
  }

 private:
  void note(ErrorCode error) {
    ++trial_.errors[static_cast<std::size_t>(error)];
    trial_.packet_errors.emplace(packet_, error);
  }

  std::unique_ptr<Engine> engine_;
  Trial& trial_;
  std::uint64_t instructions_ = 0;
  std::uint64_t packet_ = 0;
  std::uint64_t messages_ = 0;
  bool is_faulty_ = false;
};

}  // namespace

double Trial::known_share() const noexcept {
  const std::uint64_t unknown = errors[static_cast<std::size_t>(ErrorCode::D9)];
  return messages + unknown == 0 ? 0 : static_cast<double>(messages) / static_cast<double>(messages + unknown);
}

ErrorCode Trial::most_frequent_error() const noexcept {
  const auto most = std::max_element(errors.begin(), errors.end());
  return *most == 0 ? ErrorCode::None : static_cast<ErrorCode>(most - errors.begin());
}

Trial try_framing(const Program& program, const Sample& sample, const net::Framing& framing) {
  replay::Options options;
  options.framing = framing;
  return try_options(program, sample, std::move(options));
}

Trial try_options(const Program& program, const Sample& sample, replay::Options options) {
  Trial trial;
  trial.framing = options.framing;
  trial.values_hash = kFnv1aBegin;
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> slots) {
    const record::HeaderView header(slots[0]);
    if (header.is_event()) return;
    const std::size_t index = header.template_index();
    trial.reset_seen = trial.reset_seen || program.templates[index].reset;
    std::size_t first = record::kHeaderWords;  // the header also depends on the preamble
    for (const record::Slot& slot : slots) {
      for (std::size_t word = first; word < record::kSlotWords; ++word) {
        trial.values_hash = fnv1a(trial.values_hash, slot.words[word]);
      }
      first = 0;
    }
    trial.values_hash = fnv1a(trial.values_hash, index);
  });
  options.channels = sample.groups();
  Watch watch(make_engine(program, replay::engine_options(options), EngineKind::Quick).engine, trial);
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::make_unique<SampleSource>(sample));
  const replay::Summary summary = replay::Replay(program, watch, sink, std::move(options)).run(sources);
  watch.end_packet();
  trial.dropped = summary.dropped;
  trial.incomplete = summary.incomplete + summary.oversized;
  return trial;
}

net::Framing fixed_framing(std::uint32_t skip, net::PreambleField sequence, ResetRule reset, bool blocks) {
  for (const net::FramingPreset& preset : net::framing_presets()) {
    if (preset.kind != net::FramingKind::Fixed) continue;
    net::Framing known = net::parse_framing(preset.name).value();
    if (known.skip == skip && known.sequence == sequence && known.length.bytes == 0 && known.reset == reset &&
        known.blocks == blocks) {
      return known;
    }
  }
  net::Framing framing;
  framing.name = "custom:skip=" + std::to_string(skip);
  if (sequence.bytes != 0) {
    framing.name += ",seq=u" + std::to_string(8 * sequence.bytes) + (sequence.big_endian ? "be@" : "le@") +
                    std::to_string(sequence.offset);
  }
  if (blocks) framing.name += ",blocks=yes";
  framing.name += ",reset=" + std::string(reset_rule_name(reset));
  framing.skip = skip;
  framing.sequence = sequence;
  framing.blocks = blocks;
  framing.reset = reset;
  return framing;
}

}  // namespace stopbit::guess
