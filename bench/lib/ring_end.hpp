#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "decoder/record/sink.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/spin.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::bench {

/// Of rings that are written without an engine.
inline Program ring_program() {
  Program program;
  program.max_record_slots = 64;
  return program;
}

/// A ring of this run only.
class Ring {
 public:
  explicit Ring(const std::string& what) : name_("bench-" + std::to_string(::getpid()) + "-" + what) {
    Result<ring::Writer> made = ring::Writer::create(name_, ring_program());
    if (!made) throw std::runtime_error(made.message());
    writer_.emplace(std::move(made).value());
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { ::unlink(os::path_of(name_).value().c_str()); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] ring::Writer& writer() { return *writer_; }
  [[nodiscard]] ring::Reader reader() const {
    Result<ring::Reader> opened = ring::Reader::open(name_, ring::Start::Newest);
    if (!opened) throw std::runtime_error(opened.message());
    return std::move(opened).value();
  }

 private:
  std::string name_;
  std::optional<ring::Writer> writer_;
};

/// As an engine writes.
inline void write(record::RecordSink& sink, std::uint32_t slots, std::uint64_t value) {
  const record::RecordSink::Place place = sink.open();
  for (std::uint32_t i = 1; i < slots; ++i) {
    record::Slot& slot = place.slots[i];
    for (std::size_t word = 0; word < record::kValueWords; ++word) record::store_word(slot.words[word], value + word);
    record::store_word(slot.words[record::kTagWord], record::tag_word_base(place.phase(), i));
  }
  record::Slot first;
  first.words[0] = std::uint64_t{slots} << 16 | std::uint64_t{place.stamp()} << 32;
  for (std::size_t word = 1; word < record::kValueWords; ++word) first.words[word] = value;
  first.words[record::kTagWord] = ring::first_slot_tags(place.phase());
  sink.commit(first, slots);
}

/// Waits for a record and gives its last value.
inline std::uint64_t read(ring::Reader& reader) {
  ring::Spin spin;
  while (reader.poll() != ring::Poll::Record) spin.wait();
  return reader.record().back().words[record::kValueWords - 1];
}

}  // namespace stopbit::bench
