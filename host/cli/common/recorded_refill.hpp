#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/appliance/settings.hpp"
#include "host/relay/refill.hpp"

namespace stopbit::tools {

/// A ring's records from the datagrams that its appliance has recorded: they are decoded again, from the ring's
/// beginning, by the image that the ring has.
///
/// Nothing is taken that is not the ring's: the record after the missing ones must be the ring's, word for word, and
/// the records before it must take exactly the missing slots, padding included. So a recording that lacks a packet, or
/// that was decoded with other losses, gives nothing. Two passes, as only the first tells where the records begin; what
/// is found is in a temporary file, so memory is bounded.
class RecordedRefill final : public relay::Refill {
 public:
  /// A ToolError if the settings record nothing, or have no channel whose records go to the ring.
  RecordedRefill(appliance::Settings settings, const std::string& ring);

  [[nodiscard]] Result<std::unique_ptr<relay::FoundRecords>> find(const relay::MissingRecords& missing) override;

 private:
  appliance::Settings settings_;
  std::vector<const feed::Channel*> channels_;  ///< Of the settings.
  std::vector<std::string> lines_;              ///< How the files of their lines begin.
};

}  // namespace stopbit::tools
