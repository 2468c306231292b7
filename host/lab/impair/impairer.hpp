#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "host/lab/impair/random.hpp"

/// A bad network: loses, doubles, swaps, damages and delays the packets of one or two lines, the same way for the same
/// seed. No I/O and no clock of its own: times go in and come out, so it works in memory, on captures, and as a relay.
namespace stopbit::impair {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::size_t kMaxLines = 2;
inline constexpr std::uint32_t kMaxReorderDepth = 65'536;
inline constexpr std::size_t kMaxHeldBack = 64;

/// Losses. Bursts by the model of Gilbert and Elliott: a good state loses nothing, a bad one everything.
struct Loss {
  double rate = 0;        ///< Part of the packets, 0 to 1.
  double mean_burst = 1;  ///< Mean number of packets lost in a row; 1 = each packet by itself.
};

/// Impairments of one line.
struct LineOptions {
  Loss loss;
  double duplicate = 0;               ///< Part of the packets that come twice.
  double reorder = 0;                 ///< Part of the copies that are held back,
  std::uint32_t reorder_depth = 1;    ///< after 1 to this many later ones.
  double corrupt = 0;                 ///< Part of the copies of which a bit is turned.
  std::uint64_t delay_ns = 0;         ///< Of every packet of the line.
  std::uint64_t dies_at = kNever;     ///< From this packet on (they count from 0) nothing comes,
  std::uint64_t returns_at = kNever;  ///< up to this one.
};

struct Options {
  std::uint64_t seed = 1;
  std::size_t lines = 2;  ///< Each packet goes to all of them.
  std::array<LineOptions, kMaxLines> line;
  Loss both;                     ///< Of all lines at once.
  std::size_t corrupt_from = 0;  ///< Bits before this byte are never turned. A packet without later bytes stays whole.
};

/// An action of the impairer. Together the events account for all input and output.
struct Event {
  enum class Kind : std::uint8_t {
    Lost,        ///< On this line.
    LostOnBoth,  ///< Told for each line.
    Dead,        ///< The line was.
    Doubled,     ///< Another copy was made.
    HeldBack,    ///< A copy; `detail` later ones overtake it.
    Damaged,     ///< A copy; bit `detail` was turned.
    Out,         ///< A copy came out, at `time_ns`; `detail` is 1 if it is damaged.
  };
  Kind kind = Kind::Out;
  std::uint8_t line = 0;
  std::uint32_t detail = 0;
  std::uint64_t packet = 0;  ///< Number of the input packet, from 0.
  std::uint64_t time_ns = 0;
};
[[nodiscard]] const char* to_text(Event::Kind kind) noexcept;

/// A packet that comes out.
struct Copy {
  std::vector<std::byte> bytes;
  std::uint64_t packet = 0;
  std::uint64_t time_ns = 0;
  std::uint8_t line = 0;
  bool damaged = false;
};

/// One thread. Memory: the packets on their way, which are as many as come within the longest delay, and those held
/// back: at most kMaxHeldBack, or reorder_depth if that is more. Beyond them the oldest one goes on, so a line that
/// holds back everything sends it late.
class Impairer {
 public:
  using Log = std::function<void(const Event&)>;

  /// `log` may be empty.
  explicit Impairer(const Options& options, Log log = {});

  /// A packet goes in. Times must not go back.
  void push(std::span<const std::byte> packet, std::uint64_t now_ns);
  /// Nothing more goes in: those held back come out.
  void flush(std::uint64_t now_ns);
  /// The next copy that comes out at `until_ns` or before, by time; null if there is none. Valid until the next call.
  [[nodiscard]] const Copy* pop(std::uint64_t until_ns);
  /// When the next copy comes out.
  [[nodiscard]] std::optional<std::uint64_t> next_time() const noexcept;
  /// How many have gone in.
  [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }

 private:
  class LossState {
   public:
    LossState(const Loss& loss, std::uint64_t seed) : loss_(loss), random_(seed) {}
    [[nodiscard]] bool loses() noexcept;

   private:
    Loss loss_;
    Random random_;
    bool is_bad_ = false;
  };
  struct HeldBack {
    Copy copy;
    std::uint32_t left = 0;  ///< Copies that have yet to overtake it.
  };
  struct Line {
    Line(const LineOptions& line_options, std::uint64_t seed);
    LineOptions options;
    LossState loss;
    Random random;
    std::vector<HeldBack> held_back;
    std::deque<Copy> on_its_way;  ///< By time: the delay is the same for all.
  };

  void push(std::size_t index, std::span<const std::byte> packet, std::uint64_t now_ns, bool lost_on_both);
  void let_go(Line& line, Copy copy, std::uint64_t now_ns);
  static void let_first_go(Line& line, std::size_t count, std::uint64_t now_ns);
  [[nodiscard]] Copy make_copy(std::span<const std::byte> packet, std::size_t line);
  void tell(Event::Kind kind, std::size_t line, std::uint64_t packet, std::uint64_t time_ns, std::uint64_t detail = 0);

  Options options_;
  Log log_;
  LossState both_;
  std::vector<Line> lines_;
  std::uint64_t packets_ = 0;
  Copy out_;
  std::vector<std::vector<std::byte>> spare_;  ///< Buffers to be used again.
};

}  // namespace stopbit::impair
