#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "host/multicast/history.hpp"
#include "host/multicast/options.hpp"
#include "host/multicast/publisher.hpp"
#include "host/multicast/refill_message.hpp"
#include "host/os/shm/segment.hpp"
#include "host/remote/admission.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::multicast {

struct RefillCounts {
  std::uint64_t clients = 0;  ///< Connected now.
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;  ///< Connections closed at once: no place for a client, or too many of its address.
  std::uint64_t requests = 0;
  std::uint64_t packets = 0;    ///< Sent again.
  std::uint64_t gone = 0;       ///< Requests for packets that are not kept.
  std::uint64_t malformed = 0;  ///< Connections closed for what is no request.
  std::uint64_t idle = 0;       ///< Connections closed because they asked nothing, or took nothing, for kPatienceNs.
};

/// What a publisher can send again.
struct Kept {
  const History& history;
  std::uint64_t epoch = 0;
  std::uint64_t layout = 0;          ///< Name of the present ring's image.
  std::span<const std::byte> image;  ///< Empty: there is no ring yet. Valid during the call.
  const std::function<std::shared_ptr<const State>()>* state = nullptr;  ///< Null, or without a result: none is kept.
};

/// Answers readers that lack packets, the layout of records or the state of books, by TCP. Bounded: clients, requests
/// at a time (one), bytes that wait for a client. One thread, which never waits here.
class RefillServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<RefillServer>> open(const RefillOptions& options);

  /// @returns answers sent, at least in part.
  std::size_t step(std::uint64_t now_ns, const Kept& kept);
  [[nodiscard]] const RefillCounts& counts() const noexcept { return counts_; }
  /// Where it listens, with the port that the kernel chose if none was said.
  [[nodiscard]] net::Endpoint address() const noexcept { return address_; }

  static constexpr std::uint64_t kPatienceNs = 30'000'000'000;

 private:
  static constexpr std::size_t kRoom = 256U << 10;  ///< Bytes that wait for a client.
  struct Client {
    os::Descriptor socket;
    std::uint32_t address = 0;
    std::uint64_t moved_ns = 0;
    remote::ByteRate rate{0};
    std::array<std::byte, kRequestBytes> request;
    std::size_t read = 0;
    bool is_answering = false;
    Request asked;
    std::uint64_t next = 0;        ///< The packet to send.
    bool has_gone = false;         ///< A packet was not kept.
    std::vector<std::byte> image;  ///< What is left of a layout, from `image_at`; the ring may end meanwhile.
    std::size_t image_at = 0;
    std::shared_ptr<const State> state;  ///< What is left of it, from `state_at`.
    std::size_t state_at = 0;
    std::vector<std::byte> out;  ///< Capacity kRoom.
    std::size_t sent = 0;        ///< Of `out`.
  };

  RefillServer(os::Descriptor listener, const RefillOptions& options, net::Endpoint address)
      : listener_(std::move(listener)), options_(options), address_(address) {}

  void accept_clients(std::uint64_t now_ns);
  /// False: the client's connection ends.
  [[nodiscard]] bool serve(Client& client, std::uint64_t now_ns, const Kept& kept, std::size_t& work);
  [[nodiscard]] bool read_request(Client& client, std::uint64_t now_ns, const Kept& kept);
  void fill(Client& client, const Kept& kept);
  static void fill_layout(Client& client);
  static void fill_state(Client& client);
  void finish(Client& client, const Kept& kept);
  static void append(Client& client, AnswerHead::Kind kind, std::size_t bytes);

  os::Descriptor listener_;
  RefillOptions options_;
  net::Endpoint address_;
  std::vector<std::unique_ptr<Client>> clients_;
  RefillCounts counts_;
};

}  // namespace stopbit::multicast
