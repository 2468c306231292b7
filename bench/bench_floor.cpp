// Native code beside the least that any decoder has to do with the same datagrams: floor/<workload>/{native,floor}, and
// floor/<workload>/ratio, how many times the floor's time native code takes. The two take turns, A B B A.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/contest.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/wire/index.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

using record::Slot;

/// A message, as the floor knows it without decoding.
struct Message {
  std::uint32_t entities = 0;
  std::uint32_t slots = 0;  ///< Of its record.
};

struct Datagram {
  std::size_t first_message = 0;
  std::size_t messages = 0;
};

struct Plan {
  std::vector<Datagram> datagrams;
  std::vector<Message> messages;
};

/// Learns from an engine how many records of how many slots a datagram gives. Entities are counted by datagram; its
/// messages get equal shares, as the floor cannot see where one ends.
Plan plan_of(const Workload& work, Engine& engine) {
  Plan plan;
  wire::Index index;
  record::BufferSink sink(work.program.max_record_slots, [&plan](std::span<const Slot> record) {
    plan.messages.push_back({0, static_cast<std::uint32_t>(record.size())});
  });
  for (std::size_t i = 0; i < work.datagrams.size(); ++i) {
    const std::size_t first = plan.messages.size();
    const PacketInfo& info = work.datagrams[i].info;
    (void)engine.decode(work.datagram(i), info, sink);
    index.build(work.datagram(i).subspan(info.data_offset));
    std::size_t entities = 0;
    for (std::size_t at = 0; at < index.size(); at += wire::kIndexBlock) {
      entities += static_cast<std::size_t>(std::popcount(index.stops()[at / wire::kIndexBlock]));
    }
    const std::size_t count = plan.messages.size() - first;
    for (std::size_t k = 0; k < count; ++k) {
      plan.messages[first + k].entities = static_cast<std::uint32_t>(entities * (k + 1) / count - entities * k / count);
    }
    plan.datagrams.push_back({first, count});
  }
  for (std::uint16_t channel = 0; channel < work.options.channels; ++channel) engine.reset(channel);
  return plan;
}

/// Finds the stop bits of a datagram, takes the value of each entity (of a longer one its first eight bytes), and
/// stores it in the next word of a record as long as the decoder's. No templates, operators, presence or tags. For the
/// datagrams of one workload, in order, again and again.
class Floor final : public Engine {
 public:
  explicit Floor(Plan plan) : plan_(std::move(plan)) {}

  [[gnu::target("bmi,bmi2,movbe")]] Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                                                   record::RecordSink& sink) noexcept override {
    index_.build(datagram);
    const Datagram& all = plan_.datagrams[next_];
    next_ = next_ + 1 == plan_.datagrams.size() ? 0 : next_ + 1;

    const std::uint64_t* stops = index_.stops() + info.data_offset / wire::kIndexBlock;
    std::uint64_t mask = *stops & ~std::uint64_t{0} << info.data_offset % wire::kIndexBlock;
    const std::uint8_t* window = index_.data() + info.data_offset / wire::kIndexBlock * wire::kIndexBlock;
    const std::uint8_t* position = index_.data() + info.data_offset;
    for (std::size_t i = 0; i < all.messages; ++i) {
      const Message& message = plan_.messages[all.first_message + i];
      const record::RecordSink::Place place = sink.open();
      Slot first = {};
      std::uint32_t entities = message.entities;
      for (std::uint32_t number = 0; number < message.slots; ++number) {
        Slot& slot = number == 0 ? first : place.slots[number];
        std::size_t word = number == 0 ? record::kHeaderWords : 0;
        for (; word < record::kValueWords && entities != 0; ++word, --entities) {
          while (mask == 0) {
            mask = *++stops;
            window += wire::kIndexBlock;
          }
          const std::uint8_t* const end = window + __builtin_ctzll(mask) + 1;
          mask &= mask - 1;
          std::uint64_t bytes;
          std::memcpy(&bytes, position, sizeof(bytes));
          const auto length = std::min<std::size_t>(static_cast<std::size_t>(end - position), sizeof(bytes));
          slot.words[word] = __builtin_ia32_pext_di(__builtin_bswap64(bytes) >> (64 - 8 * length), kDataBits);
          position = end;
        }
        for (; word < record::kValueWords; ++word) slot.words[word] = 0;
        slot.words[record::kTagWord] = number;
      }
      first.words[0] = message.slots;
      first.words[1] = info.arrival_ns;
      sink.commit(first, message.slots);
    }
    Outcome outcome;
    outcome.messages = static_cast<std::uint32_t>(all.messages);
    return outcome;
  }

  void reset(std::uint16_t /*channel*/) noexcept override {}
  void invalidate(std::uint16_t /*channel*/) noexcept override {}

 private:
  static constexpr std::uint64_t kDataBits = 0x7F7F'7F7F'7F7F'7F7F;

  Plan plan_;
  wire::Index index_;
  std::size_t next_ = 0;
};

void measure(const TickClock& clock, Pace& pace, const Workload& work, bool quick, Report& report) {
  const std::string name = "floor/" + work.name;
  std::vector<Subject> subjects = make_subjects(work, report);
  const auto native =
      std::find_if(subjects.begin(), subjects.end(), [](const auto& one) { return one.engine_name == "native"; });
  if (native == subjects.end()) return;
  Floor floor(plan_of(work, *native->engine));
  std::vector<Contestant> contestants;
  contestants.emplace_back(work, *native->engine, name + "/native");
  contestants.emplace_back(work, floor, name + "/floor", name + "/ratio");
  run_contest(clock, pace, contestants, Per::Message, quick, report);
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "Native code beside the least that any decoder has to do.");
  Report report;
  const TickClock clock;
  if (const auto processors = two_processors()) pin(processors->second);
  Pace pace(clock, arguments.pace_ns);
  for_workloads(arguments, report, {},
                [&](const Workload& work) { measure(clock, pace, work, arguments.quick, report); });
  report.add("floor", clock, pace);
  return report.finish(arguments.json);
}
