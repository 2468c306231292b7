#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/nic/tag/pattern.hpp"

namespace stopbit::nic {

/// Receives the matches.
class TagSink {
 public:
  TagSink() = default;
  TagSink(const TagSink&) = delete;
  TagSink& operator=(const TagSink&) = delete;
  virtual ~TagSink() = default;
  virtual void matched(const TagReceive& receive, const TagRecord& record) = 0;
};

enum class PostResult : std::uint8_t {
  Posted,
  Served,  ///< By a stored record; it does not stay.
  Full,    ///< No room: of a unit, in it; of Tags, not even in software.
};

/// A tag matching unit of one port: TagMatcher, or `stopbit_tag_unit` of fpga/rtl/tag. One thread.
class TagUnit {
 public:
  struct Arrival {
    std::optional<TagReceive> receive;  ///< The oldest that matches, taken out unless it is persistent.
    bool is_full = false;               ///< None, and no room for the record.
  };

  TagUnit() = default;
  TagUnit(const TagUnit&) = delete;
  TagUnit& operator=(const TagUnit&) = delete;
  virtual ~TagUnit() = default;

  [[nodiscard]] virtual std::size_t receives() const noexcept = 0;
  [[nodiscard]] virtual std::size_t unexpected() const noexcept = 0;

  /// Takes out the oldest record that matches, of a persistent receive all of them, for `sink`. A receive that is not
  /// served is stored. Stamps must be higher than all before; a unit may use its own clock instead.
  [[nodiscard]] virtual PostResult post(const TagReceive& receive, std::uint64_t stamp, TagSink& sink) = 0;
  /// Finds the receive for a record, or stores it.
  [[nodiscard]] virtual Arrival arrive(const TagRecord& record, std::uint64_t stamp) = 0;
  /// The oldest receive for this header; it is taken out unless it is persistent.
  [[nodiscard]] virtual std::optional<TagReceive> take_receive(const TagHeader& header) = 0;
  /// The oldest unexpected record for this receive, taken out.
  [[nodiscard]] virtual std::optional<TagRecord> take_record(const TagReceive& receive) = 0;
  /// The same, left in.
  [[nodiscard]] virtual std::optional<TagRecord> find_record(const TagReceive& receive) const = 0;
  /// False: no such receive exists.
  virtual bool cancel(std::uint64_t id) = 0;

  /// Without a match, back from software. There must be room, and the stamp must be higher than all before.
  virtual void store(const TagReceive& receive, std::uint64_t stamp) = 0;
  virtual void store(const TagRecord& record, std::uint64_t stamp) = 0;
  /// Takes everything out, oldest first, and appends it. Allocates if there is not enough room reserved.
  virtual void dump(std::vector<Stamped<TagReceive>>& receives, std::vector<Stamped<TagRecord>>& records) = 0;
};

}  // namespace stopbit::nic
