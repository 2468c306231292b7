#include "microcode/image/layout.hpp"

namespace stopbit::image {
namespace {

/// A visitor that notes the offset of each field of an entry.
class Recorder {
 public:
  Recorder(Section section, std::vector<FieldPlace>& places) : section_(section), places_(places) {}

  template <class T>
  void number(std::string_view name, const T& /*value*/) {
    add(name, sizeof(T));
  }
  template <class E>
  void enumerator(std::string_view name, const E& /*value*/, E /*last*/) {
    add(name, sizeof(E));
  }
  template <class... Bits>
  void flags(std::string_view name, const Bits&... /*bits*/) {
    add(name, 1);
  }
  void text(std::string_view name, const TextRef& /*ref*/) { add(name, 8); }
  void instruction(std::string_view name, const isa::Instruction& /*value*/) { add(name, 8); }
  void reserved(std::size_t bytes) { add("reserved", bytes); }

 private:
  void add(std::string_view name, std::size_t bytes) {
    places_.push_back({section_, name, offset_, bytes});
    offset_ += bytes;
  }

  Section section_;
  std::vector<FieldPlace>& places_;
  std::size_t offset_ = 0;
};

}  // namespace

std::vector<FieldPlace> field_places() {
  std::vector<FieldPlace> places;
  const auto record = [&](Section section, auto describe) {
    Recorder recorder(section, places);
    describe(recorder);
  };
  record(Section::Properties, [](auto& v) { describe_properties(v, Properties{}); });
  record(Section::Code, [](auto& v) { describe_instruction(v, isa::Instruction{}); });
  record(Section::Constants, [](auto& v) { describe_constant(v, Constant{}); });
  record(Section::Slots, [](auto& v) { describe_slot(v, Slot{}); });
  record(Section::Dispatch, [](auto& v) { describe_dispatch(v, DispatchEntry{}); });
  record(Section::Profiles, [](auto& v) { describe_profile(v, ProfileEntry{}); });
  record(Section::Blocks, [](auto& v) { describe_block(v, Block{}); });
  record(Section::Templates, [](auto& v) { describe_template(v, Template{}); });
  record(Section::Nodes, [](auto& v) { describe_node(v, SchemaNode{}); });
  record(Section::Types, [](auto& v) { describe_type(v, TypeInfo{}); });
  record(Section::Elements, [](auto& v) { describe_element(v, Element{}); });
  record(Section::Sources, [](auto& v) { describe_source(v, Source{}); });
  record(Section::Positions, [](auto& v) { describe_position(v, Position{}); });
  return places;
}

}  // namespace stopbit::image
