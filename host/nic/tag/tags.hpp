#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/nic/tag/matcher.hpp"
#include "host/nic/tag/unit.hpp"

namespace stopbit::nic {

struct TagOptions {
  MatcherOptions unit;
  std::size_t software_receives = 65'536;    ///< That software keeps when the unit is full,
  std::size_t software_unexpected = 65'536;  ///< and records.
  bool stores_unexpected = true;             ///< Else they are only counted.
};

struct TagCounters {
  std::uint64_t matched = 0;     ///< Records that were handed to a receive.
  std::uint64_t unexpected = 0;  ///< Records that came before a matching receive.
  std::uint64_t dropped = 0;     ///< Of these: not stored, because they are only counted or there was no room.
  std::uint64_t handed_to_software = 0;
  std::uint64_t handed_back = 0;
};

/// The subscriptions of one port: the matching unit, and software that takes over when it overflows.
///
/// When a receive or a record has no room in the unit, all entries go to software with their stamps, which then matches
/// by looking at each in turn. As soon as what is left fits into half the unit, it goes back, oldest first. Order and
/// results are those of one endless unit; only the time differs. Records of equal headers reach receives in the order
/// in which they came. One thread. Allocates in the constructor only.
class Tags {
 public:
  Tags(const TagOptions& options, TagSink& sink);
  /// With a unit of the sizes in `options`, for example one in hardware.
  Tags(const TagOptions& options, TagSink& sink, std::unique_ptr<TagUnit> unit);

  /// Stored records are served first, oldest first: one to a receive that serves one, all that match to a persistent
  /// one.
  [[nodiscard]] PostResult post(const TagReceive& receive);
  /// Of a receive that is posted. False: it is not.
  bool cancel(std::uint64_t id);
  void arrive(const TagRecord& record);
  /// The oldest receive for a record that is not stored; taken out unless it is persistent. For callers that can take a
  /// record without a receive only sometimes.
  [[nodiscard]] std::optional<TagReceive> serve(const TagHeader& header);
  /// The oldest stored record that the receive would take; it stays (peek), or is taken out (claim).
  [[nodiscard]] std::optional<TagRecord> peek(const TagReceive& receive) const;
  [[nodiscard]] std::optional<TagRecord> claim(const TagReceive& receive);
  /// Whether a record that matches nothing can be stored.
  [[nodiscard]] bool has_room_for_record() const noexcept;

  [[nodiscard]] bool is_in_software() const noexcept { return is_in_software_; }
  [[nodiscard]] std::size_t receives() const noexcept { return unit_->receives() + receives_.size(); }
  [[nodiscard]] std::size_t unexpected() const noexcept { return unit_->unexpected() + records_.size(); }
  [[nodiscard]] const TagCounters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] std::optional<TagReceive> take_receive(const TagHeader& header);
  [[nodiscard]] std::optional<TagRecord> take_record(const TagReceive& receive);
  [[nodiscard]] PostResult post_in_software(const TagReceive& receive);
  void to_software();
  void back_if_it_fits();

  TagOptions options_;
  TagSink& sink_;
  std::unique_ptr<TagUnit> unit_;
  bool is_in_software_ = false;
  std::uint64_t stamp_ = 0;
  std::vector<Stamped<TagReceive>> receives_;  ///< Oldest first; used only while in software.
  std::vector<Stamped<TagRecord>> records_;
  TagCounters counters_;
};

}  // namespace stopbit::nic
