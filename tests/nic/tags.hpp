#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/tag/tags.hpp"
#include "tests/nic/arguments.hpp"
#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// The steps about tag matching.
class TagsScript final : private TagSink {
 public:
  /// Both must outlive it.
  TagsScript(std::vector<std::string>& said, const Units& units) : said_(said), units_(units) {}

  /// False: it is none of these steps, or written wrongly.
  [[nodiscard]] bool run(const std::string& step, Arguments& arguments);

 private:
  void matched(const TagReceive& receive, const TagRecord& record) override;

  std::vector<std::string>& said_;
  const Units& units_;
  std::optional<Tags> tags_;
};

}  // namespace stopbit::nic
