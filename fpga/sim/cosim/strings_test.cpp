#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/wire/writer.hpp"
#include "fpga/sim/cosim/core.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/random.hpp"

/// Strings and vectors whose operators need their previous value: the core against the interpreter, over chains of
/// strings of many lengths that share entries of the dictionary.
namespace stopbit::sim {
namespace {

using Bytes = std::vector<std::byte>;

struct Field {
  std::string_view type;  ///< In the template.
  std::string_view op;
  bool is_optional;
  std::string_view key;
  std::string_view value;
  std::size_t value_bytes;

  [[nodiscard]] bool is_vector() const { return type != "string"; }
};

constexpr std::array<Field, 12> kFields = {{
    {"string", "delta", false, "a", "", 0},
    {"string", "delta", true, "a", "", 0},
    {"string", "tail", false, "a", "begin", 5},
    {"string", "copy", true, "a", "", 0},
    {"string", "tail", true, "t", "0123456789", 10},
    {"string charset=\"unicode\"", "delta", false, "u", "eight by", 8},
    {"string charset=\"unicode\"", "tail", true, "u", "a longer value of it", 20},
    {"string charset=\"unicode\"", "copy", true, "u", "eight by", 8},
    {"byteVector", "delta", true, "b", "", 0},
    {"byteVector", "tail", false, "b", "ff00ff00ff00ff00", 8},
    {"byteVector", "tail", true, "x", "", 0},
    {"byteVector", "delta", false, "d", "8081828384858687", 8},
}};
constexpr std::size_t kMapBytes = 2;  ///< Of the template identifier, and seven fields.

std::string template_text() {
  std::string text = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="T" id="1">)";
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const Field& field = kFields[i];
    text += fmt::format(R"(<{} name="F{}" presence="{}"><{} key="{}")", field.type, i,
                        field.is_optional ? "optional" : "mandatory", field.op, field.key);
    if (!field.value.empty()) text += fmt::format(R"( value="{}")", field.value);
    text += fmt::format("/></{}>", field.type.substr(0, field.type.find(' ')));
  }
  return text + "</template></templates>";
}

/// Makes datagrams whose strings mostly fit what came before them.
class Generator {
 public:
  Generator(std::uint64_t seed, std::size_t capacity) : random_(seed), writer_(kMaxBytes), capacity_(capacity) {}

  Bytes datagram() {
    writer_.clear();
    lengths_.clear();
    for (std::uint64_t left = 1 + random_.below(6); left > 0; --left) message();
    EXPECT_FALSE(writer_.full());
    const auto* data = reinterpret_cast<const std::byte*>(writer_.data());
    Bytes bytes(data, data + writer_.size());
    if (random_.chance(5)) bytes.resize(random_.below(bytes.size()));
    if (random_.chance(5) && !bytes.empty()) random_.pick(bytes) ^= std::byte{1} << random_.below(8);
    return bytes;
  }

 private:
  static constexpr std::size_t kMaxBytes = 1U << 20;

  void message() {
    const std::size_t map = writer_.size();
    std::size_t bit = 0;
    writer_.open_map(kMapBytes);
    writer_.set_map_bit(map, bit++);
    writer_.integer<false>(1);
    for (const Field& field : kFields) {
      if (field.op != "delta") {
        if (random_.chance(30)) {
          ++bit;
          continue;
        }
        writer_.set_map_bit(map, bit++);
      }
      value(field);
    }
    writer_.close_map(map, kMapBytes);
  }

  void value(const Field& field) {
    std::optional<std::size_t>& length = lengths_[field.key];
    const std::size_t base = length.value_or(field.value_bytes);
    if (field.is_optional && random_.chance(10)) {
      writer_.null();
      if (field.op != "delta") length.reset();
    } else if (field.op == "delta") {
      std::size_t removed = random_.chance(30) ? 0 : random_.chance(30) ? base : random_.below(base + 1);
      if (random_.chance(1)) removed += random_.below(1'000);
      auto subtraction = static_cast<std::int64_t>(removed);
      if (random_.chance(50)) subtraction = -subtraction - 1;
      if (random_.chance(1)) subtraction = static_cast<std::int64_t>(random_.bits());
      writer_.integer<true>(field.is_optional ? wire::nullable(subtraction) : wire::Int128{subtraction});
      const std::size_t kept = base - std::min(base, removed);
      length = kept + text(field, kept, false);
    } else {
      const std::size_t bytes = text(field, 0, field.is_optional);
      length = field.op == "copy" ? bytes : std::max(base, bytes);
    }
  }

  /// Writes a string that mostly has room after that number of bytes. Returns its length.
  std::size_t text(const Field& field, std::size_t before, bool is_nullable) {
    const std::size_t room = capacity_ - std::min(capacity_, before) + (random_.chance(2) ? 20 : 0);
    std::size_t length = random_.chance(80) ? random_.below(20) : random_.below(capacity_ + 1);
    // Results of about eight bytes are what it is about.
    if (before < 9 && random_.chance(40)) length = 7 - std::min<std::size_t>(before, 7) + random_.below(3);
    length = std::min(length, room);
    std::string out;
    const std::uint64_t above = field.is_vector() && random_.chance(50) ? 256 : 128;
    for (std::size_t i = 0; i < length; ++i) out += static_cast<char>(random_.below(above));
    if (field.is_vector()) {
      const auto count = static_cast<wire::Int128>(length);
      writer_.integer<false>(is_nullable ? wire::nullable(count) : count);
      writer_.raw(out);
    } else {
      writer_.ascii(out, is_nullable);
    }
    return length;
  }

  cases::Random random_;
  wire::Writer writer_;
  std::size_t capacity_;
  std::map<std::string_view, std::optional<std::size_t>> lengths_;  ///< By key.
};

TEST(CosimStrings, chains_of_deltas_and_tails_give_the_same_records) {
  const int kDatagrams = by_form(300, 1'500);
  std::uint64_t seed = 0;
  std::uint64_t messages = 0;
  for (const std::uint32_t capacity : {20U, 61U, 256U, 4'096U}) {
    templates::CompileOptions compile;
    compile.string_capacity = capacity;
    Diagnostics diagnostics;
    const std::optional<Program> program =
        templates::compile({std::make_shared<const SourceBuffer>("t.xml", template_text())}, compile, diagnostics);
    ASSERT_TRUE(program) << diagnostics.format();
    for (const std::uint32_t stall : {0U, 40U}) {
      SCOPED_TRACE(fmt::format("room for {} bytes, stalls of {} %", capacity, stall));
      Generator generator(++seed, capacity);
      EngineOptions options;
      if (stall != 0) options.limits.string_bytes = capacity - 3;
      options.strict = capacity == 61;
      Reference reference(*program, options);
      Core core(*program, options, {seed, stall, stall});
      std::vector<Bytes> bytes;
      for (int i = 0; i < (capacity > 1'000 ? kDatagrams / 10 : kDatagrams); ++i) bytes.push_back(generator.datagram());
      std::vector<Datagram> datagrams;
      for (const Bytes& datagram : bytes) {
        PacketInfo info;
        info.number = datagrams.size() + 1;
        datagrams.push_back({datagram, info});
      }
      ASSERT_EQ(difference(reference.decode(datagrams), core.decode(datagrams)), "");
      messages += reference.messages();
    }
  }
  std::printf("%llu messages\n", static_cast<unsigned long long>(messages));
  EXPECT_GT(messages, by_form(2'000U, 10'000U));
}

}  // namespace
}  // namespace stopbit::sim
