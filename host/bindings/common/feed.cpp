#include "host/bindings/common/feed.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/replay/replay.hpp"
#include "microcode/base/diagnostic.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::consumer {
namespace {

/// Index of the image with the name, or of the only one that a channel uses.
std::size_t image_of(const feed::Description& description, const std::string& wanted) {
  std::vector<std::string> names;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < description.images.size(); ++i) {
    const auto uses = [i](const feed::Channel& channel) { return channel.image == i; };
    if (std::none_of(description.channels.begin(), description.channels.end(), uses)) continue;
    used.push_back(i);
    names.push_back(description.images[i].name);
    if (names.back() == wanted) return i;
  }
  if (wanted.empty() && used.size() == 1) return used.front();
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw Failed(Fault::Usage, wanted.empty() ? "image: the feed has several, name one: " + list
                                            : "image: the feed has no channel of an image '" + wanted + "'" +
                                                  did_you_mean(wanted, names));
}

}  // namespace

Feed::Feed(feed::Description description, std::size_t image, FirmwarePtr firmware)
    : description_(std::move(description)), firmware_(std::move(firmware)) {
  for (const feed::Channel& channel : description_.channels) {
    if (channel.image == image) channels_.push_back(&channel);
  }
}

FeedPtr open_feed(const std::string& path, const std::string& image, const templates::CompileOptions& options) {
  if (path != "-" && ::access(path.c_str(), R_OK) != 0) throw Failed(errno, path);
  Diagnostics diagnostics;
  auto description = feed::load(path, diagnostics);
  if (!description) throw Failed(Fault::Input, diagnostics.format());
  const std::size_t index = image_of(*description, image);
  const feed::Image& source = description->images[index];
  FirmwarePtr firmware = source.firmware.empty() ? compile(source.templates, options) : load(source.firmware);
  auto opened = std::make_shared<const Feed>(std::move(*description), index, std::move(firmware));
  if (!replay::same_reset_rule(opened->channels())) {
    throw Failed(Fault::Input, path + ": the channels of an image have different reset rules");
  }
  return opened;
}

}  // namespace stopbit::consumer
