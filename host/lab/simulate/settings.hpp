#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/lab/impair/impairer.hpp"
#include "host/os/config/toml.hpp"

namespace stopbit::simulate {

/// One of the two ways on which everything is sent.
struct LineSettings {
  net::Endpoint group;                         ///< Of the first stream; the others follow in address and port.
  std::optional<net::Endpoint> source;         ///< Nothing: the kernel's choice.
  std::optional<net::Endpoint> backup_source;  ///< After a fail-over; nothing: the same.
  std::string interface;                       ///< That it leaves through.
  std::optional<impair::LineOptions> impair;   ///< Impairments of the line; the delay is the line's skew.
};

/// When something happens, and to which channel (nothing: to all).
struct Moment {
  std::uint64_t at_ns = 0;  ///< From the start.
  std::optional<std::uint64_t> channel;
  bool empties_books = false;  ///< A reset, of a market: the books and their numbers begin anew, not the messages'.
};

/// An exchange of which a market is simulated.
enum class VenueKind : std::uint8_t { MoexFx, T7, T7Mdi, B3, Cme };

/// States of trading.
enum class Phase : std::uint8_t { PreOpen, Open, Halted, Closed };

/// From when on trading is in which state.
struct PhaseMoment {
  std::uint64_t at_ns = 0;
  Phase phase = Phase::Open;
};

/// [market]: instead of a preset's random messages, those of an exchange whose books are true (host/lab/venue).
struct MarketSettings {
  VenueKind exchange = VenueKind::MoexFx;
  std::uint64_t depth = 5;                 ///< Prices of a side that feeds of prices show.
  std::uint64_t orders = 16;               ///< Most orders of a side.
  std::uint64_t changes = 4;               ///< Most changes of books in one update.
  std::uint64_t fragment = 6;              ///< Most orders in a fragment of a snapshot, where snapshots have fragments.
  std::uint64_t definitions_every_ns = 0;  ///< A whole cycle; 0 = none.
  std::vector<PhaseMoment> phases;
};

/// sim.toml. Plain data.
struct Settings {
  std::string preset = {};
  std::uint64_t seed = 1;
  std::uint64_t start_ns = 0;  ///< Of the simulated clock, since the epoch.
  std::uint64_t duration_ns = 0;
  std::uint64_t channels = 1;
  std::uint64_t instruments = 20;        ///< Of a channel.
  std::uint64_t products = 1;            ///< Of a channel; each has its own message numbers.
  double rate = 1'000;                   ///< Packets per second of a channel's incremental stream, without bursts.
  std::uint64_t snapshot_every_ns = 0;   ///< A whole cycle; 0 = none.
  std::uint64_t heartbeat_every_ns = 0;  ///< Of silence; 0 = none.
  std::uint64_t burst_every_ns = 0;      ///< 0 = none.
  std::uint64_t burst_packets = 0;
  std::uint64_t burst_gap_ns = 0;      ///< Between the packets of a burst.
  std::uint64_t skew_ns = 0;           ///< Delay of line B against line A.
  std::uint64_t carousel_skew_ns = 0;  ///< The same of carousels: up to a cycle.
  std::vector<Moment> resets;
  std::vector<Moment> failovers;
  std::optional<MarketSettings> market;
  impair::Loss loss_both;           ///< On both lines at once.
  std::vector<LineSettings> lines;  ///< A and, if there are two, B.
};

/// Whether the network is not perfect.
[[nodiscard]] bool is_impaired(const Settings& settings) noexcept;

/// Reads sim.toml; what is wrong is in `diagnostics`, and then there is nothing.
[[nodiscard]] std::optional<Settings> read_settings(const config::Document& document, Diagnostics& diagnostics);

}  // namespace stopbit::simulate
