#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "tests/attack/attacks.hpp"
#include "tests/attack/captures.hpp"
#include "tests/attack/change_entities.hpp"
#include "tests/attack/change_program.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/duel.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/round_trip.hpp"
#include "tests/attack/shrink.hpp"
#include "tests/lib/profiled.hpp"
#include "tests/property/projection.hpp"
#include "tests/property/random_case.hpp"

namespace stopbit::attack {
namespace {

constexpr std::uint64_t kQuickMessages = 150'000;
constexpr std::uint64_t kMessages = 100'000'000;
constexpr std::size_t kDatagrams = 400;                             ///< For each program.
constexpr std::size_t kCaptureDatagrams = 1'500;                    ///< For a program that takes long to make.
constexpr std::size_t kMaxBytes = limits::kMaxDatagramBytes + 100;  ///< A little more than an engine takes.
constexpr std::size_t kMaxCases = 10;                               ///< More would not help.
constexpr unsigned kMaxSeconds = 600;                               ///< A program that duels longer hangs.

/// A program, and datagrams that it decodes, one after another.
struct Material {
  Feed feed;
  std::vector<Bytes> datagrams;
  std::vector<cases::RandomCase::Packet> packets;  ///< The same by entities, where these are known.
};

/// Keeps a short case of what goes wrong.
class Witness final : public Attacked {
 public:
  Witness(const Feed& feed, const Duel& duel) : feed_(feed), duel_(duel) { attacked_is(this); }
  ~Witness() override { attacked_is(nullptr); }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  [[nodiscard]] const Feed& feed() const noexcept override { return feed_; }
  [[nodiscard]] std::string history() const override {
    const std::vector<Move> moves(duel_.history().begin(), duel_.history().end());
    const auto fails = [this](const std::vector<Move>& fewer) { return fails_from_the_start(feed_, fewer); };
    if (fails(moves)) return case_text(feed_, shrink(moves, fails));
    std::fputs("only engines that did other work before fail: the case is not made shorter\n", stderr);
    return case_text(feed_, moves);
  }

 private:
  const Feed& feed_;
  const Duel& duel_;
};

Material random_material(std::uint64_t seed, cases::Random& random) {
  cases::CaseSize size;
  size.packets = 1 + random.below(6);
  size.messages = random.chance(20) ? 40 : 1 + random.below(12);
  size.fields = random.chance(10) ? 60 : random.chance(1) ? 160 : random.chance(30) ? 2 : 8;  // 160: long presence maps
  cases::RandomCase made = cases::random_case(seed, size);
  templates::CompileOptions options;
  options.supply_fast_reset = random.chance(50);
  if (random.chance(20)) options.string_capacity = 120 + static_cast<std::uint32_t>(random.below(40));
  if (random.chance(20)) options.max_record_slots = 200 + static_cast<std::uint32_t>(random.below(400));
  Diagnostics diagnostics;
  std::unique_ptr<Feed> feed = try_feed("", made.template_text, options, diagnostics);
  if (feed == nullptr) {  // too deep, when wide templates refer to each other
    size.fields = 0;
    made = cases::random_case(seed, size);
    feed = make_feed("", made.template_text, options);
  }
  if (random.chance(20)) {
    const std::string fields = cases::random_fields(feed->program, random);
    if (!fields.empty()) options.fields = std::make_shared<const SourceBuffer>("fields", fields);
    if (!fields.empty()) feed = make_feed("", made.template_text, options);
  }
  Material material;
  material.feed = std::move(*feed);
  material.feed.reset = made.reset;
  material.datagrams = datagrams_of(made);
  material.packets = made.packets;
  return material;
}

/// Makes the datagrams of a duel.
class Sender {
 public:
  Sender(const Material& material, cases::Random& random)
      : material_(material), random_(random), chatter_(material.feed.program, random) {}

  const Bytes& next() {
    make();
    if (bytes_.size() > kMaxBytes) bytes_.resize(kMaxBytes);
    return bytes_;
  }

 private:
  void make() {
    const std::uint64_t form = random_.below(100);
    if (material_.datagrams.empty() || form < 15) return chatter();
    if (form < 60 && form >= 50 && !material_.packets.empty()) {
      bytes_ = change_entities(material_.packets, random_.below(material_.packets.size()), random_);
    } else if (form >= 60 && form < 75) {
      join();
    } else {
      bytes_ = good();
    }
    if (form >= 60) change_bytes();
  }

  /// In their order, most of the time.
  const Bytes& good() {
    if (random_.chance(20)) at_ = static_cast<std::size_t>(random_.below(material_.datagrams.size()));
    return material_.datagrams[at_++ % material_.datagrams.size()];
  }

  void chatter() {
    bytes_.clear();
    for (std::uint64_t left = 1 + random_.below(4); left > 0; --left) {
      const Bytes& more = chatter_.next();
      bytes_.insert(bytes_.end(), more.begin(), more.end());
    }
  }

  void join() {
    bytes_.clear();
    const std::size_t most = random_.below(100) == 0 ? 2'000 : 12;
    for (std::uint64_t left = 2 + random_.below(most); left > 0; --left) {
      const Bytes& more = good();
      if (bytes_.size() + more.size() > kMaxBytes) break;
      bytes_.insert(bytes_.end(), more.begin(), more.end());
    }
  }

  void change_bytes() {
    for (std::uint64_t left = random_.below(4); left > 0 && !bytes_.empty(); --left) {
      const auto at = static_cast<std::size_t>(random_.below(bytes_.size()));
      const auto place = bytes_.begin() + static_cast<std::ptrdiff_t>(at);
      const auto length = static_cast<std::ptrdiff_t>(std::min<std::size_t>(bytes_.size() - at, 1 + random_.below(12)));
      switch (random_.below(8)) {
        case 0:
        case 1: *place ^= std::byte{1} << random_.below(8); break;
        case 2: *place ^= std::byte{0x80}; break;
        case 3: *place = random_.pick(kBytes); break;
        case 4: bytes_.insert(place, random_.pick(kBytes)); break;
        case 5: bytes_.erase(place, place + length); break;
        case 6: bytes_.resize(at); break;
        default: {  // from another datagram
          const Bytes& other = random_.pick(material_.datagrams);
          if (other.empty()) break;
          const auto from = static_cast<std::ptrdiff_t>(random_.below(other.size()));
          const auto end = std::min<std::ptrdiff_t>(from + length, static_cast<std::ptrdiff_t>(other.size()));
          bytes_.insert(place, other.begin() + from, other.begin() + end);
        }
      }
    }
  }

  static constexpr std::array<std::byte, 10> kBytes = {
      std::byte{0x00}, std::byte{0x01}, std::byte{0x3F}, std::byte{0x40}, std::byte{0x7F},
      std::byte{0x80}, std::byte{0x81}, std::byte{0xBF}, std::byte{0xC0}, std::byte{0xFF}};

  const Material& material_;
  cases::Random& random_;
  Chatter chatter_;
  std::size_t at_ = 0;
  Bytes bytes_;
};

class Arena {
 public:
  explicit Arena(const Plan& plan) : plan_(plan) {
    for (Captured& captured : captures()) {
      captured_.push_back({std::move(captured.feed), std::move(captured.datagrams), {}});
    }
    Feeds feeds = fixed_feeds();
    Feeds cells = cell_feeds();
    std::move(cells.begin(), cells.end(), std::back_inserter(feeds));
    for (const auto& feed : feeds) small_.push_back({std::move(*feed), {}, {}});
    for (const auto& feed : corpus_feeds()) large_.push_back({std::move(*feed), {}, {}});
  }

  /// False if a case was kept.
  bool run(std::uint64_t number, Counts& counts) {
    cases::Random random(plan_.seed * 0x9E37'79B9'7F4A'7C15 + number);
    std::size_t datagrams = kDatagrams;
    Material material = choose(number, random, datagrams);
    Feed& feed = material.feed;
    feed.name = fmt::format("seed-{}-number-{}", plan_.seed, number);
    if (random.chance(30))
      feed.reset = std::array{ResetRule::Packet, ResetRule::Template, ResetRule::Never}[random.below(3)];
    feed.strict = random.chance(30);
    feed.channels = static_cast<std::uint16_t>(random.chance(70) ? 1 : 2 + random.below(3));
    if (random.chance(10)) feed.limits = some_limits(random);
    if (random.chance(20)) change(feed, random, counts);
    if (random.chance(30)) add_profiles(material, random.chance(50));
    ++counts.targets;
    return duel(material, datagrams, random, counts);
  }

 private:
  /// Most are made up; now and then a capture, a template set of ours, or a large one of an exchange with random bytes.
  Material choose(std::uint64_t number, cases::Random& random, std::size_t& datagrams) {
    const std::uint64_t from = random.below(1'000);
    if (from < 4 || (from < 8 && large_.empty())) {
      datagrams = kCaptureDatagrams;
      return random.pick(captured_);
    }
    if (from < 8) {
      datagrams = kCaptureDatagrams;
      return random.pick(large_);
    }
    if (from < 100) return random.pick(small_);
    return random_material(plan_.seed * 1'000'000'007 + number, random);
  }

  /// Programs for the maps of its own datagrams.
  static void add_profiles(Material& material, bool with_hints) {
    constexpr std::size_t kDatagramsCounted = 50;
    Feed& feed = material.feed;
    std::vector<cases::Datagram> datagrams;
    for (const Bytes& bytes : material.datagrams) {
      if (datagrams.size() < kDatagramsCounted) datagrams.push_back({bytes, 0});
    }
    Program profiled = cases::with_profiles(feed.program, engine_options(feed), datagrams);
    if (with_hints) profiled = cases::with_hints(std::move(profiled));
    if (profiled.profiles.empty()) return;
    if (const verify::Report checked = verify::check(profiled); !checked.ok()) {
      fail("a program with profiles passes the verifier", feed.name + ": " + problems(checked));
    }
    feed.general = std::exchange(feed.program, std::move(profiled));
    feed.template_text.clear();
  }

  static std::string problems(const verify::Report& report) {
    std::string text;
    for (const verify::Finding& finding : report.findings) {
      text += fmt::format("{}: {} [{}]\n", finding.where, finding.message, finding.rule);
    }
    return text;
  }

  /// As no compiler would write it, if the verifier lets it pass.
  static void change(Feed& feed, cases::Random& random, Counts& counts) {
    constexpr std::size_t kMaxCode = 1'000;  // larger ones only take longer to verify
    constexpr int kAttempts = 5;
    if (feed.program.code.size() > kMaxCode) return;
    for (int i = 0; i < kAttempts; ++i) {
      Program program = feed.program;
      if (random.chance(50)) reshape_program(program, random);
      for (std::uint64_t left = random.below(4); left > 0; --left) change_program(program, random);
      if (!verify::check(program).ok()) {
        ++counts.refused;
        continue;
      }
      ++counts.accepted;
      feed.program = std::move(program);
      feed.template_text.clear();
      return;
    }
  }

  /// False if a case was kept.
  static bool duel(const Material& material, std::size_t datagrams, cases::Random& random, Counts& counts) {
    const Feed& feed = material.feed;
    alarm(kMaxSeconds);
    Duel duel(feed);
    const Witness witness(feed, duel);
    Sender sender(material, random);
    for (std::size_t i = 0; i < datagrams; ++i) {
      const auto channel = static_cast<std::uint16_t>(random.below(feed.channels));
      if (random.chance(5)) duel.reset(channel);
      Outcome outcome;
      const std::string text = duel.decode(channel, sender.next(), outcome);
      if (!text.empty()) {
        report("every engine does the same", text);
        return false;
      }
      counts.add(outcome);
      // Otherwise most of what follows would be dropped.
      if (outcome.error != ErrorCode::None && feed.reset != ResetRule::Packet && random.chance(80)) duel.reset(channel);
    }
    return true;
  }

  const Plan& plan_;
  std::vector<Material> captured_;
  std::vector<Material> small_;
  std::vector<Material> large_;
};

}  // namespace

void attack_with_differences(const Plan& plan, Counts& counts) {
  Arena arena(plan);
  Progress progress("differential");
  const std::uint64_t wanted = plan.is_long ? kMessages * plan.times : kQuickMessages;
  std::size_t kept = 0;
  for (std::uint64_t number = plan.first; counts.messages < wanted && kept < kMaxCases; ++number) {
    if (!arena.run(number, counts)) ++kept;
    progress.tell(counts, fmt::format("program {}", number));
  }
  alarm(0);
  if (kept != 0) {
    fmt::print(stderr, "{} programs on which the engines differ\n", kept);
    std::exit(1);
  }
}

}  // namespace stopbit::attack
