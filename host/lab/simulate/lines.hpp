#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "host/lab/simulate/exchange.hpp"

namespace stopbit::simulate {

/// Lines A and B: what the streams of an exchange send, in the order of its arrival, with the delays and the
/// impairments of the settings.
class Lines {
 public:
  explicit Lines(const Settings& settings) : settings_(settings) {}
  Lines(const Lines&) = delete;  // the networks' logs point into it
  Lines& operator=(const Lines&) = delete;

  /// The groups of a stream, by its number among all streams.
  [[nodiscard]] static std::vector<net::Endpoint> groups(const Settings& settings, std::size_t number);

  /// Adds a stream, and returns its index. `seed` counts only if is_impaired(settings).
  std::size_t add(std::vector<net::Endpoint> groups, std::uint64_t skew_ns, std::uint64_t seed);
  /// Times may not go back within a stream.
  void send(std::size_t stream, std::vector<std::byte> datagram, std::uint64_t time_ns, bool from_backup);
  /// Nothing more is sent: what a network holds back comes out.
  void flush(std::uint64_t time_ns);

  /// When the next datagram arrives; nothing if none is on its way.
  [[nodiscard]] std::optional<std::uint64_t> next_time() const;
  /// Takes it; next_time() has a value. The payload is valid until the next call.
  [[nodiscard]] Sent take();
  [[nodiscard]] const ImpairReport& impaired(std::size_t stream) const { return streams_[stream]->impaired; }

 private:
  struct Stream {
    std::vector<net::Endpoint> groups;
    std::uint64_t skew_ns = 0;
    bool from_backup = false;                   ///< What it sends now.
    std::unique_ptr<impair::Impairer> network;  ///< Null: perfect.
    ImpairReport impaired;
    std::vector<std::uint64_t> fail_overs;  ///< Numbers of the first packets of another sender in the network.
  };
  /// A datagram on its way.
  struct Pending {
    std::uint64_t time_ns = 0;
    std::uint64_t order = 0;
    std::size_t line = 0;
    bool from_backup = false;
    net::Endpoint source;
    net::Endpoint group;
    std::shared_ptr<const std::vector<std::byte>> payload;

    bool operator>(const Pending& other) const {
      return std::pair(time_ns, order) > std::pair(other.time_ns, other.order);
    }
  };

  [[nodiscard]] net::Endpoint source_of(std::size_t line, bool backup) const;
  void put(const Stream& stream, std::size_t line, std::uint64_t time_ns, bool from_backup,
           std::shared_ptr<const std::vector<std::byte>> payload);
  void collect(const Stream& stream);

  const Settings settings_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  Pending current_;
  std::uint64_t order_ = 0;
};

}  // namespace stopbit::simulate
