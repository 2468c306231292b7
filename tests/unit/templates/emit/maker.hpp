#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/record/fixture.hpp"
#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::emit::testing {

inline Program compile_file(const std::string& path, const std::string& fields = {}) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  templates::CompileOptions options;
  if (!fields.empty()) options.fields = std::make_shared<const SourceBuffer>("fields", fields);
  templates::Compiled compiled = templates::compile_text(text.str(), options);
  if (!compiled.program) throw std::runtime_error(compiled.diagnostics.format());
  return *std::move(compiled.program);
}

/// A record of a compiled template, filled by the names of its fields in the order of the record.
class Maker {
 public:
  Maker(const Program& program, std::string_view template_name) : program_(program), record_(program) {
    for (std::size_t i = 0; i < program.templates.size(); ++i) {
      if (program.name(program.templates[i].name) != template_name) continue;
      template_ = &program.templates[i];
      record_.open_root(static_cast<std::uint16_t>(i));
      block_ = template_->root_block;
    }
  }

  template <class T>
  Maker& put(std::string_view name, T value) {
    const SchemaNode& node = enter(name);
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      record_.put(node.word, std::string_view(value));
    } else {
      record_.put(node.word, static_cast<std::uint64_t>(value));
    }
    return *this;
  }
  Maker& decimal(std::string_view name, std::int64_t mantissa, std::int64_t exponent) {
    record_.put_decimal(enter(name).word, mantissa, exponent);
    return *this;
  }
  /// Opens the next element.
  Maker& element(std::string_view sequence) {
    block_ = find(sequence).element_block;
    record_.open(block_);
    return *this;
  }
  /// Opens the groups around the field, without a value.
  Maker& open(std::string_view name) {
    (void)enter(name);
    return *this;
  }
  /// A dynamic reference; fields that follow are those of its template.
  Maker& reference(std::string_view template_name) {
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      if (program_.name(program_.templates[i].name) != template_name) continue;
      outer_ = template_;
      template_ = &program_.templates[i];
      block_ = template_->root_block;
      record_.reference(static_cast<std::uint16_t>(i));
    }
    return *this;
  }
  /// Back to the fields of the template around.
  Maker& end_reference() {
    template_ = outer_;
    block_ = kNoBlock;
    return *this;
  }
  record::Header& header() { return record_.header(); }

  std::vector<record::Slot> commit() { return record_.commit(); }

 private:
  const SchemaNode& find(std::string_view name) {
    for (std::size_t i = template_->first_node; i < template_->end_node; ++i) {
      if (program_.name(program_.nodes[i].name) == name) return program_.nodes[i];
    }
    throw std::runtime_error("no field " + std::string(name));
  }
  const SchemaNode& enter(std::string_view name) {
    const SchemaNode& node = find(name);
    if (node.block != block_) record_.open(block_ = node.block);
    return node;
  }

  const Program& program_;
  record::test::RecordMaker record_;
  const Template* template_ = nullptr;
  const Template* outer_ = nullptr;
  std::uint16_t block_ = kNoBlock;
};

}  // namespace stopbit::emit::testing
