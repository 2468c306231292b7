#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/record/json.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/record/sink.hpp"

namespace stopbit::tools {

/// Keeps the first session control messages (SCP 1.1) of a stream in words, on their way to another sink: a sender that
/// says hello, alerts or defines templates is news for people, and nothing acts on it but a reset.
class SessionLog final : public record::RecordSink {
 public:
  SessionLog(record::RecordSink& inner, const record::Schema& schema);

  [[nodiscard]] Place open() noexcept override { return place_ = inner_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;
  /// A record that has gone elsewhere.
  void look_at(std::span<const record::Slot> record) noexcept;

  /// Whether the program has session templates at all.
  [[nodiscard]] bool expects_messages() const noexcept;

  /// {"template":"Hello",...} each; the last one says how many more there were.
  [[nodiscard]] std::vector<std::string> take_lines();

 private:
  static constexpr std::size_t kKept = 20;

  record::RecordSink& inner_;
  record::JsonPrinter printer_;
  std::vector<bool> is_session_;  ///< By template index.
  Place place_;
  std::vector<std::string> lines_;
  std::uint64_t more_ = 0;
};

}  // namespace stopbit::tools
