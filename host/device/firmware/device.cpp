#include "host/device/firmware/device.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "decoder/record/layout.hpp"
#include "microcode/profile/straight_line.hpp"

namespace stopbit::firmware {
namespace {

enum class Table : std::uint32_t { Program, Constants, Bytes, Blocks, Dispatch, Slots, Limits, Channels, Profiles };

/// Appends the words of a table's entries.
class Writer {
 public:
  void entry(Table table, std::size_t index, std::initializer_list<std::uint32_t> words) {
    auto address = static_cast<std::uint32_t>(table) << 16 | static_cast<std::uint32_t>(index * words.size());
    for (const std::uint32_t word : words) words_.push_back({address++, word});
  }
  [[nodiscard]] std::vector<Word> take() { return std::move(words_); }

 private:
  std::vector<Word> words_;
};

constexpr std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// A constant as the device wants it: constant_t.
struct DeviceConstant {
  enum Limit : std::uint32_t { kNone = 0, kUnsigned = 1, kSigned = 2 };

  std::uint64_t value = 0;
  std::uint64_t bound = 0;
  bool has_value = false;
  Limit limit = kNone;
  ErrorCode code = ErrorCode::None;
  bool may_be_empty = false;
  std::uint16_t min_bytes = 0;

  auto operator<=>(const DeviceConstant&) const = default;
};

/// The constants of a program and the bytes of its strings.
class Constants {
 public:
  explicit Constants(const Program& program) : program_(program) { index_of({}); }

  /// For an instruction at an address of the code.
  std::uint16_t index_of_instruction(std::size_t address) {
    const isa::Instruction& in = program_.code[address];
    DeviceConstant out;
    if (in.op != isa::DataOp::Pmap) out = convert(program_.constants[in.constant]);
    if (in.control == isa::ControlOp::Seq) {
      const std::uint16_t min_bytes = program_.blocks[program_.code[address + 1].target].min_bytes;
      out.min_bytes = min_bytes;
      out.may_be_empty = min_bytes == 0;
    }
    return index_of(out);
  }

  /// The slot column of an instruction. A field of a bit group: the bits of the group after it, and its width.
  [[nodiscard]] std::uint16_t slot_of_instruction(std::size_t address) const {
    const isa::Instruction& in = program_.code[address];
    if (!isa::is_bit(in.op)) return in.slot;
    while (!isa::is_bits(program_.code[address].op)) --address;
    const unsigned bits = 7 * isa::group_bytes(program_.constants[program_.code[address].constant].limit);
    const isa::BitField field = isa::BitField::of(in.slot);
    return static_cast<std::uint16_t>((bits - field.position - field.width) << 6 | field.width);
  }

  [[nodiscard]] const std::vector<DeviceConstant>& constants() const { return constants_; }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::uint16_t index_of(const DeviceConstant& constant) {
    const auto [at, is_new] = indices_.try_emplace(constant, static_cast<std::uint16_t>(constants_.size()));
    if (is_new) constants_.push_back(constant);
    return at->second;
  }

  DeviceConstant convert(const Constant& from) {
    DeviceConstant out;
    out.has_value = from.kind != ValueKind::None;
    out.value = from.value;
    const auto limit = [&](DeviceConstant::Limit kind, std::uint64_t bound, ErrorCode code) {
      out.limit = kind;
      out.bound = bound;
      out.code = code;
    };
    switch (from.limit_kind) {
      case LimitKind::None: break;
      case LimitKind::Bits: {
        const unsigned bytes = isa::group_bytes(from.limit);
        limit(DeviceConstant::kUnsigned, (std::uint64_t{1} << 7 * bytes) - 1, ErrorCode::None);
        out.min_bytes = static_cast<std::uint16_t>(bytes | isa::unused_bits(from.limit) << 4 | from.limit << 7);
        break;
      }
      case LimitKind::Unsigned: limit(DeviceConstant::kUnsigned, from.limit, ErrorCode::None); break;
      case LimitKind::Signed:
        limit(DeviceConstant::kSigned, (std::uint64_t{1} << (from.limit - 1)) - 1, ErrorCode::None);
        break;
      case LimitKind::Enum: limit(DeviceConstant::kUnsigned, std::uint64_t{from.limit} - 1, ErrorCode::X5); break;
      case LimitKind::Set:
        if (from.limit < 64) {
          limit(DeviceConstant::kUnsigned, (std::uint64_t{1} << from.limit) - 1, ErrorCode::X6);
        }
        break;
    }
    if (from.kind == ValueKind::Bytes) {
      const std::string_view text = program_.constant_bytes(from.bytes());
      out.value = place(text) | static_cast<std::uint64_t>(text.size()) << 32;
      // Eight bytes fit a word of a record only if they are ASCII.
      const auto is_wide = [](char c) { return (static_cast<unsigned char>(c) & 0x80U) != 0; };
      out.bound = text.size() == 8 && std::any_of(text.begin(), text.end(), is_wide) ? 1 : 0;
    }
    return out;
  }

  /// Where the bytes begin, in words.
  std::uint64_t place(std::string_view text) {
    const auto [at, is_new] = texts_.try_emplace(text, words_.size());
    for (std::size_t i = 0; is_new && i < text.size(); i += 8) {
      std::uint64_t word = 0;
      for (std::size_t k = i; k < std::min(i + 8, text.size()); ++k) {
        word |= std::uint64_t{static_cast<unsigned char>(text[k])} << 8 * (k - i);
      }
      words_.push_back(word);
    }
    return at->second;
  }

  const Program& program_;
  std::map<DeviceConstant, std::uint16_t> indices_;
  std::vector<DeviceConstant> constants_;
  std::map<std::string_view, std::size_t> texts_;
  std::vector<std::uint64_t> words_;
};

/// Index of an entry in a way: as `place` of stopbit_tables.sv.
std::size_t place_of(std::uint32_t id, unsigned way) {
  const std::uint32_t x = way == 0 ? id : id ^ std::rotl(id, 6) ^ id >> 4;
  return (x ^ x >> 9 ^ x >> 18 ^ x >> 27) & (kTemplatesPerWay - 1);
}

std::size_t place_of(const DispatchEntry& entry, unsigned way) {
  return place_of(entry.id ^ static_cast<std::uint32_t>(entry.table) << (32 - kTableBits), way);
}

/// Entries in the two ways of a table.
template <class Entry>
using Ways = std::array<std::array<const Entry*, kTemplatesPerWay>, 2>;

/// Gives an entry one of its two places, moving others to theirs. @returns the one that is without a place, if one is.
template <class Entry>
const Entry* settle(Ways<Entry>& ways, const Entry* homeless) {
  constexpr unsigned kMaxMoves = 2 * kTemplatesPerWay;
  for (unsigned move = 0; homeless != nullptr && move < kMaxMoves; ++move) {
    const unsigned way = move % 2;
    std::swap(homeless, ways[way][place_of(*homeless, way)]);
  }
  return homeless;
}

/// Nothing if there is no way to place all identifiers.
std::optional<Ways<DispatchEntry>> place_templates(const Program& program) {
  Ways<DispatchEntry> ways = {};
  for (const DispatchEntry& entry : program.dispatch) {
    if (settle(ways, &entry) != nullptr) return std::nullopt;
  }
  return ways;
}

/// A profile program that the device looks up.
struct DeviceProfile {
  const ProfileEntry* entry = nullptr;
  std::uint16_t segment = 0;  ///< The device's number for it.
};

std::size_t place_of(const DeviceProfile& profile, unsigned way) {
  const std::uint64_t bits = profile.entry->presence_bits;
  return place_of(high(bits) ^ std::rotr(low(bits), 9) ^ profile.segment ^ std::uint32_t{profile.segment} << 26, way);
}

/// The profile programs of elements and groups that save enough. Bodies of templates have none in the device.
std::vector<DeviceProfile> device_profiles(const Program& program, unsigned least_saved) {
  std::vector<DeviceProfile> out;
  const std::map<std::uint16_t, std::size_t> begins = profile::segment_begins(program);
  std::map<std::uint16_t, std::uint16_t> numbers;
  for (const ProfileEntry& entry : program.profiles) {
    if ((entry.segment & ProfileEntry::kBody) != 0) continue;
    const auto line = profile::straight_line(program, begins.at(entry.segment), entry.presence_bits, entry.entry,
                                             program.code.size() - entry.entry);
    if (!line || line->steps + least_saved > line->general) continue;
    const auto number = static_cast<std::uint16_t>(numbers.size() + 1);
    if (!numbers.contains(entry.segment) && number > kMaxProfiledSegments) continue;
    out.push_back({&entry, numbers.try_emplace(entry.segment, number).first->second});
  }
  return out;
}

std::uint32_t block_word(const Block& block) {
  return block.words | static_cast<std::uint32_t>(block.first_word % record::kMaxValueTag) << 8;
}

/// Eight-byte words of each slot's strings. Where a delta or tail makes a string of the one before, both have a place:
/// the device writes the one while it reads the other.
std::vector<std::size_t> string_words(const Program& program) {
  std::vector<std::size_t> words;
  words.reserve(program.slots.size());
  for (const Slot& slot : program.slots) words.push_back((slot.string_capacity + 7U) / 8);
  std::vector<bool> is_double(words.size(), false);
  for (const isa::Instruction& in : program.code) {
    const isa::Operator op = isa::operator_of(in.op);
    if (!isa::is_string(isa::type_of(in.op)) || (op != isa::Operator::Del && op != isa::Operator::Tai)) continue;
    if (!is_double[in.slot]) words[in.slot] *= 2;
    is_double[in.slot] = true;
  }
  return words;
}

std::size_t sum(const std::vector<std::size_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::size_t{0});
}

/// Channels whose dictionaries have to be kept apart: none if every datagram begins with a reset.
std::size_t contexts(const EngineOptions& options) {
  return options.reset == ResetRule::Packet ? 1 : options.channels;
}

Constants constants_of(const Program& program, std::size_t instructions) {
  Constants constants(program);
  for (std::size_t i = 0; i < instructions; ++i) constants.index_of_instruction(i);
  return constants;
}

}  // namespace

std::vector<Need> needs(const Program& program, const EngineOptions& options) {
  const Constants constants = constants_of(program, general_size(program));
  std::size_t most_bits = 0;
  for (const isa::Instruction& in : program.code) {
    if (in.op == isa::DataOp::Pmap) most_bits = std::max<std::size_t>(most_bits, in.slot);
  }
  return {
      {"presence bits of a segment", most_bits, kMaxPresenceBits},
      {"constants", constants.constants().size(), kMaxConstants},
      {"words of string constants", constants.words().size(), kMaxConstantWords},
      {"blocks", program.blocks.size(), kMaxBlocks},
      {"identifiers of templates", program.dispatch.size(), 2 * kTemplatesPerWay},
      {"channels", options.channels, kMaxChannels},
      {"dictionary entries of all channels", program.slots.size() * contexts(options), kMaxEntries},
      {"words of dictionary strings of all channels", sum(string_words(program)) * contexts(options), kMaxStringWords},
  };
}

std::vector<std::string> obstacles(const Program& program, const EngineOptions& options) {
  std::vector<std::string> out;
  // The first instruction of the general program for each capability that is missing.
  std::uint64_t told = kCapabilities;
  const std::size_t size = general_size(program);
  for (std::size_t i = 0; i < size; ++i) {
    const isa::Instruction& in = program.code[i];
    const std::uint64_t needed = isa::capability(in.op, in.control);
    if ((needed & ~told) == 0) continue;
    told |= needed;
    out.push_back(std::string(isa::capability_name(needed)) + ": instruction " + std::to_string(i) + ", " +
                  std::string(isa::info(in.op)->mnemonic));
  }
  if (options.strict && options.reset == ResetRule::Template) {
    out.emplace_back("strict decoding is not supported with dictionaries that templates reset");
  }

  for (const Need& need : needs(program, options)) {
    if (need.wanted <= need.there) continue;
    out.push_back(std::string(need.what) + ": the program needs " + std::to_string(need.wanted) + ", the device has " +
                  std::to_string(need.there));
  }
  if (!place_templates(program)) {
    out.push_back("templates: " + std::to_string(program.dispatch.size()) +
                  " identifiers do not fit into two ways of " + std::to_string(kTemplatesPerWay));
  }
  return out;
}

Result<std::vector<Word>> device_words(const Program& program, const EngineOptions& options,
                                       const DeviceOptions& device) {
  if (const std::vector<std::string> reasons = obstacles(program, options); !reasons.empty()) {
    std::string text = "the device cannot run the program: ";
    for (const std::string& reason : reasons) {
      if (&reason != &reasons.front()) text += "; ";
      text += reason;
    }
    return Failure{std::move(text)};
  }

  Writer writer;
  // Profile programs are left out if there is no room for their constants.
  std::vector<DeviceProfile> profiles;
  if (device.profiles && !options.strict) profiles = device_profiles(program, device.least_saved);
  if (constants_of(program, program.code.size()).constants().size() > kMaxConstants) profiles.clear();
  Ways<DeviceProfile> profile_ways = {};
  std::map<std::size_t, std::uint16_t> profiled_maps;  // by address of their PMAP
  for (const DeviceProfile& profile : profiles) {
    (void)settle(profile_ways, &profile);
    for (std::size_t i = 0, size = general_size(program); i < size; ++i) {
      const isa::Instruction& in = program.code[i];
      if (in.op == isa::DataOp::Pmap && in.constant == profile.entry->segment) profiled_maps[i] = profile.segment;
    }
  }

  Constants constants(program);
  const std::size_t kept = profiles.empty() ? general_size(program) : program.code.size();
  for (std::size_t i = 0; i < kept; ++i) {
    isa::Instruction in = program.code[i];
    in.constant = constants.index_of_instruction(i);
    if (const auto at = profiled_maps.find(i); at != profiled_maps.end()) in.constant = at->second;
    in.slot = constants.slot_of_instruction(i);
    const std::uint64_t word = isa::encode(in);
    writer.entry(Table::Program, i, {low(word), high(word)});
  }
  for (std::size_t i = 0; i < constants.constants().size(); ++i) {
    const DeviceConstant& constant = constants.constants()[i];
    const std::uint32_t flags = static_cast<std::uint32_t>(constant.has_value) | constant.limit << 1 |
                                static_cast<std::uint32_t>(constant.code) << 3 |
                                static_cast<std::uint32_t>(constant.may_be_empty) << 11 |
                                static_cast<std::uint32_t>(constant.min_bytes) << 12;
    writer.entry(
        Table::Constants, i,
        {low(constant.value), high(constant.value), low(constant.bound), high(constant.bound), flags, 0, 0, 0});
  }
  for (std::size_t i = 0; i < constants.words().size(); ++i) {
    writer.entry(Table::Bytes, i, {low(constants.words()[i]), high(constants.words()[i])});
  }
  for (std::size_t i = 0; i < program.blocks.size(); ++i)
    writer.entry(Table::Blocks, i, {block_word(program.blocks[i])});

  const Ways<DispatchEntry> ways = place_templates(program).value();
  for (unsigned way = 0; way < ways.size(); ++way) {
    for (std::size_t i = 0; i < kTemplatesPerWay; ++i) {
      const DispatchEntry* const entry = ways[way][i];
      const std::size_t index = way * kTemplatesPerWay + i;
      if (entry == nullptr) {
        writer.entry(Table::Dispatch, index, {0, 0, 0, 0});
        continue;
      }
      constexpr std::uint32_t kValid = 1U << 16;
      const Template& chosen = program.templates[entry->template_index];
      const std::uint32_t root = block_word(program.blocks[chosen.root_block]);
      writer.entry(Table::Dispatch, index,
                   {entry->id,
                    entry->template_index | kValid | static_cast<std::uint32_t>(chosen.reset) << 17 |
                        static_cast<std::uint32_t>(entry->table) << 18,
                    entry->entry | static_cast<std::uint32_t>(chosen.root_block) << 14 | root << 28, root >> 4});
    }
  }

  std::size_t base = 0;
  const std::vector<std::size_t> words_of_slots = string_words(program);
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const std::uint32_t capacity = program.slots[i].string_capacity;
    writer.entry(Table::Slots, i, {static_cast<std::uint32_t>(base) | capacity << 13});
    base += words_of_slots[i];
  }
  const auto nesting = static_cast<std::uint16_t>(std::min<std::size_t>(options.limits.nesting, limits::kMaxLoopDepth));
  writer.entry(Table::Limits, 0,
               {program.max_record_slots | static_cast<std::uint32_t>(nesting) << 16, options.limits.elements,
                options.limits.empty_elements, options.limits.string_bytes,
                (device.pairs ? 0U : 1U) | (options.strict ? 2U : 0U), 0, 0, 0});
  // Without profile programs these entries are never looked up.
  for (unsigned way = 0; !profiles.empty() && way < profile_ways.size(); ++way) {
    for (std::size_t i = 0; i < kTemplatesPerWay; ++i) {
      const DeviceProfile* const profile = profile_ways[way][i];
      const std::size_t index = way * kTemplatesPerWay + i;
      if (profile == nullptr) {
        writer.entry(Table::Profiles, index, {0, 0, 0, 0});
        continue;
      }
      constexpr std::uint32_t kValid = 1U << 26;
      writer.entry(Table::Profiles, index,
                   {low(profile->entry->presence_bits), high(profile->entry->presence_bits),
                    profile->segment | std::uint32_t{profile->entry->entry} << 6 |
                        std::uint32_t{profile->entry->taken} << 20 | kValid,
                    0});
    }
  }
  return writer.take();
}

std::vector<Word> channel_words(const Program& program, const EngineOptions& options, unsigned bank) {
  Writer writer;
  const std::size_t words = sum(string_words(program));
  for (std::size_t i = 0; i < options.channels; ++i) {
    const std::size_t context = std::min(i, contexts(options) - 1);
    const std::uint64_t channel = static_cast<std::uint64_t>(options.reset) | std::uint64_t{bank & 1} << 2 |
                                  static_cast<std::uint64_t>(context * program.slots.size()) << 3 |
                                  static_cast<std::uint64_t>(context * words) << 15 |
                                  std::uint64_t{options.image_generation} << 28;
    writer.entry(Table::Channels, i, {low(channel), high(channel)});
  }
  return writer.take();
}

}  // namespace stopbit::firmware
