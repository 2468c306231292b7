#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/record/layout.hpp"
#include "decoder/record/sink.hpp"

namespace stopbit::replay {

/// Counts the messages of each template on their way to another sink.
class CountingSink final : public record::RecordSink {
 public:
  CountingSink(record::RecordSink& inner, std::size_t templates) : inner_(inner), counts_(templates) {}

  [[nodiscard]] Place open() noexcept override { return inner_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    const auto index = static_cast<std::uint16_t>(first.words[0]);
    if (index < counts_.size()) ++counts_[index];  // events have an index of their own, above all templates
    inner_.commit(first, slots);
  }

  [[nodiscard]] const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  record::RecordSink& inner_;
  std::vector<std::uint64_t> counts_;
};

/// Gives the room of another sink and throws the records away.
class DiscardingSink final : public record::RecordSink {
 public:
  explicit DiscardingSink(record::RecordSink& inner) : inner_(inner) {}
  [[nodiscard]] Place open() noexcept override { return inner_.open(); }
  void commit(const record::Slot& /*first*/, std::uint32_t /*slots*/) noexcept override {}

 private:
  record::RecordSink& inner_;
};

}  // namespace stopbit::replay
