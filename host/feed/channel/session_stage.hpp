#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/feed/channel/stage.hpp"
#include "microcode/program.hpp"

namespace stopbit::feed {

/// Looks for messages by which the feed itself says that its numbers begin anew: templates whose name contains
/// "SequenceReset", with an integer field NewSeqNo (FIX tag 36) in their root block, as MOEX and B3 send them. Records
/// pass unchanged.
///
/// Nothing goes back up the line while a datagram is decoded: the stage keeps the announcement, and ChannelDecoder
/// takes it when the arbiter has returned. The arbiter treats it as a hint, never as an order (Arbiter::announce).
class SessionStage final : public Stage {
 public:
  /// Null if the program has no such template: then the line has no such stage.
  [[nodiscard]] static std::unique_ptr<SessionStage> make(const Program& program);

  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;
  [[nodiscard]] Place open() noexcept override { return place_ = Stage::open(); }

  struct Announcement {
    std::uint16_t channel = 0;
    std::uint64_t sequence = 0;
  };
  /// The last one that nothing has taken yet.
  [[nodiscard]] std::optional<Announcement> take() noexcept { return std::exchange(announced_, std::nullopt); }

 private:
  explicit SessionStage(std::vector<std::uint8_t> places) : places_(std::move(places)) {}

  std::vector<std::uint8_t>
      places_;  ///< By template index: the field's word, counted from the record's start; 0: none.
  Place place_;
  std::optional<Announcement> announced_;
};

}  // namespace stopbit::feed
