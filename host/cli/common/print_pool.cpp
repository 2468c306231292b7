#include "host/cli/common/print_pool.hpp"

#include <system_error>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/os/quiet_thread.hpp"

namespace stopbit::tools {

PrintPool::PrintPool(std::span<const record::Schema> schemas, const PrintStyle& style, Output out, std::size_t threads)
    : out_(std::move(out)), is_wide_(style.is_wide()), messages_(schemas.size()) {
  const std::size_t pages = 2 * threads + 1;
  for (std::size_t i = 0; i < pages; ++i) {
    pages_.push_back(std::make_unique<Page>());
    pages_.back()->slots.reserve(kPageSlots);
    free_.push_back(pages_.back().get());
  }
  printers_.resize(threads + 1);
  for (std::vector<FormatPrinter>& printers : printers_) {
    for (const record::Schema& schema : schemas) printers.emplace_back(schema, style);
  }
  for (const FormatPrinter& printer : printers_.front()) {
    if (out_.buffer().empty()) out_.buffer() += printer.title();
  }
  for (std::size_t i = 0; i < threads; ++i) {
    try {
      threads_.push_back(os::quiet_thread([this, i] { run(printers_[i]); }));
    } catch (const std::system_error& error) {
      if (threads_.empty()) throw ToolError(kExitEnvironment, std::string("cannot start a thread: ") + error.what());
      break;  // fewer will do
    }
  }
}

PrintPool::~PrintPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    to_print_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

template <class Action>
void PrintPool::guarded(Action action) noexcept {
  if (error_) return;
  try {
    action();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void PrintPool::take(std::span<const record::Slot> record, std::size_t schema) noexcept {
  guarded([&] { add(schema, record); });
}

void PrintPool::flush() noexcept {
  guarded([&] { write_all(); });
}

void PrintPool::finish() {
  guarded([&] {
    write_all();
    out_.close();
  });
  if (error_) std::rethrow_exception(error_);
  tell_events_without_row(without_row_);
}

void PrintPool::add(std::size_t schema, std::span<const record::Slot> record) {
  if (page_ != nullptr && page_->slots.size() + record.size() > kPageSlots) hand_over();
  if (page_ == nullptr) begin_page();
  page_->items.push_back({page_->slots.size(), record.size(), schema});
  page_->slots.insert(page_->slots.end(), record.begin(), record.end());
  const bool is_event = record::HeaderView(record[0]).is_event();
  if (!is_event) ++messages_[schema];
  if (is_event && is_wide_) ++without_row_;
}

void PrintPool::begin_page() {
  if (free_.empty()) write_oldest();
  page_ = free_.back();
  free_.pop_back();
  page_->slots.clear();
  page_->items.clear();
  page_->text.clear();
  if (page_->text.capacity() > kPageTextBytes) page_->text.shrink_to_fit();
  page_->messages = messages_;
  page_->next = 0;
  page_->is_printed = false;
}

void PrintPool::hand_over() {
  under_way_.push_back(page_);
  {
    const std::lock_guard lock(mutex_);
    to_print_.push_back(std::exchange(page_, nullptr));
  }
  changed_.notify_all();
}

void PrintPool::write_oldest() {
  Page& page = *under_way_.front();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return page.is_printed; });
  }
  under_way_.pop_front();
  free_.push_back(&page);
  if (page.error) std::rethrow_exception(std::exchange(page.error, nullptr));
  out_.write_now(page.text);
  while (page.next < page.items.size()) {
    page.text.clear();
    print(page, printers_.back());
    out_.write_now(page.text);
  }
}

void PrintPool::write_all() {
  if (page_ != nullptr) hand_over();
  while (!under_way_.empty()) write_oldest();
  out_.flush();  // the title, if there is nothing else
}

void PrintPool::run(std::vector<FormatPrinter>& printers) {
  for (;;) {
    Page* page = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !to_print_.empty(); });
      if (ends_) return;
      page = to_print_.front();
      to_print_.pop_front();
    }
    try {
      print(*page, printers);
    } catch (...) {
      page->error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      page->is_printed = true;
    }
    changed_.notify_all();
  }
}

/// From its next item on, until the text is long enough.
void PrintPool::print(Page& page, std::vector<FormatPrinter>& printers) {
  for (std::size_t i = 0; i < printers.size(); ++i) printers[i].count_from(page.messages[i]);
  while (page.next < page.items.size() && page.text.size() < kPageTextBytes) {
    const Item& item = page.items[page.next++];
    const auto record = std::span<const record::Slot>(page.slots).subspan(item.begin, item.slots);
    const record::ReadError error = printers[item.schema].print(record, page.text);
    if (error != record::ReadError::None) fail_unreadable(error);
    if (!record::HeaderView(record[0]).is_event()) ++page.messages[item.schema];
  }
}

}  // namespace stopbit::tools
