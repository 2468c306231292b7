#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "tests/attack/target.hpp"
#include "tests/property/random_case.hpp"

namespace stopbit::attack {

/// Decodes, encodes what came out, decodes that: the same records must come back, whatever the datagrams were.
class RoundTrip {
 public:
  explicit RoundTrip(const Feed& feed);

  /// Datagrams that follow each other on a fresh dictionary; up to the first that has an error. `text`, if given, gets
  /// the JSON lines of the messages.
  void check(const std::vector<Bytes>& datagrams, std::string* text = nullptr);

 private:
  using Record = std::vector<record::Slot>;

  const Feed& feed_;
  record::Schema schema_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Engine> second_engine_;
  encode::Encoder encoder_;
};

/// The bytes of each packet.
[[nodiscard]] std::vector<Bytes> datagrams_of(const cases::RandomCase& made);

/// What the sender meant must come out, and go in and out again.
void check_values(const cases::RandomCase& made, RoundTrip& round_trip);

}  // namespace stopbit::attack
