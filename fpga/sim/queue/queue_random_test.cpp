/// Everything at once: ports that write whole, in pieces, wrongly, and never to an end; units that stall; resets.
#include "queue_fixture.hpp"

namespace stopbit::sim::queue {
namespace {

class QueueRandom : public QueueTest {
 protected:
  std::uint64_t any_port() { return unit_.random.below(unit_.random.chance(80) ? 4 : kPorts); }
  /// Something of one of the kinds of writers.
  void post_some() {
    Random& random = unit_.random;
    const std::uint64_t vpid = any_port();
    const std::uint64_t number = random.below(4);
    switch (random.below(10)) {
      case 0:
      case 1: post(write_of(address_of(vpid, random_short()), {random.bits(), random.bits()})); break;
      case 2:
      case 3: post(write_line(vpid, number, random_line(random.chance(50)))); break;
      case 4:
      case 5:
        for (const htax::Packet& piece : pieces(vpid, number, random_line(random.chance(50)))) post(piece);
        break;
      case 6: {  // never to its end
        const std::vector<htax::Packet> some = pieces(vpid, number, random_line(false));
        for (std::size_t i = 0; i + 1 < some.size(); ++i) post(some[i]);
        break;
      }
      case 7: {  // pieces of two lines, or two ports
        const std::vector<htax::Packet> first = pieces(vpid, number, random_line(false));
        const std::vector<htax::Packet> second = pieces(any_port(), random.below(4), random_line(true));
        for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
          if (i < first.size()) post(first[i]);
          if (i < second.size()) post(second[i]);
        }
        break;
      }
      case 8: {  // any size, anywhere in the page
        htax::Packet packet = htax::make(random, {.length = random.below(16),
                                                  .origin = random.below(16),
                                                  .tag = random.below(32),
                                                  .address = kWindow | vpid << 12U | random.below(4096)});
        post(packet);
        break;
      }
      default: {  // any bits
        htax::Packet packet = htax::make(random, {.length = random.below(16)});
        packet[0] = (packet[0] & std::uint64_t{15} << 57U) | (random.bits() & ~(std::uint64_t{15} << 57U));
        post(packet);
      }
    }
  }
};

TEST_F(QueueRandom, agrees_with_the_model_over_any_writes_and_stalls) {
  const int rounds = is_long() ? 2'000 : 60;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    unit_.stall_percent = static_cast<std::uint32_t>(round % 4 * 30);
    for (int i = 0; i < 100; ++i) post_some();
    // One of the units stops for a while.
    unit_.transfers_are_shut = unit_.random.chance(40);
    unit_.messages_are_shut = unit_.random.chance(40);
    unit_.cycles(unit_.random.below(2'000));
    unit_.transfers_are_shut = unit_.messages_are_shut = false;
    check();
    if (round % 5 == 0) open(any_port());
    if (round % 7 == 0) close(any_port());
    if (round % 11 == 0) open_all();
  }
}

TEST_F(QueueRandom, begins_again_after_a_reset_at_any_time) {
  unit_.stall_percent = 30;
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    for (int i = 0; i < 20; ++i) post_some();
    unit_.transfers_are_shut = unit_.random.chance(30);
    unit_.cycles(unit_.random.below(600));
    unit_.transfers_are_shut = false;
    reset();
    for (int i = 0; i < 20; ++i) post_some();
    check();
  }
}

}  // namespace
}  // namespace stopbit::sim::queue
