#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/sink.hpp"
#include "host/refill/client.hpp"

namespace stopbit::appliance {

/// Says what an answer of a replay service is, by decoding it with the feed's own program: the kind by its MessageType
/// (35) or, without one, the name of its template; the number by MsgSeqNum (34).
///
/// An answer is one message and nothing else. A heartbeat is none of the feed's: its number may be that of the session.
class AnswerReader {
 public:
  AnswerReader(std::shared_ptr<const Program> program, const EngineLimits& limits);
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;
  ~AnswerReader();

  /// Why answers cannot be read with this program; empty: they can. `logs_on_in_fast`: the service's log-on is one.
  [[nodiscard]] std::string why_not(bool logs_on_in_fast) const;
  [[nodiscard]] refill::Answer read(std::span<const std::byte> answer) noexcept;
  [[nodiscard]] const std::shared_ptr<const Program>& program() const noexcept { return program_; }

 private:
  struct Place {
    refill::Answer::Kind kind = refill::Answer::Kind::Unreadable;
    std::uint16_t word = 0;  ///< Of the number, counted from the record's start; 0: it has none.
  };
  class Sink;
  [[nodiscard]] static Place place_of(const Program& program, const Template& item);

  std::shared_ptr<const Program> program_;
  std::vector<Place> places_;  ///< By template index.
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace stopbit::appliance
