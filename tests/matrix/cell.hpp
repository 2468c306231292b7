#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The impairment matrix: a stream of packets on two bad lines, arbitrated, and compared with what the impairer's log
/// says must come of it.
namespace stopbit::matrix {

enum class Scenario : std::uint8_t {
  Plain,
  LineDead,  ///< Line A dies after a third of the packets and returns after two.
  Reset,     ///< The sender pauses in the middle and begins at 1 again.
  Wrap,      ///< Sequence numbers pass 2^32 in the middle.
};

/// The key that distinguishes packets.
enum class Keys : std::uint8_t {
  Numbers,
  Chunks,    ///< A number has 1 to 4 packets, which only go on together.
  Carousel,  ///< Numbers begin at 1 with each of four cycles. Has no scenario but the plain one.
};

/// One cell: what is done to the packets, and how they are arbitrated.
struct Cell {
  bool ordered = true;
  double loss = 0;        ///< On each line, independently.
  double mean_burst = 1;  ///< Of those losses.
  double both = 0;        ///< Lost on both at once.
  double duplicate = 0;
  double reorder = 0;
  std::uint32_t depth = 1;
  double corrupt = 0;
  std::uint64_t skew_ns = 0;  ///< Delay of line B.
  Scenario scenario = Scenario::Plain;
  Keys keys = Keys::Numbers;
};
/// Fewest packets of a cell: cycles must be longer than the window.
inline constexpr std::uint64_t kMinPackets = 50'000;
[[nodiscard]] std::string to_text(const Cell& cell);

/// `count` cells from the seed. Every value of every factor meets every value of every other one if there are enough,
/// but for carousels, which have no scenarios.
[[nodiscard]] std::vector<Cell> cells(std::size_t count, std::uint64_t seed);

/// Pairs of values of different factors that can meet: how many there are, and how many of them the cells have.
struct Coverage {
  std::size_t pairs = 0;
  std::size_t seen = 0;
};
[[nodiscard]] Coverage coverage(const std::vector<Cell>& cells);

/// Outcome of a cell.
struct Outcome {
  std::uint64_t received = 0;
  std::uint64_t delivered = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t late = 0;
  std::uint64_t malformed = 0;
  std::uint64_t incomplete = 0;   ///< Chunks of numbers that were given up.
  std::uint64_t lost = 0;         ///< Numbers.
  std::uint64_t gaps = 0;         ///< Events.
  std::uint64_t differences = 0;  ///< How many things were not as the log implies; 0 = passed.
  std::string first_difference;
};
[[nodiscard]] Outcome run(const Cell& cell, std::uint64_t packets, std::uint64_t seed);

}  // namespace stopbit::matrix
