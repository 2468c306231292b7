#include "tests/system/dissector/dissection.hpp"

#include <algorithm>
#include <string_view>

namespace stopbit::dissector {
namespace {

constexpr std::size_t kLabelBytes = 200;  ///< Of long labels, Wireshark keeps at least these, and says so.
constexpr std::string_view kTruncated = " [truncated]";

bool same_label(std::string_view expected, std::string_view actual) {
  if (!actual.starts_with(kTruncated)) return expected == actual;
  actual.remove_prefix(kTruncated.size());
  return expected.size() > kLabelBytes && expected.substr(0, kLabelBytes) == actual.substr(0, kLabelBytes);
}

std::string text(const Row& row) {
  return std::string(static_cast<std::size_t>(row.depth) * 2, ' ') + row.filter + " | " + row.label + " | " + row.value;
}

}  // namespace

std::string difference(const Event& expected, const Event& actual) {
  if (expected.title != actual.title) return "expected " + expected.title + "\ngot      " + actual.title;
  for (std::size_t i = 0; i < std::max(expected.rows.size(), actual.rows.size()); ++i) {
    const Row* const wanted = i < expected.rows.size() ? &expected.rows[i] : nullptr;
    const Row* const got = i < actual.rows.size() ? &actual.rows[i] : nullptr;
    const bool same = wanted != nullptr && got != nullptr && wanted->depth == got->depth &&
                      wanted->filter == got->filter && wanted->value == got->value &&
                      same_label(wanted->label, got->label);
    if (same) continue;
    return expected.title + ", row " + std::to_string(i + 1) + "\nexpected " +
           (wanted != nullptr ? text(*wanted) : "the end") + "\ngot      " + (got != nullptr ? text(*got) : "the end");
  }
  return {};
}

}  // namespace stopbit::dissector
