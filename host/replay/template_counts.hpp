#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/feed/channel/stage.hpp"

namespace stopbit::replay {

/// Counts the messages of each template.
class TemplateCounts final : public feed::Stage {
 public:
  explicit TemplateCounts(std::size_t templates) : counts_(templates) {}

  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    const auto index = static_cast<std::uint16_t>(first.words[0]);
    if (index < counts_.size()) ++counts_[index];  // events have an index of their own, above all templates
    next().commit(first, slots);
  }

  [[nodiscard]] const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace stopbit::replay
