#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "host/refill/dialect.hpp"
#include "host/refill/fix_text.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::refill {

/// The historical replay of the Moscow Exchange: requests are FIX text, answers FAST messages after their length, a
/// u32 with the lowest byte first.
///
/// Unproven: no transcript of a session that we did not make was at hand. The form of the requests is that of FIX 5.0
/// SP2 with the fields that public pages name (V with ApplID, ApplBegSeqNum, ApplEndSeqNum).
class Moex final : public Dialect {
 public:
  struct Options {
    std::string sender;             ///< SenderCompID.
    std::string target = "MOEX";    ///< TargetCompID.
    std::string user = {};          ///< Empty: none.
    std::string password = {};      ///< Empty: none.
    std::string feed;               ///< ApplID: the feed whose messages are wanted.
    std::uint32_t heartbeat_s = 0;  ///< HeartBtInt.
  };
  /// Fails if a text cannot be the value of a field.
  [[nodiscard]] static Result<Moex> make(Options options);

  [[nodiscard]] std::size_t log_on(std::span<char> to, std::uint64_t serial,
                                   std::uint64_t wall_ns) const noexcept override;
  [[nodiscard]] std::size_t request(std::span<char> to, std::uint64_t serial, std::uint64_t wall_ns,
                                    Range range) const noexcept override;
  [[nodiscard]] std::size_t log_out(std::span<char> to, std::uint64_t serial,
                                    std::uint64_t wall_ns) const noexcept override;
  [[nodiscard]] std::optional<Frame> frame(std::span<const std::byte> bytes) const noexcept override;

 private:
  explicit Moex(Options options) : options_(std::move(options)) {}
  [[nodiscard]] std::size_t write(std::span<char> to, std::string_view type, std::uint64_t serial,
                                  std::uint64_t wall_ns, std::span<const FixField> more) const noexcept;

  Options options_;
};

}  // namespace stopbit::refill
