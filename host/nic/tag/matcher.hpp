#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/nic/protocol/protocol.hpp"
#include "host/nic/tag/pattern.hpp"
#include "host/nic/tag/unit.hpp"

namespace stopbit::nic {

struct MatcherOptions {
  std::size_t receives = 1024;    ///< That can be posted at once,
  std::size_t unexpected = 1024;  ///< and records without a matching receive.
};

/// The tag matching unit of one port in software: fixed stores of receives and of unexpected records.
///
/// A record goes to the oldest receive that matches, a receive takes the oldest record: both by one 64-bit clock, which
/// never overflows, where the source document ages entries. Receives with equal masks share a hash table, so a record
/// costs one look for each mask in use, of which there may be kMasks; a post looks at all unexpected records.
/// One thread. Allocates in the constructor only.
class TagMatcher final : public TagUnit {
 public:
  static constexpr std::size_t kMasks = protocol::kTagMasks;

  explicit TagMatcher(const MatcherOptions& options);

  [[nodiscard]] std::size_t receives() const noexcept override { return receives_used_; }
  [[nodiscard]] std::size_t unexpected() const noexcept override { return records_used_; }
  /// Whether a receive with this mask can be stored, and one more record.
  [[nodiscard]] bool has_room_for(const TagMask& mask) const noexcept;
  [[nodiscard]] bool has_room_for_record() const noexcept { return records_used_ < records_.size(); }

  [[nodiscard]] PostResult post(const TagReceive& receive, std::uint64_t stamp, TagSink& sink) override;
  [[nodiscard]] Arrival arrive(const TagRecord& record, std::uint64_t stamp) override;
  void store(const TagReceive& receive, std::uint64_t stamp) noexcept override;
  void store(const TagRecord& record, std::uint64_t stamp) noexcept override;
  [[nodiscard]] std::optional<TagReceive> take_receive(const TagHeader& header) noexcept override;
  [[nodiscard]] std::optional<TagRecord> take_record(const TagReceive& receive) noexcept override;
  [[nodiscard]] std::optional<TagRecord> find_record(const TagReceive& receive) const noexcept override;
  bool cancel(std::uint64_t id) noexcept override;
  void dump(std::vector<Stamped<TagReceive>>& receives, std::vector<Stamped<TagRecord>>& records) override;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Receive {
    Stamped<TagReceive> entry;
    std::uint32_t next = kNone;  ///< In its bucket, younger; or the next free one.
    std::uint32_t mask = kNone;  ///< Index of its mask; kNone = free.
  };
  struct Record {
    Stamped<TagRecord> entry;
    std::uint32_t next = kNone;  ///< Younger, or the next free one.
    std::uint32_t previous = kNone;
  };
  struct MaskInUse {
    TagMask mask;
    std::size_t receives = 0;
  };
  struct Bucket {
    std::uint32_t oldest = kNone;
    std::uint32_t youngest = kNone;
  };

  [[nodiscard]] std::uint32_t index_of(const TagMask& mask) const noexcept;
  [[nodiscard]] Bucket& bucket_of(std::uint32_t mask, const TagHeader& header) noexcept;
  void remove(Bucket& bucket, std::uint32_t before, std::uint32_t at) noexcept;
  void remove_record(std::uint32_t at) noexcept;

  std::vector<Receive> receives_;
  std::vector<Record> records_;
  std::vector<Bucket> buckets_;
  std::array<MaskInUse, kMasks> masks_;
  std::uint32_t free_receive_ = 0;
  std::uint32_t free_record_ = 0;
  std::uint32_t oldest_record_ = kNone;
  std::uint32_t youngest_record_ = kNone;
  std::size_t receives_used_ = 0;
  std::size_t records_used_ = 0;
};

}  // namespace stopbit::nic
