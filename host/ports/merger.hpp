#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "host/ports/packet_source.hpp"

namespace stopbit::ingest {

/// Reads several sources as one, in the order of arrival times: captures of the two lines of a feed, taken by two
/// cards. Packets of equal time come in the order of their sources; a source whose own times decrease keeps its order.
/// A damaged source ends without ending the others.
///
/// The sources must outlive it and have no other reader. One thread. Allocates only when constructed.
class Merger {
 public:
  explicit Merger(std::span<const std::unique_ptr<PacketSource>> sources) : sources_(sources), heads_(sources.size()) {}

  /// Returns the next packet; source() is its source. After a fault of source() the others continue, so packets can
  /// follow. The packet's frame is valid until the next call.
  [[nodiscard]] Next next(Packet& packet) noexcept;
  [[nodiscard]] std::size_t source() const noexcept { return source_; }

 private:
  enum class State : std::uint8_t { Empty, Ready, Ended };
  struct Head {
    State state = State::Empty;
    Packet packet;
  };

  std::span<const std::unique_ptr<PacketSource>> sources_;
  std::vector<Head> heads_;
  std::size_t source_ = 0;
};

}  // namespace stopbit::ingest
