#include <Vstopbit_front_core.h>
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "attacks.hpp"
#include "core_driver.hpp"
#include "frame_port.hpp"
#include "framings.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/packet.hpp"
#include "templates.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::sim {
namespace {

using net::testing::operator+;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kBatch = 64;       ///< Frames one after another, then a pause until everything is out.
constexpr std::uint64_t kQuiet = 200;      ///< Cycles in which nothing moves: everything is out.
constexpr std::uint64_t kPatience = 5000;  ///< Cycles without a frame or slot after which it counts as hung.
constexpr std::size_t kMaxRecordSlots = 65'535;
constexpr std::size_t kMostBytes = 9'000;
constexpr std::uint32_t kAddress = 0xE0001F01;  ///< Of net::testing::ipv4 and udp.
constexpr std::uint16_t kPort = 10001;

struct Frame {
  Bytes bytes;
  bool bad = false;  ///< So says the MAC.
  std::uint64_t arrival_ns = 0;
};

std::uint16_t type_at(const Bytes& frame, std::size_t at) {
  return net::load_be<std::uint16_t>(&frame[at]);
}

bool is_vlan(std::uint16_t type) {
  return type == 0x8100 || type == 0x88A8 || type == 0x9100 || type == 0x9200;
}

/// The device takes two tags, host/feed/packet four.
bool has_three_tags(const Bytes& frame) {
  return frame.size() >= 22 && is_vlan(type_at(frame, 12)) && is_vlan(type_at(frame, 16)) &&
         is_vlan(type_at(frame, 20));
}

/// A right frame of one datagram.
Bytes make_frame(attack::Chatter& chatter, std::uint32_t sequence, Random& random) {
  Bytes payload = net::testing::be32(sequence) + net::testing::bytes({1});
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left) payload = std::move(payload) + chatter.next();
  if (payload.size() > 1400) payload.resize(1400);
  Bytes options(random.chance(5) ? 4 * random.below(11) : 0);
  Bytes type = net::testing::be16(0x0800);
  for (std::uint64_t tags = random.chance(10) ? 1 + random.below(2) : 0; tags > 0; --tags) {
    type = net::testing::be16(0x8100) + net::testing::be16(random.below(4096)) + type;
  }
  Bytes frame = net::testing::ethernet(net::testing::ipv4(net::testing::udp(payload), options), type);
  if (frame.size() < 60) frame.resize(60);
  return frame;
}

/// Turned bits mostly, and where the headers are; else bytes that are other ones, taken out, put in, or cut off.
void mutate(Bytes& frame, Random& random) {
  for (std::uint64_t left = random.below(4); left > 0; --left) {
    const std::uint64_t reach = random.chance(70) ? std::min<std::uint64_t>(frame.size(), 60) : frame.size();
    const auto at = static_cast<std::ptrdiff_t>(random.below(reach));
    switch (random.below(8)) {
      case 0: frame[static_cast<std::size_t>(at)] = static_cast<std::byte>(random.bits()); break;
      case 1: frame.erase(frame.begin() + at); break;
      case 2: frame.insert(frame.begin() + at, static_cast<std::byte>(random.bits())); break;
      case 3: frame.resize(1 + random.below(frame.size())); break;
      default: frame[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << random.below(8)); break;
    }
    if (frame.empty()) frame.resize(1);
  }
  if (random.chance(1)) frame.resize(random.below(kMostBytes) + 1, std::byte{0x81});
}

class Attack {
 public:
  Attack(std::uint64_t seed, const Program& program)
      : bench_(seed), random_(seed), collector_(kMaxRecordSlots), reference_(program, {}) {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->load_i = 0;
    bench_->group_write_i = 0;
    bench_->framing_write_i = 0;
    bench_.reset();
    const auto words = firmware::device_words(program, {});
    if (!words) throw std::runtime_error(words.message());
    load(bench_, words.value(), 0);
    load(bench_, firmware::channel_words(program, {}, 0), 0);
    bench_->channel_i = 0;
    bench_->framing_i = framing_bits(framing_);
    bench_->framing_write_i = 1;
    write_group(bench_, 7, {.address = kAddress, .port = kPort, .channel = 0, .line = 1});
    bench_->framing_write_i = 0;
  }

  /// Sends the frames, waits until everything is out, compares.
  void run(const std::vector<Frame>& frames, std::uint32_t stall) {
    std::vector<Record> wanted;
    for (const Frame& frame : frames) {
      ++number_;
      for (Record& record : expect(frame)) wanted.push_back(std::move(record));
    }
    Gate in(random_, stall);
    Gate out(random_, stall);
    FrameFeeder feeder;
    std::size_t sent = 0;
    std::size_t verdicts = 0;
    bool offered = false;
    std::uint64_t quiet = 0;
    std::uint64_t last_in = bench_.cycles();
    std::uint64_t last_out = last_in;
    while (sent < frames.size() || feeder.busy() || quiet < kQuiet) {
      if (!feeder.busy() && sent < frames.size()) {
        feeder.begin(frames[sent].bytes, frames[sent].bad, frames[sent].arrival_ns);
        ++sent;
      }
      offered = offered || (feeder.busy() && in.open());
      bench_->valid_i = offered;
      if (offered) feeder.show(bench_, 0x55);
      bench_->ready_i = out.open();
      bench_.settle();
      ++quiet;
      if (offered && bench_->ready_o) {
        feeder.advance();
        offered = false;
        quiet = 0;
        last_in = bench_.cycles();
      }
      if (bench_->valid_o) {
        quiet = 0;
        last_out = bench_.cycles();
        if (bench_->ready_i) collector_.take(bench_->slot_o);
      }
      verdicts += bench_->verdict_valid_o;
      bench_.step();
      if (quiet > kPatience) throw Broken(fmt::format("hangs behind frame {}", sent));
    }
    bench_->valid_i = 0;
    if (verdicts != frames.size()) throw Broken(fmt::format("{} verdicts on {} frames", verdicts, frames.size()));
    if (collector_.is_open()) throw Broken("a record was begun and not completed");
    const std::string fault = difference(wanted, collector_.records);
    if (!fault.empty()) throw Broken(fault);
    for (const Record& record : collector_.records) {
      ++((record[0].words[0] & 0xFFFF) == record::kEventIndex ? figures_.events : figures_.records);
    }
    collector_.records.clear();
    if (last_out > last_in) figures_.most_cycles = std::max(figures_.most_cycles, last_out - last_in);
  }

  [[nodiscard]] AttackFigures figures() const {
    AttackFigures out = figures_;
    out.cycles = bench_.cycles();
    return out;
  }

 private:
  /// What host/feed/packet and the interpreter make of it.
  std::vector<Record> expect(const Frame& frame) {
    net::Datagram datagram;
    if (frame.bad || has_three_tags(frame.bytes) ||
        net::parse_frame(net::LinkType::Ethernet, frame.bytes, frame.bytes.size(), datagram) !=
            net::Verdict::Accepted ||
        !(datagram.destination == net::Endpoint{kAddress, kPort})) {
      return {};
    }
    ++figures_.datagrams;
    const net::Preamble preamble = net::read_preamble(framing_, datagram.payload);
    PacketInfo info;
    info.number = number_;
    info.arrival_ns = frame.arrival_ns;
    info.source = record::SourceLine::LineA;
    info.time_quality = record::TimeQuality::Poll;
    info.data_offset = static_cast<std::uint32_t>(datagram.payload.size() + 1);
    std::span<const std::byte> payload = datagram.payload;
    if (preamble.error == ErrorCode::None) {
      info.sequence = static_cast<std::uint32_t>(preamble.sequence);
      info.data_offset = preamble.data_begin;
      payload = payload.first(preamble.data_end);
    }
    const Datagram whole{payload, info};
    return reference_.decode(std::span(&whole, 1));
  }

  Bench<Vstopbit_front_core> bench_;
  Random random_;
  RecordCollector collector_;
  Reference reference_;
  const net::Framing framing_ = net::parse_framing("cme").value();
  std::uint64_t number_ = 0;
  AttackFigures figures_;
};

}  // namespace

AttackFigures attack_with_frames(const AttackOptions& options) {
  const Result<Program> program = bench_program();
  if (!program) throw std::runtime_error(program.message());
  Attack attack(options.seed, program.value());
  std::uint64_t at = options.first;
  const std::uint64_t end = options.first + options.count;
  while (at < end) {
    // A batch depends on the number of its first frame alone.
    Random random(options.seed * 0x9E37'79B9'7F4A'7C15 + at);
    cases::Random message_random(options.seed + at);
    attack::Chatter chatter(program.value(), message_random);
    std::vector<Frame> frames;
    const std::uint64_t first = at;
    for (; at < end && frames.size() < kBatch; ++at) {
      Frame frame{make_frame(chatter, static_cast<std::uint32_t>(at), random), random.chance(2), 1000 + at};
      mutate(frame.bytes, random);
      frames.push_back(std::move(frame));
    }
    try {
      attack.run(frames, random.chance(30) ? static_cast<std::uint32_t>(random.below(91)) : 0);
    } catch (const Broken& broken) {
      throw Broken(fmt::format("frames {} to {}: {}", first, at - 1, broken.what()));
    }
    if (options.progress && at / 100'000 != first / 100'000) {
      std::fputs(fmt::format("frames: {}\n", at).c_str(), stderr);
    }
  }
  return attack.figures();
}

}  // namespace stopbit::sim
