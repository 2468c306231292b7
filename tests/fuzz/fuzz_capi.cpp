// Any bytes through the C library: slots, datagrams and images. Nothing is read outside of them, and a walk is
// balanced, whole, and says the same as the JSON line.
//
// Input: what the rest is (0 slots, 1 datagrams, 2 an image), template set, then that.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "host/bindings/c/stopbit.h"
#include "microcode/image/image.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/lib/image_bytes.hpp"

namespace {

using stopbit::fuzz::require;

/// What a walk has told so far.
struct Walk {
  stopbit_record* record;
  std::vector<std::int32_t> open = {};  ///< Kinds that are to be closed, from the outside in.
  std::uint64_t sum = 0;                ///< So that every byte is looked at.
  std::size_t items = 0;
  std::size_t stop_after = SIZE_MAX;
};

void touch(Walk& walk, const char* text, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) walk.sum += static_cast<unsigned char>(text[i]);
}

void take_field(Walk& walk, const stopbit_item& item) {
  require(item.type >= STOPBIT_INT8 && item.type <= STOPBIT_TIMESTAMP, "a field has a type");
  const bool is_text = item.type == STOPBIT_ASCII || item.type == STOPBIT_UNICODE || item.type == STOPBIT_BYTE_VECTOR;
  if (is_text || item.type == STOPBIT_ENUM) require(item.text != nullptr, "a text is told");
  if (item.text != nullptr) touch(walk, item.text, item.text_size);
  if (item.type == STOPBIT_ENUM) {
    const char* name = stopbit_record_element(walk.record, &item, static_cast<std::uint32_t>(item.value));
    require(name != nullptr && std::strcmp(name, item.text) == 0, "an element has one name");
  }
  if (item.type == STOPBIT_SET) {
    for (std::uint32_t i = 0; i < 64; ++i) {
      const bool is_set = (static_cast<std::uint64_t>(item.value) >> i & 1) != 0;
      if (is_set) require(stopbit_record_element(walk.record, &item, i) != nullptr, "every element has a name");
    }
  }
  if (item.type == STOPBIT_DECIMAL) require(item.exponent >= -63 && item.exponent <= 63, "exponents are in range");
}

int take_item(void* user, const stopbit_item* item) {
  Walk& walk = *static_cast<Walk*>(user);
  touch(walk, item->name, std::strlen(item->name));
  switch (item->kind) {
    case STOPBIT_FIELD: take_field(walk, *item); [[fallthrough]];
    case STOPBIT_GROUP_BEGIN:
    case STOPBIT_SEQUENCE_BEGIN:
    case STOPBIT_ELEMENT_BEGIN:
    case STOPBIT_REFERENCE_BEGIN:
      require(item->depth == walk.open.size(), "the depth is that of what is open");
      if (item->kind != STOPBIT_FIELD) walk.open.push_back(item->kind);
      break;
    default: {
      require(!walk.open.empty(), "nothing is closed that was not opened");
      constexpr std::array<std::int32_t, 9> kOpener = {
          0, 0, STOPBIT_GROUP_BEGIN, 0, 0, STOPBIT_ELEMENT_BEGIN, STOPBIT_SEQUENCE_BEGIN, 0, STOPBIT_REFERENCE_BEGIN};
      require(item->kind > 0 && item->kind < 9 && walk.open.back() == kOpener[static_cast<std::size_t>(item->kind)],
              "what is closed was opened last");
      walk.open.pop_back();
      require(item->depth == walk.open.size(), "the depth is that of what is open");
    }
  }
  return ++walk.items == walk.stop_after ? 1 : 0;
}

int take_record(void* /*user*/, stopbit_record* record) {
  const stopbit_header* header = stopbit_record_header(record);
  require(header != nullptr, "a record has a header");
  if (const stopbit_event* event = stopbit_record_event(record)) {
    require(event->kind != nullptr && event->code != nullptr && event->detail != nullptr, "an event has texts");
  }
  if (const stopbit_market_event* event = stopbit_record_market_event(record)) {
    require(stopbit_record_event(record) == nullptr && header->template_name == nullptr, "a record is of one sort");
    require(event->kind_name != nullptr && event->sequence == header->sequence, "a market event is its header's");
  }
  Walk walk{.record = record};
  const stopbit_status walked = stopbit_record_walk(record, take_item, &walk);
  require(walked == STOPBIT_OK || walked == STOPBIT_ERROR_INPUT, "a walk ends or the record is damaged");
  require(walked != STOPBIT_OK || walk.open.empty(), "all that was opened is closed");

  std::size_t length = 0;
  std::vector<char> json(1U << 20);
  const stopbit_status printed = stopbit_record_json(record, json.data(), json.size(), &length);
  const bool is_too_long = printed == STOPBIT_ERROR_ARGUMENT && length >= json.size();
  const bool is_unknown_event = printed == STOPBIT_ERROR_INPUT && header->template_name == nullptr;
  require(printed == walked || is_too_long || is_unknown_event, "walk and JSON agree", stopbit_record_error(record));
  require(printed != STOPBIT_OK || std::strlen(json.data()) == length, "the length is that of the text");

  if (walk.items > 1) {
    Walk half{.record = record, .stop_after = walk.items / 2};
    require(stopbit_record_walk(record, take_item, &half) == STOPBIT_STOPPED && half.items == half.stop_after,
            "a walk ends where the callback wants it");
  }
  return 0;
}

/// Decodes the datagrams one after the other.
void decode(const stopbit_program* program, std::uint8_t choice, const std::vector<std::vector<std::byte>>& datagrams) {
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  options.strict = choice & 1;
  options.reset = (choice & 2) != 0 ? "packet" : "never";
  options.engine = (choice & 4) != 0 ? "interp" : nullptr;
  stopbit_engine* engine = stopbit_engine_new();
  require(stopbit_engine_open(engine, program, &options) == STOPBIT_OK, "a program can be opened",
          stopbit_engine_error(engine));
  for (const std::vector<std::byte>& datagram : datagrams) {
    const stopbit_status status =
        stopbit_engine_decode(engine, datagram.data(), datagram.size(), nullptr, take_record, nullptr);
    require(status == STOPBIT_OK || status == STOPBIT_ERROR_INPUT, "a datagram is decoded or refused");
    const bool has_words = stopbit_engine_error(engine)[0] != '\0';
    require(has_words == (status == STOPBIT_ERROR_INPUT), "a refusal says why");
  }
  stopbit_engine_free(engine);
}

/// Loaded once and for all.
stopbit_program* fixed_program(std::uint8_t index) {
  static std::array<stopbit_program*, 256> loaded;
  stopbit_program*& program = loaded[index];
  if (program != nullptr) return program;
  program = stopbit_program_new();
  const std::vector<std::byte> image = stopbit::image::write(stopbit::fuzz::fixed_program(index));
  require(stopbit_program_load_image(program, image.data(), image.size()) == STOPBIT_OK, "a good image is loaded",
          stopbit_program_error(program));
  return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stopbit::fuzz::Input input({data, size});
  const std::uint8_t what = input.byte();
  const std::uint8_t set = input.byte();
  if (what % 3 == 0) {
    // Exactly as many bytes as there are, so that a sanitizer sees a read past their end.
    const std::span<const std::byte> rest = input.rest();
    const std::vector<std::byte> slots(rest.begin(), rest.end());
    const stopbit_status status =
        stopbit_program_read_slots(fixed_program(set), slots.empty() ? "" : static_cast<const void*>(slots.data()),
                                   slots.size(), take_record, nullptr);
    require(status == STOPBIT_OK || status == STOPBIT_ERROR_INPUT, "slots are read or refused");
  } else if (what % 3 == 1) {
    const std::uint8_t choice = input.byte();
    decode(fixed_program(set), choice, stopbit::fuzz::take_datagrams(input));
  } else {
    stopbit_program* program = stopbit_program_new();
    const std::span<const std::byte> rest = input.rest();
    std::vector<std::byte> image(rest.begin(), rest.end());
    if ((set & 1) != 0) stopbit::cases::mend_checksums(image);
    const stopbit_status status =
        stopbit_program_load_image(program, image.empty() ? "" : static_cast<const void*>(image.data()), image.size());
    require(status == STOPBIT_OK || stopbit_program_error(program)[0] != '\0', "a refusal says why");
    const auto some = static_cast<std::ptrdiff_t>(std::min<std::size_t>(image.size(), 64));
    if (status == STOPBIT_OK)
      decode(program, 0, {{image.end() - some, image.end()}, {std::byte{0xC0}, std::byte{0x81}}});
    stopbit_program_free(program);
  }
  return 0;
}
