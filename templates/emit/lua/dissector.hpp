#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "microcode/program.hpp"

/// A dissector of Wireshark for the messages of a program.
namespace stopbit::emit {

/// The bytes before the first message of a datagram, and the events that reset the dictionary. The meaning of all
/// members is that of host/feed/framing/framing.hpp and decoder/engine/engine.hpp, which this part does not know.
struct DissectorFraming {
  enum class Kind : std::uint8_t { Fixed, B3, T7 };
  enum class Reset : std::uint8_t { Packet, Template, Never };
  struct Field {
    std::uint32_t offset = 0;
    std::uint8_t bytes = 0;  ///< 0 = there is no such field.
    bool big_endian = true;
  };
  Kind kind = Kind::Fixed;
  std::uint32_t skip = 0;
  Field sequence;
  Field length;
  bool blocks = false;
  Reset reset = Reset::Template;
};

struct DissectorLimits {
  std::uint32_t datagram_bytes = 0;
  std::uint32_t elements = 0;
  std::uint32_t empty_elements = 0;
  std::uint32_t nesting = 0;
  std::uint32_t string_bytes = 0;
};

struct DissectorOptions {
  std::string name = "feed";  ///< Of the protocol, and first part of every filter; must satisfy is_protocol_name.
  std::vector<std::uint16_t> ports;
  DissectorFraming framing;
  /// Named framings that a user can choose in the preferences instead.
  std::vector<std::pair<std::string, DissectorFraming>> presets;
  DissectorLimits limits;
  bool strict = false;
};

/// A lower-case letter, then lower-case letters, digits and underscores; at most 40.
[[nodiscard]] bool is_protocol_name(std::string_view name);

/// The dissector as a text in Lua, for Wireshark 3.0 and later. `program` must have passed verify::check.
///
/// The same program and options give the same text. Nothing of the template file reaches it but as a string literal or
/// a sanitised filter name.
[[nodiscard]] std::string lua_dissector(const Program& program, const DissectorOptions& options);

/// Filter names of the nodes of a program, without the protocol's name: "Template.Field".
///
/// A name is made of letters, digits and underscores; any other character of the template file becomes an underscore.
/// Groups and sequences do not count: nodes in them have the template before their name, as nodes beside them have.
/// Nodes of one name and type in a template share a name: one filter finds all of them; another type makes it `Name_2`.
struct FilterNames {
  std::vector<std::string> templates;
  std::vector<std::string> nodes;  ///< By index of the node.
};
[[nodiscard]] FilterNames filter_names(const Program& program);

}  // namespace stopbit::emit
