#pragma once

#include <memory>
#include <optional>

#include "host/feed/description/description.hpp"

namespace stopbit::feed {

/// The channels that a configuration.xml of the Moscow Exchange lists: a channel for each group and type of connection,
/// with the lines of its feeds A and B and their source addresses. Connections of other protocols than UDP (the TCP
/// replay) are none. Snapshots and instrument replays are carousels. Where a group with books of SPECTRA has one
/// channel of increments and one of snapshots, both have its map and a ring, and the snapshots recover the increments.
///
/// Images and paths of templates are not in the file: there is one image, of the given template file. Nothing after an
/// error.
[[nodiscard]] std::optional<Description> from_moex(const std::shared_ptr<const SourceBuffer>& configuration,
                                                   const std::string& templates, Diagnostics& diagnostics);

}  // namespace stopbit::feed
