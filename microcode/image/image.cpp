#include "microcode/image/image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "microcode/image/crc32c.hpp"
#include "microcode/image/layout.hpp"
#include "microcode/name_references.hpp"

namespace stopbit::image {
namespace {

constexpr std::size_t align(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

template <class T>
constexpr std::uint64_t to_bits(T value) {
  return static_cast<std::uint64_t>(value);
}

// ---- Writing

/// Appends little-endian values to a growing image.
class Writer {
 public:
  template <class T>
  void number(std::string_view /*name*/, T value) {
    put(to_bits(value), sizeof(T));
  }
  template <class E>
  void enumerator(std::string_view /*name*/, E value, E /*last*/) {
    put(to_bits(value), sizeof(E));
  }
  template <class... Bits>
  void flags(std::string_view /*name*/, Bits... bits) {
    unsigned value = 0;
    unsigned bit = 0;
    ((value |= static_cast<unsigned>(bits) << bit++), ...);
    put(value, 1);
  }
  void text(std::string_view /*name*/, TextRef ref) {
    put(ref.offset, 4);
    put(ref.length, 4);
  }
  void instruction(std::string_view /*name*/, const isa::Instruction& value) { put(isa::encode(value), 8); }
  void reserved(std::size_t count) { bytes_.resize(bytes_.size() + count); }

  void put(std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void align_up() { bytes_.resize(align(bytes_.size())); }
  void patch32(std::size_t offset, std::uint64_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes_[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> from(std::size_t offset) const { return std::span(bytes_).subspan(offset); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

Properties properties_of(const Program& program) {
  return {required_capabilities(program), layout_hash(program), program.max_record_slots};
}

void write_section(Writer& out, Section section, const Program& program) {
  const auto each = [&](const auto& table, auto describe) {
    for (const auto& entry : table) describe(entry);
  };
  switch (section) {
    case Section::Properties: return describe_properties(out, properties_of(program));
    case Section::Code: return each(program.code, [&](auto& e) { describe_instruction(out, e); });
    case Section::Constants: return each(program.constants, [&](auto& e) { describe_constant(out, e); });
    case Section::ConstantPool: return out.raw(std::as_bytes(std::span(program.constant_pool)));
    case Section::Slots: return each(program.slots, [&](auto& e) { describe_slot(out, e); });
    case Section::Dispatch: return each(program.dispatch, [&](auto& e) { describe_dispatch(out, e); });
    case Section::Profiles: return each(program.profiles, [&](auto& e) { describe_profile(out, e); });
    case Section::Blocks: return each(program.blocks, [&](auto& e) { describe_block(out, e); });
    case Section::Templates: return each(program.templates, [&](auto& e) { describe_template(out, e); });
    case Section::Nodes: return each(program.nodes, [&](auto& e) { describe_node(out, e); });
    case Section::Types: return each(program.type_infos, [&](auto& e) { describe_type(out, e); });
    case Section::Elements: return each(program.elements, [&](auto& e) { describe_element(out, e); });
    case Section::Sources: return each(program.sources, [&](auto& e) { describe_source(out, e); });
    case Section::Positions:
      each(program.templates, [&](auto& e) { describe_position(out, Position{e.line, e.column, e.source}); });
      return each(program.nodes, [&](auto& e) { describe_position(out, Position{e.line, e.column, e.source}); });
    case Section::Names: return out.raw(std::as_bytes(std::span(program.names)));
  }
}

/// The bytes for a program whose pools are canonical already.
std::vector<std::byte> write_canonical(const Program& program) {
  Writer out;
  for (const std::uint8_t byte : kMagic) out.put(byte, 1);
  out.put(kVersion, 4);
  out.put(kSectionCount, 4);
  out.put(0, 4);  // total bytes, patched
  out.put(0, 4);  // CRC of header and table, patched
  out.reserved(kHeaderBytes - out.size());
  out.reserved(kSectionCount * kTableEntryBytes);
  for (std::size_t i = 0; i < kSectionCount; ++i) {
    out.align_up();
    const std::size_t begin = out.size();
    write_section(out, kSections[i].id, program);
    const std::size_t length = out.size() - begin;
    const std::size_t entry = kHeaderBytes + i * kTableEntryBytes;
    out.patch32(entry, to_bits(kSections[i].id));
    out.patch32(entry + 4, kSections[i].entry_bytes);
    out.patch32(entry + 8, length / kSections[i].entry_bytes);
    out.patch32(entry + 12, begin);
    out.patch32(entry + 16, length);
    out.patch32(entry + 20, crc32c(out.from(begin)));
  }
  out.align_up();
  out.patch32(16, out.size());
  out.patch32(20, crc32c(out.from(0).first(kHeaderBytes + kSectionCount * kTableEntryBytes)));
  return out.take();
}

// ---- Reading

std::uint64_t little_endian(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<std::uint64_t>(bytes[offset + i]);
  return value;
}

/// Reads the entries of one section, whose length has been checked. Keeps the first fault.
class EntryReader {
 public:
  EntryReader(std::span<const std::byte> image, std::size_t offset, std::optional<std::string>& fault)
      : image_(image), offset_(offset), fault_(fault) {}

  template <class T>
  void number(std::string_view /*name*/, T& value) {
    value = static_cast<T>(take(sizeof(T)));
  }
  template <class E>
  void enumerator(std::string_view name, E& value, E last) {
    const std::uint64_t bits = take(sizeof(E));
    if (bits > to_bits(last)) fail(sizeof(E), std::string(name) + " has no value " + std::to_string(bits));
    value = static_cast<E>(bits);
  }
  template <class... Bits>
  void flags(std::string_view name, Bits&... bits) {
    const auto value = static_cast<unsigned>(take(1));
    if (value >> sizeof...(bits) != 0) fail(1, "spare bits of " + std::string(name) + " are set");
    unsigned bit = 0;
    ((bits = (value >> bit++ & 1) != 0), ...);
  }
  void text(std::string_view /*name*/, TextRef& ref) {
    ref.offset = static_cast<std::uint32_t>(take(4));
    ref.length = static_cast<std::uint32_t>(take(4));
  }
  void instruction(std::string_view /*name*/, isa::Instruction& value) {
    const auto decoded = isa::decode(take(8));
    if (!decoded) return fail(8, "this is not an instruction");
    value = *decoded;
  }
  void reserved(std::size_t count) {
    if (take(count) != 0) fail(count, "reserved bytes are not zero");
  }

 private:
  std::uint64_t take(std::size_t count) {
    const std::uint64_t value = little_endian(image_, offset_, count);
    offset_ += count;
    return value;
  }
  void fail(std::size_t back, const std::string& what) {
    if (!fault_) fault_ = "byte " + std::to_string(offset_ - back) + ": " + what;
  }

  std::span<const std::byte> image_;
  std::size_t offset_;
  std::optional<std::string>& fault_;
};

class ImageReader {
 public:
  explicit ImageReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<Program> read() {
    if (auto fault = read_header()) return Failure{std::move(*fault)};
    if (auto fault = read_table()) return Failure{std::move(*fault)};
    for (const SectionInfo& section : kSections) {
      if (auto fault = read_section(section)) return in_section(section.id, *fault);
    }
    if (auto fault = check_references()) return Failure{std::move(*fault)};
    if (auto fault = check_properties()) return Failure{std::move(*fault)};
    if (auto fault = check_canonical()) return Failure{std::move(*fault)};
    return std::move(program_);
  }

 private:
  using Fault = std::optional<std::string>;

  struct Place {
    std::size_t count = 0;
    std::size_t offset = 0;
    std::size_t length = 0;
  };

  static std::string section_text(Section section) { return "section '" + std::string(info(section).name) + "': "; }
  static Failure in_section(Section section, const std::string& fault) { return {section_text(section) + fault}; }

  [[nodiscard]] std::uint64_t u32(std::size_t offset) const { return little_endian(bytes_, offset, 4); }
  Place& place(Section section) { return places_[static_cast<std::size_t>(section) - 1]; }

  Fault read_header() {
    const std::size_t least = kHeaderBytes + kSectionCount * kTableEntryBytes;
    if (bytes_.size() < kMagic.size() || std::memcmp(bytes_.data(), kMagic.data(), kMagic.size()) != 0) {
      return "byte 0: this is not a firmware image, the magic is missing";
    }
    if (bytes_.size() < 12) return "the image ends inside its header";
    if (const auto version = u32(8); version != kVersion) {
      return "byte 8: the image has version " + std::to_string(version) + ", this program supports version " +
             std::to_string(kVersion);
    }
    if (bytes_.size() < least) {
      return "the image ends after " + std::to_string(bytes_.size()) + " bytes, header and section table take " +
             std::to_string(least);
    }
    if (bytes_.size() > limits::kMaxImageBytes) {
      return "the image has " + std::to_string(bytes_.size()) + " bytes, more than the limit of " +
             std::to_string(limits::kMaxImageBytes);
    }
    if (u32(12) != kSectionCount) return "byte 12: the number of sections is wrong for version 1";
    if (u32(16) != bytes_.size()) {
      return "byte 16: the length of the image is given as " + std::to_string(u32(16)) + " bytes, but it has " +
             std::to_string(bytes_.size());
    }
    if (little_endian(bytes_, 24, 8) != 0) return "byte 24: reserved bytes are not zero";
    const std::span<const std::byte> head = bytes_.first(least);
    std::uint32_t crc = crc32c(head.first(20));
    crc = crc32c(std::array<std::byte, 4>{}, crc);
    crc = crc32c(head.subspan(24), crc);
    if (crc != u32(20)) return "byte 20: the CRC of header and section table is wrong";
    return std::nullopt;
  }

  Fault read_table() {
    std::size_t expected = kHeaderBytes + kSectionCount * kTableEntryBytes;
    for (std::size_t i = 0; i < kSectionCount; ++i) {
      const SectionInfo& section = kSections[i];
      const std::size_t at = kHeaderBytes + i * kTableEntryBytes;
      const auto bad = [&](std::size_t offset, const std::string& what) {
        return section_text(section.id) + "byte " + std::to_string(at + offset) + " of the table: " + what;
      };
      expected = align(expected);
      const Place here{u32(at + 8), u32(at + 12), u32(at + 16)};
      if (u32(at) != to_bits(section.id)) return bad(0, "unexpected section");
      if (u32(at + 4) != section.entry_bytes) return bad(4, "the entry size is wrong");
      if (here.count > section.max_entries) {
        return bad(
            8, std::to_string(here.count) + " entries, more than the limit of " + std::to_string(section.max_entries));
      }
      if (here.offset != expected) return bad(12, "the section does not follow its predecessor");
      if (here.length != here.count * section.entry_bytes) return bad(16, "length and number of entries do not agree");
      if (here.offset > bytes_.size() || here.length > bytes_.size() - here.offset) {
        return bad(16, "the section is longer than the image");
      }
      if (crc32c(bytes_.subspan(here.offset, here.length)) != u32(at + 20)) {
        return section_text(section.id) + "byte " + std::to_string(here.offset) + ": the CRC is wrong";
      }
      place(section.id) = here;
      expected = here.offset + here.length;
    }
    if (align(expected) != bytes_.size()) return "byte " + std::to_string(expected) + ": bytes follow the last section";
    return std::nullopt;
  }

  /// Reads every entry of a section into `table`. The count was checked against the bytes of the section.
  template <class T, class Describe>
  Fault read_entries(Section section, std::vector<T>& table, Describe describe) {
    Fault fault;
    const Place& here = place(section);
    EntryReader reader(bytes_, here.offset, fault);
    table.reserve(here.count);
    for (std::size_t i = 0; i < here.count && !fault; ++i) describe(reader, table.emplace_back());
    return fault;
  }

  void read_bytes(Section section, std::string& pool) {
    const Place& here = place(section);
    pool.resize(here.length);
    if (here.length != 0) std::memcpy(pool.data(), bytes_.data() + here.offset, here.length);
  }

  Fault read_section(const SectionInfo& section) {
    switch (section.id) {
      case Section::Properties: return read_properties();
      case Section::Code:
        return read_entries(section.id, program_.code, [](auto& v, auto& e) { describe_instruction(v, e); });
      case Section::Constants:
        return read_entries(section.id, program_.constants, [](auto& v, auto& e) { describe_constant(v, e); });
      case Section::ConstantPool: read_bytes(section.id, program_.constant_pool); return std::nullopt;
      case Section::Slots:
        return read_entries(section.id, program_.slots, [](auto& v, auto& e) { describe_slot(v, e); });
      case Section::Dispatch:
        return read_entries(section.id, program_.dispatch, [](auto& v, auto& e) { describe_dispatch(v, e); });
      case Section::Profiles:
        return read_entries(section.id, program_.profiles, [](auto& v, auto& e) { describe_profile(v, e); });
      case Section::Blocks:
        return read_entries(section.id, program_.blocks, [](auto& v, auto& e) { describe_block(v, e); });
      case Section::Templates:
        return read_entries(section.id, program_.templates, [](auto& v, auto& e) { describe_template(v, e); });
      case Section::Nodes:
        return read_entries(section.id, program_.nodes, [](auto& v, auto& e) { describe_node(v, e); });
      case Section::Types:
        return read_entries(section.id, program_.type_infos, [](auto& v, auto& e) { describe_type(v, e); });
      case Section::Elements:
        return read_entries(section.id, program_.elements, [](auto& v, auto& e) { describe_element(v, e); });
      case Section::Sources:
        return read_entries(section.id, program_.sources, [](auto& v, auto& e) { describe_source(v, e); });
      case Section::Positions: return read_positions();
      case Section::Names: read_bytes(section.id, program_.names); return std::nullopt;
    }
    return std::nullopt;
  }

  Fault read_properties() {
    std::vector<Properties> all;
    Fault fault = read_entries(Section::Properties, all, [](auto& v, auto& e) { describe_properties(v, e); });
    if (fault) return fault;
    if (all.size() != 1) return "there must be one entry";
    properties_ = all.front();
    program_.max_record_slots = properties_.max_record_slots;
    return std::nullopt;
  }

  Fault read_positions() {
    std::vector<Position> all;
    Fault fault = read_entries(Section::Positions, all, [](auto& v, auto& e) { describe_position(v, e); });
    if (fault) return fault;
    if (all.size() != program_.templates.size() + program_.nodes.size()) {
      return "there must be one entry for each template and node";
    }
    auto from = all.begin();
    const auto give = [&](auto& table) {
      for (auto& entry : table) {
        entry.line = from->line;
        entry.column = from->column;
        entry.source = from->source;
        ++from;
      }
    };
    give(program_.templates);
    give(program_.nodes);
    return std::nullopt;
  }

  [[nodiscard]] Fault check_references() const {
    Fault fault;
    const auto outside = [&](std::string_view table, std::size_t index, std::string_view field) {
      if (fault) return;
      fault = "section '" + std::string(table) + "': entry " + std::to_string(index) + ": " + std::string(field) +
              " reaches outside its pool";
    };
    for_each_name(program_, [&](std::string_view table, std::size_t index, std::string_view field, TextRef ref) {
      if (!is_inside(ref, program_.names.size())) outside(table, index, field);
    });
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
      const Constant& constant = program_.constants[i];
      if (constant.kind != ValueKind::Bytes) continue;
      if (!is_inside(constant.bytes(), program_.constant_pool.size())) outside("constants", i, "value");
    }
    if (!fault && schema_work(program_) > limits::kMaxImageBytes) {
      fault = "section 'names': the references to texts add up to more than " + std::to_string(limits::kMaxImageBytes) +
              " bytes";
    }
    return fault;
  }

  Fault check_properties() {
    const std::size_t at = place(Section::Properties).offset;
    if (properties_.capabilities != required_capabilities(program_)) {
      return section_text(Section::Properties) + "byte " + std::to_string(at) +
             ": the capabilities do not match the code";
    }
    if (properties_.layout_hash != layout_hash(program_)) {
      return section_text(Section::Properties) + "byte " + std::to_string(at + 8) +
             ": the layout hash does not match the content";
    }
    return std::nullopt;
  }

  /// The remaining possible differences: padding, and pools with texts in another order, twice, or unused.
  Fault check_canonical() {
    const std::vector<std::byte> again = image::write(program_);
    if (std::ranges::equal(again, bytes_)) return std::nullopt;
    for (const SectionInfo& section : kSections) {
      const Place& here = place(section.id);
      const std::size_t begin = here.offset;
      const std::size_t end = begin + here.length;
      for (std::size_t i = begin; i < end; ++i) {
        if (i >= again.size() || again[i] != bytes_[i]) return section_text(section.id) + not_canonical(i);
      }
    }
    return not_canonical(static_cast<std::size_t>(std::ranges::mismatch(again, bytes_).in2 - bytes_.begin()));
  }

  static std::string not_canonical(std::size_t offset) {
    return "byte " + std::to_string(offset) +
           ": the image is not canonical: this byte differs from what a writer "
           "produces";
  }

  std::span<const std::byte> bytes_;
  std::array<Place, kSectionCount> places_{};
  Properties properties_;
  Program program_;
};

}  // namespace

std::vector<std::byte> write(const Program& program) {
  return write_canonical(canonical(program));
}

Result<Program> read(std::span<const std::byte> bytes) {
  return ImageReader(bytes).read();
}

Result<Program> read(std::span<const std::byte> bytes, std::string_view name) {
  Result<Program> program = read(bytes);
  if (!program) return Failure{std::string(name) + ": not a usable firmware image: " + program.message()};
  return program;
}

}  // namespace stopbit::image
