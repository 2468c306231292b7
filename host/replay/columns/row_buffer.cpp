#include "host/replay/columns/row_buffer.hpp"

#include <algorithm>

namespace stopbit::replay {

RowBuffer::RowBuffer(ColumnFolder& folder) : folder_(folder) {
  folder_.add(*this);
}

RowBuffer::~RowBuffer() {
  folder_.remove(*this);
}

void RowBuffer::add(ColumnFile& file) {
  files_.push_back(&file);
  row_bytes_ += file.item_bytes();
}

std::uint32_t RowBuffer::cell(const ColumnFile& file) {
  if (capacity_ == 0) lay_out();
  return cell_of_.at(&file);
}

void RowBuffer::lay_out() {
  const std::size_t fitting = kMostBytes / row_bytes_ / kZeroedRows * kZeroedRows;
  capacity_ = std::clamp(fitting, kZeroedRows, kMostRows);
  std::size_t at = 0;
  for (const ColumnFile* file : files_) {
    cells_.push_back(static_cast<std::uint32_t>(at));
    cell_of_.emplace(file, cells_.back());
    at += file->item_bytes() * capacity_;
  }
}

void RowBuffer::make_room() {
  if (capacity_ == 0) lay_out();
  if (rows_ - first_ == capacity_) write();
  if (bytes_ == nullptr) {
    folder_.account_for(capacity_ * row_bytes_);
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(capacity_ * row_bytes_);
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::size_t item = files_[i]->item_bytes();
    std::memset(bytes_.get() + cells_[i] + (rows_ - first_) * item, 0, kZeroedRows * item);
  }
}

void RowBuffer::write() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i]->append_items({bytes_.get() + cells_[i], (rows_ - first_) * files_[i]->item_bytes()});
  }
  first_ = rows_;
}

void RowBuffer::release() {
  if (bytes_ == nullptr) return;
  write();
  bytes_.reset();
  folder_.discount(capacity_ * row_bytes_);
}

void RowBuffer::overwrite(std::uint32_t cell, std::uint64_t row, std::uint64_t value) {
  const auto at = static_cast<std::size_t>(std::find(cells_.begin(), cells_.end(), cell) - cells_.begin());
  files_[at]->overwrite(row, value);
}

}  // namespace stopbit::replay
