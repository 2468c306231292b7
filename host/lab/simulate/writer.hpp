#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::simulate {

/// JSON lines to FAST, with the templates of one stream. The program of the schema must outlive it.
class Writer {
 public:
  Writer(const Program& program, const record::Schema& schema, ResetRule reset);

  void begin_datagram();
  /// Appends a message to the datagram.
  Status add(std::string_view line);

  [[nodiscard]] std::span<const std::byte> data() const { return data_; }
  [[nodiscard]] std::size_t owed_bytes() const { return encoder_.owed_bytes(); }

 private:
  struct Keep {
    std::span<const record::Slot>& to;
    void operator()(std::span<const record::Slot> slots) const { to = slots; }
  };

  record::JsonReader json_;
  encode::Encoder encoder_;
  record::Schema schema_;
  std::span<const record::Slot> record_;
  record::BufferSink<Keep> sink_;
  std::vector<std::byte> data_;
};

}  // namespace stopbit::simulate
