#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/bindings/common/firmware.hpp"
#include "host/feed/description/description.hpp"

namespace stopbit::consumer {

/// The channels of a feed.toml that one of its images decodes, and that image.
class Feed {
 public:
  Feed(feed::Description description, std::size_t image, FirmwarePtr firmware);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  /// They live as long as this.
  [[nodiscard]] const std::vector<const feed::Channel*>& channels() const noexcept { return channels_; }
  [[nodiscard]] const feed::Description& description() const noexcept { return description_; }
  [[nodiscard]] const FirmwarePtr& firmware() const noexcept { return firmware_; }

 private:
  feed::Description description_;
  std::vector<const feed::Channel*> channels_;
  FirmwarePtr firmware_;
};
using FeedPtr = std::shared_ptr<const Feed>;

/// Reads the file and compiles or loads the image. `image`: its name; empty if the feed has only one. All errors are in
/// the message, with file, line and column.
[[nodiscard]] FeedPtr open_feed(const std::string& path, const std::string& image,
                                const templates::CompileOptions& options = {});

}  // namespace stopbit::consumer
