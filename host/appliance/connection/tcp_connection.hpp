#pragma once

#include <boost/asio.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "host/appliance/opener/opener.hpp"

namespace stopbit::appliance {

/// A TCP connection that begins again and again, without waiting. One thread, that of the context.
class TcpConnection {
 public:
  /// Whose connection it is. Of these, connect, send and close call none, resume calls room() only, look any.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void connected() = 0;
    virtual void failed() = 0;
    /// Where bytes are put that have come; empty: none are taken until resume().
    [[nodiscard]] virtual std::span<std::byte> room() = 0;
    virtual void filled(std::size_t count) = 0;
    /// By the peer, or broken.
    virtual void closed() = 0;
  };
  /// A socket whose connection may still be under way.
  using Dial = std::function<opener::Outcome()>;

  /// At most `most_unsent` bytes wait for the peer to take them.
  TcpConnection(boost::asio::io_context& context, Dial dial, std::size_t most_unsent, Owner& owner)
      : context_(context), dial_(std::move(dial)), most_unsent_(most_unsent), owner_(owner), socket_(context) {}

  void connect();
  /// False: too much is unsent.
  [[nodiscard]] bool send(std::span<const char> bytes);
  /// What the kernel has, it sends.
  void close();
  /// The owner may have room again.
  void resume();
  /// Takes what has come already: after a pause of the process, time may be judged before the events are.
  void look();
  /// The kernel probes a silent peer, and drops the connection after about half a minute without an answer.
  void probe_silence();

 private:
  void finish_connect(boost::system::error_code error);
  void write();
  void read();
  void take();
  void receive();

  boost::asio::io_context& context_;
  Dial dial_;
  std::size_t most_unsent_;
  Owner& owner_;
  boost::asio::ip::tcp::socket socket_;
  std::uint64_t life_ = 0;  ///< What was begun for an earlier connection is of no use.
  std::string out_;
  bool is_connecting_ = false;
  bool is_writing_ = false;
  bool is_paused_ = false;
};

}  // namespace stopbit::appliance
