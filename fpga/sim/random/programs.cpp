#include <Vrtl_random_core.h>
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "attacks.hpp"
#include "core_driver.hpp"
#include "datagrams.hpp"
#include "microcode/isa/isa.hpp"
#include "templates.hpp"
#include "tests/attack/chatter.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kWatchdogCycles = 1 << 10;  ///< CMakeLists.txt gives the model as many.
/// What a datagram may take at most: the packer needs up to two cycles without a slot for what the engine gives it in
/// one.
constexpr std::uint64_t kMostCycles = 3 * kWatchdogCycles + 100;
constexpr std::uint64_t kQuiet = 16;  ///< Cycles without a slot: the packer is done.
constexpr std::size_t kInstructions = 64;
constexpr std::size_t kMaxRecordSlots = 65'535;
constexpr std::uint16_t kRandomChannel = 0;
constexpr std::uint16_t kVerifiedChannel = 1;
constexpr unsigned kRandomBank = 0;
constexpr unsigned kVerifiedBank = 1;

/// Numbers as tables have them: often 0 or small.
std::uint32_t random_word(Random& random) {
  const std::uint64_t kind = random.below(8);
  if (kind < 3) return 0;
  if (kind < 6) return static_cast<std::uint32_t>(random.below(20));
  return static_cast<std::uint32_t>(random.bits() >> random.below(32));
}

std::uint64_t random_instruction(Random& random, std::size_t address) {
  if (random.chance(15)) return random.bits();
  isa::Instruction in;
  in.op = static_cast<isa::DataOp>(random.below(256));
  in.control = static_cast<isa::ControlOp>(random.below(random.chance(50) ? 5 : 10));
  if (address == 0 && random.chance(80)) {
    in.op = isa::DataOp::Pmap;
    in.control = isa::ControlOp::Next;
  }
  if (address == 1 && random.chance(80)) {
    in.op = isa::DataOp::Tid;
    in.control = isa::ControlOp::Disp;
  }
  in.word = random.chance(70) ? static_cast<std::uint8_t>(random.below(24)) : static_cast<std::uint8_t>(random.bits());
  in.slot = random.below(16) & 0xFFF;
  in.constant = random.below(12) & 0xFFF;
  in.target = random.below(kInstructions) & 0x3FFF;
  in.pair = random.chance(30);
  return isa::encode(in);
}

void put_table(std::vector<firmware::Word>& words, unsigned table, std::size_t count, Random& random) {
  for (std::uint32_t i = 0; i < count; ++i) words.push_back({table << 16 | i, random_word(random)});
}

/// A bank's tables as no verifier would let them through; few entries, which the instructions name.
std::vector<firmware::Word> random_firmware(Random& random) {
  std::vector<firmware::Word> words;
  const std::size_t instructions = 1 + random.below(kInstructions);
  for (std::uint32_t i = 0; i < kInstructions; ++i) {
    // After its end it goes on at the beginning.
    const isa::Instruction end{.control = isa::ControlOp::End};
    const std::uint64_t in = i < instructions ? random_instruction(random, i) : isa::encode(end);
    words.push_back({2 * i, static_cast<std::uint32_t>(in)});
    words.push_back({2 * i + 1, static_cast<std::uint32_t>(in >> 32)});
  }
  put_table(words, 1, std::size_t{8} * 12, random);  // constants
  put_table(words, 2, 8, random);                    // bytes of strings
  put_table(words, 3, 64, random);                   // blocks
  for (std::uint32_t id = 0; id < 8; ++id) {
    // Where the look-up finds a small identifier. The third word: template, valid and reset bits, entry.
    const auto entry = static_cast<std::uint32_t>(random.below(kInstructions));
    const std::uint32_t at = 4U << 16 | id * 4;
    words.push_back({at, id});
    words.push_back({at + 1, static_cast<std::uint32_t>(random.below(4) | 1U << 16 | random.below(2) << 17)});
    words.push_back({at + 2, entry | random_word(random) << 14});
    words.push_back({at + 3, random_word(random)});
  }
  put_table(words, 5, 16, random);  // string slots
  put_table(words, 6, 8, random);   // limits
  // A channel whose rule of reset is any, but in this bank.
  words.push_back({7U << 16 | kRandomChannel * 2, random_word(random) & ~std::uint32_t{4}});
  words.push_back({7U << 16 | (kRandomChannel * 2 + 1), random_word(random)});
  return words;
}

class Attack {
 public:
  Attack(std::uint64_t seed, const Program& verified)
      : bench_(seed), collector_(kMaxRecordSlots), reference_(verified, options()) {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->load_i = 0;
    bench_.reset_until_ready();
    const auto words = firmware::device_words(verified, options());
    if (!words) throw std::runtime_error(words.message());
    load(bench_, words.value(), kVerifiedBank);
    load(bench_, firmware::channel_words(verified, options(), kVerifiedBank), kVerifiedBank);
  }

  /// One after another: each datagram of a random program, and then one of the verified program.
  void run(Random& random, cases::Random& message_random, const Program& verified) {
    load(bench_, random_firmware(random), kRandomBank);
    const std::uint32_t stall = random.chance(25) ? static_cast<std::uint32_t>(random.below(91)) : 0;
    attack::Chatter chatter(verified, message_random);
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      const SentDatagram datagram = hostile(random);
      send(std::span(&datagram, 1), stall, random);
      count();
    }
    const SentDatagram good = proper(chatter, random, 0);
    send(std::span(&good, 1), 0, random);
    compare(std::span(&good, 1));
    count();
    if (random.chance(50)) mix(random, chatter, stall);
  }

  [[nodiscard]] AttackFigures figures() const {
    AttackFigures out = figures_;
    out.cycles = bench_.cycles();
    return out;
  }

 private:
  static EngineOptions options() {
    EngineOptions out;
    out.channels = 2;
    return out;
  }

  DatagramInfo info_for(std::uint16_t channel, std::size_t bytes) {
    DatagramInfo info;
    info.channel = channel;
    info.length_bytes = static_cast<std::uint32_t>(bytes);
    return info;
  }

  SentDatagram hostile(Random& random) {
    std::vector<std::byte> bytes(random.below(40));
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random.chance(50) ? 0x80 | random.below(8) : random.below(256));
    }
    // What a template's message begins with, mostly.
    if (bytes.size() > 2 && random.chance(70)) {
      bytes[0] |= std::byte{0xC0};
      bytes[1] = static_cast<std::byte>(0x80 | random.below(8));
    }
    SentDatagram out{info_for(kRandomChannel, bytes.size()), std::move(bytes)};
    if (random.chance(10)) out.info.data_offset = static_cast<std::uint16_t>(random.below(50));
    out.info.cut = random.chance(5);
    return out;
  }

  /// Of the verified program, with some bytes changed in `damage_percent` of the cases.
  SentDatagram proper(attack::Chatter& chatter, Random& random, std::uint32_t damage_percent) {
    std::vector<std::byte> bytes = chatter.next();
    if (!bytes.empty() && random.chance(damage_percent)) {
      for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
        bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
      }
      if (random.chance(30)) bytes.resize(1 + random.below(bytes.size()));
    }
    SentDatagram out{info_for(kVerifiedChannel, bytes.size()), std::move(bytes)};
    out.info.number = ++number_;
    return out;
  }

  /// Datagrams of both programs without a pause: the bank changes while errors are on their way, and what one program
  /// does wrong must not reach the other's datagrams.
  void mix(Random& random, attack::Chatter& chatter, std::uint32_t stall) {
    std::vector<SentDatagram> datagrams;
    for (std::uint64_t left = 2 + random.below(7); left > 0; --left) {
      datagrams.push_back(random.chance(50) ? hostile(random) : proper(chatter, random, 40));
    }
    send(datagrams, stall, random);
    compare(datagrams);
    count();
  }

  /// The records of the verified program's datagrams, with those of the interpreter.
  void compare(std::span<const SentDatagram> sent) {
    std::vector<Datagram> datagrams;
    for (const SentDatagram& datagram : sent) {
      if (datagram.info.channel != kVerifiedChannel) continue;
      PacketInfo packet;
      packet.number = datagram.info.number;
      packet.channel = kVerifiedChannel;
      datagrams.push_back({datagram.bytes, packet});
    }
    std::vector<Record> records;
    for (const Record& record : collector_.records) {
      if ((record[0].words[2] >> 32 & 0xFFFF) == kVerifiedChannel) records.push_back(record);
    }
    const std::string fault = difference(reference_.decode(datagrams), records);
    if (!fault.empty()) throw Broken("the verified program in the other bank: " + fault);
  }

  /// Sends the datagrams without a pause, until the core is idle again and everything has left it.
  void send(std::span<const SentDatagram> datagrams, std::uint32_t stall, Random& random) {
    figures_.datagrams += datagrams.size();
    Gate out(random, stall);
    DatagramFeeder feeder;
    std::size_t begun = 0;
    std::size_t done = 0;
    std::uint64_t waited = 0;
    std::uint64_t quiet = 0;
    while (done < datagrams.size() || quiet < kQuiet || feeder.busy()) {
      if (!feeder.busy() && begun < datagrams.size()) feeder.begin(datagrams[begun++]);
      bench_->valid_i = feeder.busy();
      if (feeder.busy()) feeder.show(bench_->beat_i, bench_->datagram_i, 0x80);
      bench_->ready_i = out.open();
      bench_.settle();
      ++quiet;
      if (feeder.busy() && bench_->ready_o) feeder.advance();
      if (bench_->valid_o) {
        quiet = 0;
        if (bench_->ready_i) collector_.take(bench_->slot_o);
      } else if (done < datagrams.size()) {
        ++waited;
      }
      if (bench_->datagram_done_o) {
        ++done;
        quiet = 0;
      }
      bench_.step();
      if (waited > datagrams.size() * kMostCycles) {
        throw Broken(fmt::format("not idle {} cycles after the first beat", waited));
      }
      if (quiet > datagrams.size() * kMostCycles) throw Broken("the input is never taken");
    }
    bench_->valid_i = 0;
    if (datagrams.size() == 1) {
      if (waited >= kWatchdogCycles) ++figures_.watchdog;
      figures_.most_cycles = std::max(figures_.most_cycles, waited);
    }
    if (collector_.is_open()) throw Broken("a record was begun and not completed");
  }

  void count() {
    for (const Record& record : collector_.records) {
      ++((record[0].words[0] & 0xFFFF) == record::kEventIndex ? figures_.events : figures_.records);
    }
    collector_.records.clear();
  }

  Bench<Vrtl_random_core> bench_;
  RecordCollector collector_;
  Reference reference_;
  std::uint64_t number_ = 0;
  AttackFigures figures_;
};

}  // namespace

AttackFigures attack_with_programs(const AttackOptions& options) {
  const Result<Program> verified = bench_program();
  if (!verified) throw std::runtime_error(verified.message());
  Attack attack(options.seed, verified.value());
  for (std::uint64_t i = options.first; i < options.first + options.count; ++i) {
    // An attempt depends on its number alone, except for memories that are never cleared.
    Random random(options.seed * 0x9E37'79B9'7F4A'7C15 + i);
    cases::Random message_random(options.seed + i);
    try {
      attack.run(random, message_random, verified.value());
    } catch (const Broken& broken) {
      throw Broken(fmt::format("program {}: {}", i, broken.what()));
    }
    if (options.progress && (i + 1) % 10'000 == 0) std::fputs(fmt::format("programs: {}\n", i + 1).c_str(), stderr);
  }
  return attack.figures();
}

}  // namespace stopbit::sim
