#include <fmt/format.h>

#include <bit>
#include <map>
#include <memory>
#include <optional>

#include "decoder/record/layout.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/record/text.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/analyse/profile/profile.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/record_slots.hpp"
#include "host/cli/common/text.hpp"
#include "microcode/template_terms.hpp"
#include "microcode/verify/verify.hpp"

namespace stopbit::tools {
namespace {

struct InfoArguments {
  std::string input;
  std::string engine;
  bool json = false;
};

/// A word of a block, as readers of records find it.
struct Row {
  std::uint8_t word = 0;
  std::string name;
  std::string type;
  std::uint32_t id = 0;
  bool optional = false;
};

struct BlockRows {
  std::uint16_t block = 0;
  std::vector<Row> rows;
};

/// A mandatory constant: in the schema, not in the records.
struct ConstantRow {
  std::string name;
  std::string type;
  std::string value;
};

/// The content of a template's records, block by block.
struct TemplateRows {
  std::vector<BlockRows> blocks;
  std::vector<ConstantRow> constants;
  std::vector<std::string> unstored;  ///< Names of what is decoded and not in the records.

  BlockRows& block(std::uint16_t index) {
    for (BlockRows& known : blocks) {
      if (known.block == index) return known;
    }
    return blocks.emplace_back(BlockRows{index, {}});
  }
};

std::string type_of(const record::Schema& schema, const SchemaNode& node) {
  std::string text(record::type_name(node.type));
  if (node.type == FieldType::Timestamp) {
    text += fmt::format(" ({}, {})", unit_name(node.unit), plain(schema.name(node.epoch)));
  } else if (node.type == FieldType::Enum || node.type == FieldType::Set) {
    text += fmt::format(" ({})", schema.element_count(node));
  }
  return text;
}

std::string constant_text(const record::Schema& schema, const SchemaNode& node) {
  const Program& program = schema.program();
  const Constant& constant = program.constants[node.constant_index];
  std::string text;
  switch (node.type) {
    case FieldType::Decimal:
      record::append_decimal(text, static_cast<std::int64_t>(program.constants[node.constant_index + 1U].value),
                             static_cast<std::int32_t>(constant.value));
      return text;
    case FieldType::Ascii:
    case FieldType::Unicode: return plain(program.constant_bytes(constant.bytes()));
    case FieldType::ByteVector: record::append_hex(text, program.constant_bytes(constant.bytes())); return text;
    case FieldType::Enum: return plain(schema.element_name(node, constant.value));
    default: break;
  }
  if (record::is_signed(node.type)) {
    record::append_signed(text, static_cast<std::int64_t>(constant.value));
  } else {
    record::append_unsigned(text, constant.value);
  }
  return text;
}

void add_field(const record::Schema& schema, const SchemaNode& node, TemplateRows& rows) {
  const std::string name = plain(schema.name(node.name));
  const std::string type = type_of(schema, node);
  if (node.constant) {
    rows.constants.push_back({name, type, constant_text(schema, node)});
  } else if (node.type == FieldType::Decimal) {
    BlockRows& block = rows.block(node.block);
    block.rows.push_back({node.word, name, "decimal exponent", node.id, node.optional});
    block.rows.push_back({static_cast<std::uint8_t>(node.word + 1), name, "decimal mantissa", node.id, node.optional});
  } else {
    rows.block(node.block).rows.push_back({node.word, name, type, node.id, node.optional});
  }
}

void add_node(const record::Schema& schema, std::uint16_t template_index, const SchemaNode& node, TemplateRows& rows) {
  if (node.unstored) {
    const bool is_named = node.kind == NodeKind::Field || node.kind == NodeKind::Sequence;
    if (is_named && node.name.length != 0) rows.unstored.push_back(plain(schema.name(node.name)));
    return;
  }
  switch (node.kind) {
    case NodeKind::Field: return add_field(schema, node, rows);
    case NodeKind::Sequence: {
      std::string name = plain(schema.owner_name(node));
      if (node.element_block != kNoBlock && node.length_name.length != 0) {
        name += " (of " + plain(schema.name(node.name)) + ")";
      }
      rows.block(node.block)
          .rows.push_back({node.word, name, fmt::format("length, elements in block {}", node.element_block),
                           node.length_id, node.optional});
      (void)rows.block(node.element_block);
      return;
    }
    case NodeKind::Group: {
      // The witness of an optional group has a row of its own unless it is the word of a field.
      const bool has_own_word = node.optional && schema.owner(template_index, node.block, node.word) == nullptr;
      if (has_own_word) {
        rows.block(node.block)
            .rows.push_back({node.word, plain(schema.name(node.name)), "group present", node.id, true});
      }
      return;
    }
    case NodeKind::Reference: return;
  }
}

TemplateRows rows_of(const record::Schema& schema, std::uint16_t template_index) {
  const Template& item = *schema.find(template_index);
  TemplateRows rows;
  (void)rows.block(item.root_block);
  for (std::size_t i = item.first_node; i < item.end_node; ++i) add_node(schema, template_index, schema.node(i), rows);
  return rows;
}

/// Position of a word in a record, if the block's first value is at word `base` of its first slot.
struct Place {
  std::size_t slot;
  std::size_t word;
};

std::size_t base_of(const Block& block) {
  return block.kind == BlockKind::Root ? record::kHeaderWords : 0;
}

Place place_of(const Block& block, std::uint8_t word) {
  const std::size_t place = base_of(block) + word;
  return {place / record::kValueWords, place % record::kValueWords};
}

unsigned tag_of(const Block& block, std::uint8_t word) {
  return record::value_tag(block.first_word + std::size_t{word});
}

std::string range_text(SlotRange range) {
  return range.least == range.most ? std::to_string(range.least) : fmt::format("{} to {}", range.least, range.most);
}

/// "2, and 1 for each element of MDEntries"
std::string slots_text(const record::Schema& schema, const Template& item) {
  const RecordSlots slots = slots_of(schema, item);
  std::string out = range_text(slots.fixed);
  for (const ElementSlots& of : slots.elements) {
    out += fmt::format(", and {} for each element of {}", range_text(of.slots), plain(schema.name(of.sequence->name)));
  }
  if (slots.references != 0) out += ", and the slots of the templates it refers to";
  return out;
}

std::string slots_json(const record::Schema& schema, const Template& item) {
  const RecordSlots slots = slots_of(schema, item);
  std::string out = fmt::format(R"({{"least":{},"most":{},"references":{},"elements":[)", slots.fixed.least,
                                slots.fixed.most, slots.references);
  for (const ElementSlots& of : slots.elements) {
    out += fmt::format(R"({}{{"sequence":{},"least":{},"most":{}}})", out.back() == '[' ? "" : ",",
                       json(schema.name(of.sequence->name)), of.slots.least, of.slots.most);
  }
  return out + "]}";
}

std::vector<std::string_view> capabilities(const Program& program) {
  std::vector<std::string_view> names;
  for (std::uint64_t bits = required_capabilities(program); bits != 0; bits &= bits - 1) {
    names.push_back(isa::capability_name(bits & -bits));
  }
  return names;
}

std::string template_text(const record::Schema& schema, std::uint16_t index) {
  const Program& program = schema.program();
  const Template& item = program.templates[index];
  std::string out = fmt::format("\ntemplate {}, id {}: {}{}{}\n", index, item.id, plain(program.name(item.name)),
                                item.reset ? ", resets the dictionary" : "", item.supplied ? ", not in the files" : "");
  out += fmt::format("  slots of a record: {}\n", slots_text(schema, item));
  const TemplateRows rows = rows_of(schema, index);
  for (const BlockRows& block_rows : rows.blocks) {
    const Block& block = schema.block(block_rows.block);
    const std::size_t slots = record::block_slots(base_of(block), block.words);
    out += fmt::format("  block {} ({}), {} words in {} slots\n", block_rows.block, block_kind_name(block.kind),
                       block.words, slots);
    if (!block_rows.rows.empty()) out += "    word  slot.word  tag  name, type\n";
    for (const Row& row : block_rows.rows) {
      const Place place = place_of(block, row.word);
      out += fmt::format("    {:>4}  {:>7}.{}  {:>3}  {}{}, {}{}\n", row.word, place.slot, place.word,
                         tag_of(block, row.word), row.name, row.id != 0 ? fmt::format(" [{}]", row.id) : "", row.type,
                         row.optional ? ", optional" : "");
    }
  }
  for (const ConstantRow& row : rows.constants) {
    out += fmt::format("  constant  {}, {}: {}\n", row.name, row.type, row.value);
  }
  if (!rows.unstored.empty()) out += fmt::format("  not stored  {}\n", fmt::join(rows.unstored, ", "));
  return out;
}

/// Names are those of verified programs only, and this command shows others too.
bool has_profiles(const Program& program) {
  return !program.profiles.empty() && verify::check(program).ok();
}

/// A line per segment with profile programs: its maps, in the order of the image.
std::string profiles_text(const Program& program) {
  if (!has_profiles(program)) return {};
  const profile::Names names = profile::name_parts(program);
  std::map<std::uint16_t, std::vector<std::string>> maps;
  for (const ProfileEntry& entry : program.profiles) {
    maps[entry.segment].push_back(profile::map_text(entry.presence_bits));
  }
  std::string out = fmt::format("\nprofiles, {} programs of {} instructions\n  programs  segment: presence maps\n",
                                program.profiles.size(), program.code.size() - general_size(program));
  for (const auto& [segment, of_segment] : maps) {
    out += fmt::format("  {:>8}  {}: {}\n", of_segment.size(), plain(profile::name_text(names.segments.at(segment))),
                       fmt::join(of_segment, " "));
  }
  return out;
}

std::string profiles_json(const Program& program) {
  if (!has_profiles(program)) return "[]";
  const profile::Names names = profile::name_parts(program);
  std::string out = "[";
  for (const ProfileEntry& entry : program.profiles) {
    out += fmt::format(R"({}{{"segment":{},"name":{},"map":"{}","bits_taken":{},"entry":{}}})",
                       out.back() == '[' ? "" : ",", entry.segment,
                       json(profile::name_text(names.segments.at(entry.segment))),
                       profile::map_text(entry.presence_bits), entry.taken, entry.entry);
  }
  return out + "]";
}

/// The machine code that an engine makes of the program when it is made.
struct CodeFacts {
  std::string engine;
  jit::Figures figures;  ///< Zeros for an engine without machine code.
};

CodeFacts code_facts(const std::string& word, const Program& program) {
  const EngineKind wanted = engine_from(word);
  const MadeEngine made = make_engine(program, {}, wanted);
  if (made.kind != wanted) throw ToolError(kExitEnvironment, "native code cannot run: " + made.why_not_native);
  return {word, made.figures};
}

std::string text_of(const CodeFacts& facts) {
  const jit::Figures& figures = facts.figures;
  if (figures.code_bytes == 0) return fmt::format("  engine        {}, no machine code\n", facts.engine);
  return fmt::format("  engine        {}, {} bytes of machine code ({} of them rare paths), made in {:.2f} ms\n",
                     facts.engine, figures.code_bytes, figures.rare_bytes, figures.seconds * 1e3);
}

std::string json_of(const CodeFacts& facts) {
  return fmt::format(R"({{"name":"{}","code_bytes":{},"rare_bytes":{},"seconds":{:.6f}}})", facts.engine,
                     facts.figures.code_bytes, facts.figures.rare_bytes, facts.figures.seconds);
}

void print_text(const record::Schema& schema, std::size_t image_bytes, const std::optional<CodeFacts>& facts,
                Output& out) {
  const Program& program = schema.program();
  out.write(fmt::format("firmware image, {} bytes\n  layout hash   {:016x}\n  capabilities  {}\n", image_bytes,
                        layout_hash(program), fmt::join(capabilities(program), ", ")));
  out.write(
      fmt::format("  code          {} instructions, {} constants\n", program.code.size(), program.constants.size()));
  out.write(fmt::format("  records       {} templates, {} blocks, at most {} slots of {} bytes\n",
                        program.templates.size(), program.blocks.size(), program.max_record_slots, record::kSlotBytes));
  if (facts) out.write(text_of(*facts));
  for (const Source& source : program.sources) {
    out.write(fmt::format("  made from     {}, {} bytes, FNV-1a {:016x}\n", plain(program.name(source.name)),
                          source.bytes, source.hash));
  }

  out.write(fmt::format("\ndictionary, {} slots\n  slot  entry\n", program.slots.size()));
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    const std::string strings =
        slot.string_capacity != 0 ? fmt::format(", strings to {} bytes", slot.string_capacity) : "";
    out.write(fmt::format("  {:>4}  {}{}\n", i, plain(program.name(slot.name)), strings));
  }
  out.write(profiles_text(program));
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    out.write(template_text(schema, static_cast<std::uint16_t>(i)));
  }
}

std::string template_json(const record::Schema& schema, std::uint16_t index) {
  const Program& program = schema.program();
  const Template& item = program.templates[index];
  std::string out =
      fmt::format(R"({{"index":{},"id":{},"name":{},"reset":{},"supplied":{},"slots":{},"blocks":[)", index, item.id,
                  json(program.name(item.name)), item.reset, item.supplied, slots_json(schema, item));
  const TemplateRows rows = rows_of(schema, index);
  for (const BlockRows& block_rows : rows.blocks) {
    const Block& block = schema.block(block_rows.block);
    out += fmt::format(R"({}{{"block":{},"kind":"{}","words":{},"slots":{},"layout":[)", out.back() == '[' ? "" : ",",
                       block_rows.block, block_kind_name(block.kind), block.words,
                       record::block_slots(base_of(block), block.words));
    for (const Row& row : block_rows.rows) {
      const Place place = place_of(block, row.word);
      // Names and types are escaped already.
      out += fmt::format(
          R"({}{{"word":{},"slot":{},"slot_word":{},"tag":{},"name":"{}","type":"{}","id":{},"optional":{}}})",
          out.back() == '[' ? "" : ",", row.word, place.slot, place.word, tag_of(block, row.word), row.name, row.type,
          row.id, row.optional);
    }
    out += "]}";
  }
  out += R"(],"constants":[)";
  for (const ConstantRow& row : rows.constants) {
    out += fmt::format(R"({}{{"name":"{}","type":"{}","value":"{}"}})", out.back() == '[' ? "" : ",", row.name,
                       row.type, row.value);
  }
  out += R"(],"unstored":[)";
  for (const std::string& name : rows.unstored) {
    out += fmt::format(R"({}"{}")", out.back() == '[' ? "" : ",", name);  // escaped already
  }
  return out + "]}";
}

void print_json(const record::Schema& schema, std::size_t image_bytes, const std::optional<CodeFacts>& facts,
                Output& out) {
  const Program& program = schema.program();
  std::string text = fmt::format(
      R"({{"image_bytes":{},"layout_hash":"{:016x}","instructions":{},"constants":{},"max_record_slots":{},"capabilities":[)",
      image_bytes, layout_hash(program), program.code.size(), program.constants.size(), program.max_record_slots);
  const auto comma = [&] { return text.back() == '[' ? "" : ","; };
  for (const std::string_view name : capabilities(program)) text += fmt::format("{}\"{}\"", comma(), name);
  text += "],";
  if (facts) text += R"("engine":)" + json_of(*facts) + ",";
  text += R"("sources":[)";
  for (const Source& source : program.sources) {
    text += fmt::format(R"({}{{"name":{},"bytes":{},"fnv1a":"{:016x}"}})", comma(), json(program.name(source.name)),
                        source.bytes, source.hash);
  }
  text += R"(],"dictionary":[)";
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    text += fmt::format(R"({}{{"slot":{},"entry":{},"string_capacity":{}}})", comma(), i, json(program.name(slot.name)),
                        slot.string_capacity);
  }
  text += R"(],"profiles":)" + profiles_json(program) + R"(,"templates":[)";
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    text += comma();
    text += template_json(schema, static_cast<std::uint16_t>(i));
  }
  out.write(text + "]}\n");
}

int info(const InfoArguments& arguments) {
  const std::string bytes = read_file(arguments.input, limits::kMaxImageBytes);
  const Program program = image_from(bytes, arguments.input);
  const Result<record::Schema> schema = record::Schema::make(program);
  if (!schema) throw ToolError(kExitRejected, arguments.input + ": " + schema.message());
  std::optional<CodeFacts> facts;
  if (!arguments.engine.empty()) facts = code_facts(arguments.engine, program);
  Output out = Output::open("-");
  (arguments.json ? print_json : print_text)(schema.value(), bytes.size(), facts, out);
  out.close();
  return kExitDone;
}

}  // namespace

Command info_command() {
  const auto arguments = std::make_shared<InfoArguments>();
  return {
      .name = "info",
      .summary = "Shows templates, record layout and dictionary of a firmware image",
      .description =
          "Shows the contents of a firmware image: its templates, the position of each value in a record, the "
          "dictionary, the files it was compiled from and the capabilities it needs of an engine.\n"
          "\n"
          "A record is a run of 64-byte slots. Word 7 of a slot holds a tag for each of the words 0 to 6; a word is "
          "present if its tag is set. Words of the root block are counted from the first slot of the record, words of "
          "other blocks from the first slot of the block.",
      .options = {image_option(arguments->input),
                  {.names = "--engine",
                   .value = "ENGINE",
                   .help = "Also builds this engine, and shows the size of its machine code and the time it took.",
                   .target = &arguments->engine,
                   .hint = choice_hint({"native", "quick", "interp"})},
                  {.names = "--json", .value = "", .help = "Prints one JSON object.", .target = &arguments->json}},
      .examples = {{"stopbit info feed.sbf | less", "for reading"},
                   {"stopbit info feed.sbf --engine native | head", "what native code costs to build"},
                   {"stopbit info feed.sbf --json | jq '.templates[].name'", "for programs"}},
      .run = [arguments] { return info(*arguments); },
  };
}

}  // namespace stopbit::tools
