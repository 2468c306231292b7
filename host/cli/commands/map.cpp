#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/line_reader.hpp"
#include "host/cli/common/market_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/market/map/find.hpp"
#include "host/market/stage/explain.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMaxLineBytes = 16U << 20;

struct MapArguments {
  std::string action;
  std::vector<std::string> names;
  TemplateArguments compile;
  std::string output = "-";
};

void print_templates(Output& out, const market::Map& map, const Program& program) {
  std::set<std::uint16_t> used;
  std::size_t without = 0;
  for (std::size_t i = 0; i < map.plans.size(); ++i) {
    const market::TemplatePlan& plan = map.plans[i];
    const std::string name = plain(program.name(program.templates[i].name));
    if (plan.rule == market::kNoIndex) {
      ++without;
      out.buffer() += fmt::format("{:<40} no rule, no number\n", name);
      continue;
    }
    used.insert(plan.rule);
    out.buffer() +=
        fmt::format("{:<40} {:<12} {}{}\n", name, market::name_of(plan.kind),
                    market::place_text(map.source.messages[plan.rule].range), plan.numbered ? "" : "  no number");
  }
  out.buffer() +=
      fmt::format("{}: {} of {} templates have a rule; {} fields, {} rules for entries\n", plain(map.source.name),
                  map.plans.size() - without, map.plans.size(), map.slot_names.size(), map.source.entries.size());
  const auto rules = static_cast<std::uint16_t>(map.source.messages.size());
  for (std::uint16_t i = 0; i < rules; ++i) {
    if (used.contains(i)) continue;
    out.buffer() += fmt::format("{}: no template for this rule\n", market::place_text(map.source.messages[i].range));
  }
}

/// Arguments in another order would be errors about files that do not exist or are no maps.
void check_order(const MapArguments& arguments, std::size_t templates_end) {
  const std::vector<std::string>& names = arguments.names;
  const auto refuse = [&](const std::string& what) {
    throw ToolError(kExitUsage,
                    what + ": `stopbit map " + arguments.action + " MAP TEMPLATES.xml..." +
                        (arguments.action == "explain" ? " MESSAGES.jsonl`, in this order" : "`, in this order"));
  };
  const auto is_templates = [](const std::string& name) { return name.ends_with(".xml"); };
  const std::vector<std::string> maps = market::installed_maps();
  if (is_templates(names.front())) refuse("'" + plain(names.front()) + "' is no map");
  for (std::size_t i = 1; i < templates_end; ++i) {
    const bool is_map = names[i].ends_with(".toml") || std::find(maps.begin(), maps.end(), names[i]) != maps.end();
    if (is_map || names[i].ends_with(".jsonl")) refuse("'" + plain(names[i]) + "' is no template file");
  }
  if (templates_end < names.size() && is_templates(names.back())) refuse("the file of messages is missing");
}

int run_check(const MapArguments& arguments) {
  if (!arguments.names.empty()) check_order(arguments, arguments.names.size());
  if (arguments.names.size() < 2) throw ToolError(kExitUsage, "map check: give a map and its template files");
  const std::vector<std::string> templates(arguments.names.begin() + 1, arguments.names.end());
  const Program program = load_program({.templates = templates, .firmware = {}, .compile = arguments.compile});
  const market::Map map = load_map(arguments.names.front(), program);
  Output out = Output::open(arguments.output, templates);
  print_templates(out, map, program);
  out.close();
  return kExitDone;
}

/// Prints what a message's entries are taken for.
class Explainer final : public market::Translator::Tracer {
 public:
  Explainer(const market::Map& map, const Program& program, Output& out)
      : map_(map),
        program_(program),
        schema_(schema_of(program)),
        reader_(schema_),
        out_(out),
        market_(map, program, 1'024, {}, [this](const market::Event& event) { take(event); }),
        sink_(program.max_record_slots, Take{this}) {
    market_.translator().trace(this);
  }

  /// False: the line cannot be read; problem() says why.
  bool read(std::string_view line) {
    const record::JsonReader::Line kind = reader_.read(line, sink_);
    if (kind == record::JsonReader::Line::Error) return false;
    if (kind == record::JsonReader::Line::Message) {
      market_.translator().finish();
      print_parts();
    }
    market_.check();
    return true;
  }
  [[nodiscard]] const record::JsonReader::Problem& problem() const { return reader_.problem(); }

  void entry(const market::Values& values, const market::TemplatePlan& plan, int rule, std::uint32_t row) override {
    const std::string name = row == 0 ? "no instrument" : plain(market::key_of(market_.instruments().row(row)));
    parts_.push_back({.text = fmt::format("  entry {}: {}\n", ++entries_, name) +
                              market::explain_entry(map_, program_, plan, values, rule),
                      .events = {},
                      .indent = "    "});
  }
  void entry_end() override { parts_.emplace_back(); }
  void made() override { pending_part_ = parts_.size() - 1; }

 private:
  struct Take {
    Explainer* self;
    void operator()(std::span<const record::Slot> slots) const { self->message(slots); }
  };
  /// An entry, or what the message itself does before, between or after entries.
  struct Part {
    std::string text = {};
    std::string events = {};
    std::string_view indent = "  ";
  };

  void message(std::span<const record::Slot> slots) {
    entries_ = 0;
    parts_.assign(1, {});
    pending_part_ = 0;
    const std::uint16_t index = record::HeaderView(slots[0]).template_index();
    const market::TemplatePlan& plan = map_.plans[index];
    const std::string name = plain(program_.name(program_.templates[index].name));
    if (plan.rule == market::kNoIndex) {
      out_.buffer() += name + ": no rule, no number\n";
    } else {
      out_.buffer() += fmt::format("{}: {}, {}\n", name, market::name_of(plan.kind),
                                   market::place_text(map_.source.messages[plan.rule].range));
    }
    market_.translator().take(slots);
  }

  void take(const market::Event& event) {
    Part& part = parts_[pending_part_];
    part.events += part.indent;
    part.events += "event ";
    market_.append_event(event, part.events);
  }

  void print_parts() {
    for (const Part& part : parts_) out_.buffer() += part.text + part.events;
    out_.flush_if_full();
  }

  const market::Map& map_;
  const Program& program_;
  record::Schema schema_;
  record::JsonReader reader_;
  Output& out_;
  Market market_;
  record::BufferSink<Take> sink_;
  std::size_t entries_ = 0;
  std::vector<Part> parts_{1};
  std::size_t pending_part_ = 0;  ///< Whose the event is that was made and not written.
};

int run_explain(const MapArguments& arguments) {
  if (!arguments.names.empty()) check_order(arguments, arguments.names.size() - 1);
  if (arguments.names.size() < 3) {
    throw ToolError(kExitUsage, "map explain: give a map, its template files, and a file of JSON lines");
  }
  const std::vector<std::string> templates(arguments.names.begin() + 1, arguments.names.end() - 1);
  const Program program = load_program({.templates = templates, .firmware = {}, .compile = arguments.compile});
  const market::Map map = load_map(arguments.names.front(), program);
  InputFile file = InputFile::open(arguments.names.back());
  Output out = Output::open(arguments.output, arguments.names);
  Explainer explainer(map, program, out);
  LineReader lines(std::move(file), kMaxLineBytes);
  while (lines.next()) {
    if (!lines.is_too_long() && explainer.read(lines.line())) continue;
    out.close();
    const std::string place = fmt::format("{}:{}:{}: ", lines.file_name(), lines.number(),
                                          lines.is_too_long() ? 1 : explainer.problem().offset + 1);
    throw ToolError(kExitRejected,
                    place + (lines.is_too_long() ? "the line is too long" : explainer.problem().message));
  }
  out.close();
  return kExitDone;
}

int run_list(const MapArguments& arguments) {
  if (!arguments.names.empty()) throw ToolError(kExitUsage, "map list takes no further argument");
  Output out = Output::open(arguments.output);
  for (const std::string& name : market::installed_maps()) out.write(name + "\n");
  out.close();
  return kExitDone;
}

int run_map(const MapArguments& arguments) {
  if (arguments.action == "check") return run_check(arguments);
  if (arguments.action == "explain") return run_explain(arguments);
  if (arguments.action == "list") return run_list(arguments);
  throw ToolError(kExitUsage, "ACTION: must be check, explain or list, not '" + plain(arguments.action) + "'");
}

}  // namespace

Command map_command() {
  const auto arguments = std::make_shared<MapArguments>();
  std::vector<Option> options = {
      {.names = "",
       .value = "ACTION",
       .help =
           "check: does the map fit the templates? explain: which rule each entry of a message meets, and why. list: "
           "the installed maps.",
       .target = &arguments->action,
       .hint = choice_hint({"check", "explain", "list"}),
       .required = true},
      {.names = "",
       .value = "FILE",
       .help = "The map, by name or file; then its template files; for explain then a file of messages as JSON lines, "
               "- is stdin.",
       .target = &arguments->names,
       .hint = file_hint({".toml", ".xml", ".jsonl"})},
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Output file; - is stdout, the default.",
       .target = &arguments->output,
       .hint = file_hint()},
  };
  for (Option& option : template_options(arguments->compile)) options.push_back(std::move(option));
  return {
      .name = "map",
      .summary = "Checks and explains feed maps",
      .description =
          "A feed map says in TOML what a feed's messages mean for books. `map check` compiles it for template files "
          "and prints which rule each template has. Every template whose messages take a number must have one; a field "
          "or value that the templates do not have is an error, with its place in the map.\n"
          "\n"
          "`map explain` reads messages as `stopbit replay` prints them, and shows for each entry which rules did not "
          "fit and why, the one that did, and the market events that come of it.",
      .options = std::move(options),
      .examples = {{"stopbit map check cme-mdp2 templates.xml", "does the installed map fit these templates?"},
                   {"stopbit replay day.pcap --feed feed.toml --limit 5 | stopbit map explain cme-mdp2 templates.xml -",
                    "what becomes of the first messages?"}},
      .run = [arguments] { return run_map(*arguments); },
  };
}

}  // namespace stopbit::tools
