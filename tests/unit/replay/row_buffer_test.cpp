#include "host/replay/columns/row_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/file_text.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::replay::row_buffer_test {

constexpr std::size_t kHeadBytes = 128;

/// A table with columns of every width, and what its files must hold.
class Table {
 public:
  Table(ColumnFolder& folder, const std::string& name) : rows_(folder) {
    constexpr std::array<const char*, 4> kTypes = {"|u1", "<u2", "<u4", "<u8"};
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i] = &folder.add(name + std::to_string(i), kTypes[i], static_cast<std::uint8_t>(1U << i));
      rows_.add(*files_[i]);
    }
  }

  [[nodiscard]] RowBuffer::Row begin_row() {
    expected_.push_back({});
    return rows_.begin_row();
  }

  void put(RowBuffer::Row& row, std::size_t column, std::uint64_t value) {
    const std::uint32_t cell = rows_.cell(*files_[column]);
    switch (column) {
      case 0: row.put(cell, static_cast<std::uint8_t>(value)); break;
      case 1: row.put(cell, static_cast<std::uint16_t>(value)); break;
      case 2: row.put(cell, static_cast<std::uint32_t>(value)); break;
      default: row.put(cell, value);
    }
    expected_[row.number()][column] = value;
  }

  void check(const std::string& folder) const {
    EXPECT_EQ(rows_.rows(), expected_.size());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::size_t bytes = std::size_t{1} << i;
      const std::string file = stopbit::testing::file_text(folder + "/" + files_[i]->name());
      ASSERT_EQ(file.size(), kHeadBytes + expected_.size() * bytes) << files_[i]->name();
      for (std::size_t row = 0; row < expected_.size(); ++row) {
        ASSERT_EQ(std::memcmp(file.data() + kHeadBytes + row * bytes, &expected_[row][i], bytes), 0)
            << files_[i]->name() << " of " << row;
      }
    }
  }

 private:
  RowBuffer rows_;
  std::array<ColumnFile*, 4> files_{};
  std::vector<std::array<std::uint64_t, 4>> expected_;
};

std::unique_ptr<ColumnFolder> open(const stopbit::testing::Scratch& scratch) {
  return std::move(ColumnFolder::open(scratch.path("columns"), false).value());
}

TEST(RowBuffer, keeps_what_each_row_sets_and_is_zero_elsewhere) {
  const stopbit::testing::Scratch scratch;
  const std::unique_ptr<ColumnFolder> folder = open(scratch);
  Table table(*folder, "t");
  cases::Random random(11);
  for (int i = 0; i < 30'000; ++i) {
    RowBuffer::Row row = table.begin_row();
    for (std::size_t column = 0; column < 4; ++column) {
      if (random.chance(50)) table.put(row, column, random.bits());
    }
  }
  ASSERT_TRUE(folder->finish("{}"));
  table.check(scratch.path("columns"));
}

TEST(RowBuffer, writes_to_rows_that_have_been_written) {
  const stopbit::testing::Scratch scratch;
  const std::unique_ptr<ColumnFolder> folder = open(scratch);
  Table table(*folder, "t");
  RowBuffer::Row outer = table.begin_row();
  table.put(outer, 0, 1);
  for (int i = 0; i < 20'000; ++i) {
    RowBuffer::Row inner = table.begin_row();
    table.put(inner, 3, static_cast<std::uint64_t>(i));
    outer.refresh();
    if (i % 1'000 == 0) table.put(outer, 2, 7U + static_cast<std::uint64_t>(i));
  }
  table.put(outer, 3, UINT64_MAX);
  ASSERT_TRUE(folder->finish("{}"));
  table.check(scratch.path("columns"));
}

TEST(RowBuffer, is_released_when_others_need_the_memory) {
  const stopbit::testing::Scratch scratch;
  const std::unique_ptr<ColumnFolder> folder = open(scratch);
  std::vector<std::unique_ptr<Table>> tables;
  for (int i = 0; i < 1'200; ++i) tables.push_back(std::make_unique<Table>(*folder, std::to_string(i) + "_"));
  RowBuffer::Row held = tables[0]->begin_row();
  tables[0]->put(held, 1, 3);
  const std::uint64_t before = folder->bytes_written();
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& table : tables) {
      RowBuffer::Row row = table->begin_row();
      table->put(row, 2, static_cast<std::uint64_t>(pass) + 1);
    }
  }
  EXPECT_GT(folder->bytes_written(), before) << "1,200 buffers of 120 KiB are more than what a folder may take";
  held.refresh();
  tables[0]->put(held, 3, 5);
  ASSERT_TRUE(folder->finish("{}"));
  for (const auto& table : tables) table->check(scratch.path("columns"));
}

TEST(RowBuffer, keeps_its_memory_while_a_row_is_open) {
  constexpr std::size_t kColumns = 256;  // 8 such tables take all that a folder may take
  const stopbit::testing::Scratch scratch;
  const std::unique_ptr<ColumnFolder> folder = open(scratch);
  std::vector<std::unique_ptr<RowBuffer>> tables;
  ColumnFile* last = nullptr;
  for (int i = 0; i < 8; ++i) {
    tables.push_back(std::make_unique<RowBuffer>(*folder));
    for (std::size_t column = 0; column < kColumns; ++column) {
      last = &folder->add(std::to_string(i), "<u8", 8);
      tables.back()->add(*last);
    }
    (void)tables.back()->begin_row();
  }
  RowBuffer::Row row = tables.back()->begin_row();
  ColumnFile& text = folder->add("text", "|u1", 1);
  text.append("its first byte needs a buffer");
  row.put(tables.back()->cell(*last), std::uint64_t{7});
  ASSERT_TRUE(folder->finish("{}"));
  const std::string file = stopbit::testing::file_text(scratch.path("columns") + "/" + last->name());
  ASSERT_EQ(file.size(), kHeadBytes + 16);
  std::uint64_t second = 0;
  std::memcpy(&second, file.data() + kHeadBytes + 8, sizeof(second));
  EXPECT_EQ(second, 7U);
}

}  // namespace stopbit::replay::row_buffer_test
