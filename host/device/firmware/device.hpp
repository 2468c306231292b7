#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

/// Translates a verified program for the hardware: words for addresses, so that hardware needs no parser. The tables
/// and their entries are defined in fpga/rtl/pkg/stopbit_pkg.sv, which has the same numbers.
namespace stopbit::firmware {

/// Room of one bank, in entries. Channels, their dictionary entries and strings are shared by the banks.
inline constexpr std::size_t kMaxConstants = 1U << 10;
inline constexpr std::size_t kMaxConstantWords = 1U << 10;  ///< Eight bytes of a string constant.
inline constexpr std::size_t kMaxBlocks = 1U << 12;
inline constexpr std::size_t kTemplatesPerWay = 1U << 9;  ///< Each template of a table is in one of two ways.
inline constexpr unsigned kTableBits = 10;                ///< As many tables as there are places for templates.
inline constexpr std::size_t kMaxEntries = 1U << 12;
inline constexpr std::size_t kMaxStringWords = 1U << 13;  ///< Eight bytes of a string slot.
inline constexpr std::size_t kMaxChannels = 1U << 6;
inline constexpr std::size_t kMaxProfiledSegments = 63;  ///< That have profile programs.
inline constexpr std::size_t kMaxPresenceBits = 252;     ///< That instructions use; a map may have more.

/// isa::Capability bits of the device.
inline constexpr std::uint64_t kCapabilities =
    static_cast<std::uint64_t>(isa::Capability::Integers) | static_cast<std::uint64_t>(isa::Capability::Decimals) |
    static_cast<std::uint64_t>(isa::Capability::Strings) | static_cast<std::uint64_t>(isa::Capability::StringCopies) |
    static_cast<std::uint64_t>(isa::Capability::StringDeltas) |
    static_cast<std::uint64_t>(isa::Capability::StringTails) | static_cast<std::uint64_t>(isa::Capability::Vectors) |
    static_cast<std::uint64_t>(isa::Capability::VectorCopies) | static_cast<std::uint64_t>(isa::Capability::BitGroups) |
    static_cast<std::uint64_t>(isa::Capability::References);

/// A 32-bit write to a 20-bit address of a bank.
struct Word {
  std::uint32_t address = 0;
  std::uint32_t data = 0;
  bool operator==(const Word&) const = default;
};

/// Required and available amount of a resource of the device.
struct Need {
  std::string_view what;
  std::size_t wanted = 0;
  std::size_t there = 0;
};
[[nodiscard]] std::vector<Need> needs(const Program& program, const EngineOptions& options);

/// Why the device cannot run the program with these options, one reason a line, each naming what needs it; empty if it
/// can. `program` has passed verify::check.
[[nodiscard]] std::vector<std::string> obstacles(const Program& program, const EngineOptions& options);

/// Optimisations of the device. Records are the same without.
struct DeviceOptions {
  bool pairs = true;     ///< Instructions with the pair bit issue together with the next.
  bool profiles = true;  ///< Presence maps of elements and groups are looked up for profile programs.
  /// Instructions that a profile program has to save: a map that is another one than the segment had before costs two
  /// cycles.
  unsigned least_saved = 4;
};

/// The words of the program for a bank, in the order in which they have to be written. Of the profile programs those
/// that save enough and find a place; other maps run in the general program.
/// Fails with the obstacles, if there are any.
[[nodiscard]] Result<std::vector<Word>> device_words(const Program& program, const EngineOptions& options,
                                                     const DeviceOptions& device = {});

/// The words that give `options.channels` channels their places in the dictionary, from channel 0 on. With a reset per
/// packet nothing outlives a datagram and they share one. Writing those of
/// a channel makes its dictionary undefined, as Engine::reset does; it holds from the next datagram on.
[[nodiscard]] std::vector<Word> channel_words(const Program& program, const EngineOptions& options, unsigned bank);

}  // namespace stopbit::firmware
