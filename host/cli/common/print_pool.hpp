#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "decoder/record/schema.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/record_printer.hpp"

namespace stopbit::tools {

/// Prints records on several threads; the output is that of RecordPrinter. Records are collected in pages, which the
/// threads print in any order and the caller's thread writes in theirs. Bounded: add() waits for the oldest page.
///
/// The caller's thread calls everything.
class PrintPool final : public RecordDestination {
 public:
  PrintPool(std::span<const record::Schema> schemas, const PrintStyle& style, Output out, std::size_t threads);
  /// Records that were not written are lost.
  ~PrintPool() override;

  void take(std::span<const record::Slot> record, std::size_t schema) noexcept override;
  void flush() noexcept override;
  [[nodiscard]] bool failed() const noexcept override { return error_ != nullptr; }
  /// Writes everything and closes the output. Throws the error, if there was one.
  void finish();

 private:
  static constexpr std::size_t kPageSlots = 4096;
  /// A hostile schema can make much text of few slots: a thread stops here, and the caller's prints the rest.
  static constexpr std::size_t kPageTextBytes = 8U << 20;

  struct Item {
    std::size_t begin = 0;
    std::size_t slots = 0;
    std::size_t schema = 0;
  };
  struct Page {
    std::vector<record::Slot> slots;
    std::vector<Item> items;
    std::size_t next = 0;                 ///< The item to be printed next.
    std::vector<std::uint64_t> messages;  ///< Before it, by schema.
    std::string text;
    std::exception_ptr error;
    bool is_printed = false;  ///< Guarded by mutex_.
  };

  template <class Action>
  void guarded(Action action) noexcept;
  void add(std::size_t schema, std::span<const record::Slot> record);
  void write_all();
  void run(std::vector<FormatPrinter>& printers);
  static void print(Page& page, std::vector<FormatPrinter>& printers);
  void begin_page();
  void hand_over();
  void write_oldest();

  Output out_;
  bool is_wide_;
  std::uint64_t without_row_ = 0;  ///< Events that a wide format cannot show.
  std::exception_ptr error_;
  std::vector<std::uint64_t> messages_;  ///< By schema.
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Page*> free_;
  std::deque<Page*> under_way_;  ///< In order.
  Page* page_ = nullptr;         ///< Being filled.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Page*> to_print_;
  bool ends_ = false;
  std::vector<std::vector<FormatPrinter>> printers_;  ///< By thread; the last ones are the caller's.
  std::vector<std::thread> threads_;
};

}  // namespace stopbit::tools
