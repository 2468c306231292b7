#include "host/ports/merger.hpp"

namespace stopbit::ingest {

Next Merger::next(Packet& packet) noexcept {
  const Head* earliest = nullptr;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    Head& head = heads_[i];
    if (head.state == State::Empty) {
      const Next next = sources_[i]->next(head.packet);
      head.state = next == Next::Packet ? State::Ready : State::Ended;
      if (next == Next::Fault) {
        source_ = i;
        return Next::Fault;
      }
    }
    if (head.state == State::Ready && (earliest == nullptr || head.packet.arrival_ns < earliest->packet.arrival_ns)) {
      earliest = &head;
      source_ = i;
    }
  }
  if (earliest == nullptr) return Next::End;
  packet = earliest->packet;
  heads_[source_].state = State::Empty;
  return Next::Packet;
}

}  // namespace stopbit::ingest
