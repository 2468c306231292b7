#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/lab/simulate/preset.hpp"
#include "host/lab/simulate/settings.hpp"
#include "host/lab/venue/fields.hpp"
#include "host/lab/venue/trading.hpp"
#include "host/lab/venue/true_book.hpp"

namespace stopbit::venue {

using simulate::MarketSettings;
using simulate::Phase;

struct Instrument {
  std::uint64_t id = 0;
  std::string symbol;
  std::string key;          ///< As books are named by: its key fields with / between them.
  std::size_t product = 0;  ///< Index.
  TrueBook book;
  Trading trading;
  std::uint64_t report = 0;    ///< RptSeq: entries so far.
  std::uint64_t wakes_ns = 0;  ///< Nothing happens to it before.
  std::uint64_t volume = 0;    ///< Of its trades.
  bool has_changed = false;    ///< Its book or its number, since the last packet of increments.
};

struct Product {
  std::uint64_t id = 0;
  std::uint64_t messages = 0;  ///< MsgSeqNum: messages so far.
};

/// The exchange itself, whatever it speaks.
struct Floor {
  std::vector<Instrument> instruments;
  std::vector<Product> products;
  std::uint64_t time_ns = 0;
  std::uint64_t sender = 1;
  Phase phase = Phase::PreOpen;
};

/// What a stream of the exchange carries.
struct StreamPlan {
  simulate::Role role = simulate::Role::Incremental;
  std::string_view name;
  std::string_view framing;
};
/// Every venue's first stream is that of increments, the second one of snapshots, if they have a stream of their own.
inline constexpr std::size_t kIncrements = 0;
inline constexpr std::size_t kSnapshots = 1;

/// Takes packets.
class Post {
 public:
  Post() = default;
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;
  virtual ~Post() = default;
  /// The messages of a packet, as JSON lines.
  virtual void post(std::size_t stream, std::span<const std::string> messages) = 0;
  /// The number that the next packet will have.
  [[nodiscard]] virtual std::uint64_t next(std::size_t stream) const = 0;
  /// The next packet of the stream has number 1.
  virtual void restart(std::size_t stream) = 0;
};

/// How an exchange speaks: which messages say what happens, with which numbers. doc: the page of feeds, one section an
/// exchange; each .cpp says which rules it follows.
class Voice {
 public:
  Voice(Floor& floor, Post& post, const MarketSettings& settings) : floor_(floor), post_(post), settings_(settings) {}
  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;
  virtual ~Voice() = default;

  [[nodiscard]] virtual std::span<const StreamPlan> streams() const = 0;
  /// Name and text of the template file of all streams.
  [[nodiscard]] virtual std::string_view templates_name() const = 0;
  [[nodiscard]] virtual std::string_view templates() const = 0;
  /// The feed map that fits.
  [[nodiscard]] virtual std::string_view map() const = 0;
  /// What books of the instrument are named by.
  [[nodiscard]] virtual std::string key(const Instrument& instrument) const { return std::to_string(instrument.id); }
  /// Prices of a side that the feed shows; all if it has orders.
  [[nodiscard]] virtual std::size_t depth() const { return ~std::size_t{0}; }
  [[nodiscard]] virtual std::size_t max_payload() const { return 1'472; }
  /// The number that the feed gives the instrument's book now.
  [[nodiscard]] virtual std::uint64_t number(const Instrument& instrument) const { return instrument.report; }

  /// Messages at the begin of each packet.
  virtual void begin_packet(std::size_t /*stream*/, std::vector<std::string>& /*messages*/) const {}

  // An update: some deeds of some products, then their packet.

  /// Does the deed and remembers what is to be said of it.
  virtual void act(Instrument& instrument, const Deed& deed) = 0;
  /// The deeds of one product are done.
  virtual void end_product(std::size_t /*product*/) {}
  virtual void end_update() = 0;

  /// `floor.phase` is another one.
  virtual void say_phase() = 0;
  /// Anything that takes a number and changes no book; nothing by default.
  virtual void say_other(Instrument& /*instrument*/) {}
  /// A snapshot of these instruments, neighbours in the list. `begins`: a cycle; `ends`: likewise.
  virtual void say_snapshots(std::span<Instrument> instruments, bool begins, bool ends) = 0;
  /// How many instruments one call of it takes.
  [[nodiscard]] virtual std::size_t snapshots_at_once() const { return 1; }
  /// The definition of an instrument, in a cycle of its own stream.
  virtual void say_definition(const Instrument& /*instrument*/, bool /*begins*/) {}
  /// The stream is silent.
  virtual void say_alive(std::size_t stream) = 0;

  /// Whether numbers (else: books) can begin anew.
  [[nodiscard]] virtual bool can_reset(bool empties_books) const = 0;
  /// The books are those of the floor afterwards, too, except where the rules empty them.
  virtual void reset(bool empties_books) = 0;
  /// Silence after a reset of the numbers.
  [[nodiscard]] virtual std::uint64_t pause_ns() const { return 0; }
  [[nodiscard]] virtual bool can_fail_over() const { return false; }
  virtual void fail_over() {}

 protected:
  /// A packet of one message.
  void send(std::size_t stream, std::string_view of, const Fields& fields) const {
    const std::array messages = {fields.message(of)};
    post_.post(stream, messages);
  }
  /// All books are empty, and their numbers begin anew. @returns the books as they were, by instrument.
  std::vector<TrueBook> take_books() {
    std::vector<TrueBook> books;
    for (Instrument& instrument : floor_.instruments) {
      books.push_back(std::exchange(instrument.book, {}));
      instrument.report = 0;
      instrument.has_changed = true;
    }
    return books;
  }

  Floor& floor_;
  Post& post_;
  const MarketSettings& settings_;
};

[[nodiscard]] std::unique_ptr<Voice> make_moex_voice(Floor& floor, Post& post, const MarketSettings& settings);
[[nodiscard]] std::unique_ptr<Voice> make_t7_voice(Floor& floor, Post& post, const MarketSettings& settings);
[[nodiscard]] std::unique_ptr<Voice> make_b3_voice(Floor& floor, Post& post, const MarketSettings& settings);
[[nodiscard]] std::unique_ptr<Voice> make_cme_voice(Floor& floor, Post& post, const MarketSettings& settings);
[[nodiscard]] std::unique_ptr<Voice> make_voice(Floor& floor, Post& post, const MarketSettings& settings);

}  // namespace stopbit::venue
