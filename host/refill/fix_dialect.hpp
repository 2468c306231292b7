#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "host/fix/fix_text.hpp"
#include "host/refill/dialect.hpp"

namespace stopbit::refill {

/// The two ends of a session, and the feed that it is about.
struct FixOptions {
  std::string sender;         ///< SenderCompID.
  std::string target = {};    ///< TargetCompID; empty: the usual one.
  std::string user = {};      ///< Empty: none.
  std::string password = {};  ///< Empty: none.
  std::string feed;           ///< ApplID: the feed or channel whose messages are wanted.
};

/// A dialect whose client speaks FIX text: log-on, heartbeats and log-out are those of FIX.
class FixDialect : public Dialect {
 public:
  [[nodiscard]] std::size_t log_on(std::span<char> to, const Sending& sending) const noexcept override;
  [[nodiscard]] std::size_t heartbeat(std::span<char> to, const Sending& sending,
                                      std::string_view probe) const noexcept override;
  [[nodiscard]] std::size_t log_out(std::span<char> to, const Sending& sending) const noexcept override;
  [[nodiscard]] std::uint64_t heartbeat_ns() const noexcept override;

 protected:
  struct Form {
    std::string_view begin_string;
    std::uint32_t heartbeat_s = 0;     ///< HeartBtInt.
    std::string_view version = {};     ///< DefaultApplVerID; empty: none, before FIX 5.0.
    bool begins_numbers_anew = false;  ///< ResetSeqNumFlag: serial numbers begin with the connection.
  };
  FixDialect(FixOptions options, const Form& form) : options_(std::move(options)), form_(form) {}

  [[nodiscard]] std::size_t write(std::span<char> to, std::string_view type, const Sending& sending,
                                  std::span<const fix::FixField> more) const noexcept;
  [[nodiscard]] const FixOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Form& form() const noexcept { return form_; }

 private:
  FixOptions options_;
  Form form_;
};

/// The same, if the answers are in FAST after their length, which is that of all that follows it.
class LengthDialect : public FixDialect {
 public:
  [[nodiscard]] std::optional<std::uint64_t> frame(std::span<const std::byte> bytes) const noexcept override;
  [[nodiscard]] std::size_t most_bytes(std::size_t message_bytes) const noexcept override;
  [[nodiscard]] std::size_t most_messages(std::size_t /*frame_bytes*/) const noexcept override { return 1; }
  [[nodiscard]] std::optional<Reply> read(std::span<const std::byte> frame, Place& place) const noexcept override;
  [[nodiscard]] bool logs_on_in_fast() const noexcept override { return true; }

 protected:
  struct Layout {
    bool lowest_byte_first = false;
    std::size_t preamble_bytes = 0;  ///< Between length and message; it begins with the number, highest byte first.
  };
  LengthDialect(FixOptions options, const Form& form, const Layout& layout)
      : FixDialect(std::move(options), form), layout_(layout) {}

 private:
  Layout layout_;
};

}  // namespace stopbit::refill
