#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/result.hpp"

namespace stopbit::simulate {

/// Variables of a message: the simulated exchange fills it in, patterns write it out.
struct Facts {
  std::uint64_t sequence = 0;  ///< Of the packet.
  std::uint64_t time_ns = 0;   ///< Since the epoch.
  std::uint64_t sender = 0;
  std::uint64_t last_sequence = 0;  ///< Of the incremental stream that goes with this one.
  std::uint64_t message = 0;        ///< Of the product: the message's own number.
  std::uint64_t last_message = 0;   ///< Of the product: the last one sent.
  std::uint64_t report = 0;         ///< RptSeq of the instrument.
  std::uint64_t instrument = 0;
  std::uint64_t instruments = 0;  ///< Of the channel.
  std::uint64_t product = 0;
  std::string_view symbol;
  std::uint64_t action = 0;
  std::uint64_t side = 0;  ///< 0 bid, 1 offer.
  std::uint64_t level = 0;
  std::uint64_t price = 0;  ///< In hundredths.
  std::uint64_t size = 0;
  std::uint64_t orders = 0;
  bool first = false;  ///< Fragment of a snapshot.
  bool final = false;
  std::string_view entries;  ///< Output of the inner pattern, joined by commas.
};

/// A JSON line with variables in it: `{"MsgSeqNum":$seq,"Symbol":"$symbol"}`.
class Pattern {
 public:
  /// The failure names a variable that does not exist, and those that do.
  [[nodiscard]] static Result<Pattern> parse(std::string_view text);

  void write(const Facts& facts, std::string& to) const;
  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }

  /// Names and meanings of the variables, a line each, for the manual.
  [[nodiscard]] static std::string variables();

 private:
  /// Text, then a variable.
  struct Piece {
    std::string text;
    std::size_t variable = 0;  ///< Into the list; its size = none.
  };
  std::vector<Piece> pieces_;
};

}  // namespace stopbit::simulate
