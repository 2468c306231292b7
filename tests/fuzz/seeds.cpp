// Makes the first inputs of the fuzz targets: from the text cases, and from a few messages and captures written down
// here. usage: stopbit_fuzz_seeds CASES CORPUS

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "assembler/assembler.hpp"
#include "decoder/record/json.hpp"
#include "host/analyse/profile/counter.hpp"
#include "microcode/image/image.hpp"
#include "templates/compiler.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/frames.hpp"
#include "tests/property/random_case.hpp"
#include "tests/unit/ports/captures.hpp"

namespace stopbit::fuzz {
namespace {

constexpr std::size_t kMaxDatagram = 400;
constexpr std::size_t kMaxImage = 2'600;

void write(const std::filesystem::path& folder, const std::string& name, const std::string& content) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << content;
}

/// As take_datagrams reads them; nothing if they are too long for a seed.
std::optional<std::string> datagrams_text(const std::vector<cases::Step>& steps) {
  std::string text;
  for (const cases::Step& step : steps) {
    if (step.kind == cases::Step::Kind::Reset) continue;
    if (step.bytes.size() > kMaxDatagram) return std::nullopt;
    const bool is_last = &step == &steps.back();
    if (!is_last && step.bytes.size() >= 255) return std::nullopt;
    text += static_cast<char>(is_last ? 255 : step.bytes.size());
    for (const std::byte byte : step.bytes) text += static_cast<char>(byte);
  }
  return text;
}

std::string image_text(const Program& program) {
  std::string text;
  for (const std::byte byte : image::write(program)) text += static_cast<char>(byte);
  return text;
}

void from_case(const std::filesystem::path& path, const std::filesystem::path& corpus) {
  Diagnostics diagnostics;
  const auto text = testing::file_text_if_any(path);
  const auto file =
      cases::CaseFile::parse(std::make_shared<SourceBuffer>(path.string(), text.value_or("")), diagnostics);
  if (!file || !file->find("template")) return;
  const std::string name = path.parent_path().filename().string() + "-" + path.stem().string();
  const std::string xml(file->text(*file->find("template")));
  if (xml.size() > 3'000) return;
  write(corpus / "fuzz_template_xml", name, xml);

  const auto program =
      templates::compile({std::make_shared<SourceBuffer>("t.xml", xml)}, templates::CompileOptions(), diagnostics);
  if (!program) return;
  const std::string image = image_text(*program);
  const bool is_positive = !path.filename().string().starts_with("bad-");
  if (is_positive && image.size() < kMaxImage) {
    write(corpus / "fuzz_image", name, image);
    write(corpus / "fuzz_assembly", name, assembler::disassemble(*program));
  }
  const cases::Section* bytes = file->find("bytes");
  if (bytes == nullptr) return;
  const auto steps = cases::parse_bytes(file->source(), bytes->begin, bytes->end, diagnostics);
  if (!steps) return;
  if (const auto datagrams = datagrams_text(*steps)) {
    const cases::Section* section = file->find("options");
    const bool strict = section != nullptr && file->text(*section).find("strict") != std::string_view::npos;
    const char options = strict ? 1 : 0;
    write(corpus / "fuzz_template_datagram", name, options + xml + '\0' + *datagrams);
  }
}

/// What the datagrams decode to, as JSON lines.
std::string lines_of(const Program& program, const std::vector<cases::Step>& steps) {
  const record::Schema schema = record::Schema::make(program).value();
  record::JsonPrinter printer(schema);
  std::vector<std::vector<std::byte>> datagrams;
  for (const cases::Step& step : steps) datagrams.push_back(step.bytes);
  EngineOptions options;
  options.reset = ResetRule::Template;
  std::string lines;
  for (const cases::Record& record : run_datagrams(program, options, datagrams).records) {
    static_cast<void>(printer.print(record, lines));
  }
  return lines;
}

/// The records that the datagrams decode to, slot by slot.
std::vector<std::string> records_of(const Program& program, const std::vector<cases::Step>& steps) {
  std::vector<std::vector<std::byte>> datagrams;
  for (const cases::Step& step : steps) datagrams.push_back(step.bytes);
  EngineOptions options;
  options.reset = ResetRule::Template;
  std::vector<std::string> records;
  for (const cases::Record& record : run_datagrams(program, options, datagrams).records) {
    records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size() * sizeof(record[0]));
  }
  return records;
}

/// What stopbit profile counts in the datagrams.
std::string profile_of(const Program& program, const std::vector<cases::Step>& steps) {
  EngineOptions options;
  options.reset = ResetRule::Template;
  profile::Counter counter(program, options, 0, UINT64_MAX);
  cases::RecordingSink sink(program);
  for (const cases::Step& step : steps) static_cast<void>(counter.decode(step.bytes, {}, sink));
  return profile::to_json(counter.take());
}

struct Messages {
  char template_set;
  const char* bytes;
};

constexpr Messages kMessages[] = {
    {0, R"(pmap(1 1) u32(1) u32(5) delta(1000) u32(2)
           pmap(1 1 1 0 1) u32(0) ascii("0") delta(7) u32(1) delta(150) delta?(10) ascii?("EUR") u32?(1) pmap(0) ascii("P")
           pmap(0 0 0 0 0) delta(0) delta(-5) delta?(null) u32?(null) u32?(3)
           packet pmap(1 0) u32(1) u32(6) delta(1) u32(0))"},
    {0, R"(pmap(1 1 0) u32(2) ascii("EURUSD") pmap(1) dec(-2 100) u64(5)
           pmap(0 0 1) u32(2) pmap(0) dec(0 1) pmap(1) dec(0 -1) u64(6))"},
    {1, R"(pmap(1 1 1 1 1 1) u32(70) u32?(2) u32(9) u32?(1) delta(1461313800) u32(7) delta?(-300)
           pmap(1) uni("Z\xc3\xbcrich") dec(-2 1) dec(-3 5) dec(0 1) dec(0 2) u32?(null) bytes?(00 ff)
           c0 f8 pmap(1 0 0 0 0 0 0) u32(70) u32?(null) delta(1) delta?(null))"},
    {2, R"(pmap(1 111111 1111111) u32(1) repeat(20 85) packet pmap(1 0000 01) u32(5) repeat(40 81))"},
    {2, R"(pmap(1 101010 1010101) u32(6) repeat(12 41 42 c3 80) packet pmap(1 010101) u32(8) repeat(12 82 41 42 80))"},
    {3, R"(pmap(1 0 1 1) u32(1) i32?(0) ascii("x") pmap(1 1 0 1) u32(2) ascii("S") i64(5) u32?(2)
           pmap(1) u32(1) pmap(1) u32(4) pmap(0) pmap(0) u32(3))"},
    {3, R"(pmap(1) u32(5) u32(3) pmap(1) u32(4) 80 80 packet pmap(1 1) u32(3) pmap(0 1) pmap(0 1) pmap(0 0))"},
};

void from_messages(const std::filesystem::path& corpus) {
  int number = 0;
  for (const Messages& messages : kMessages) {
    Diagnostics diagnostics;
    const auto steps = cases::parse_bytes(messages.bytes, diagnostics);
    const auto datagrams = steps ? datagrams_text(*steps) : std::nullopt;
    if (!datagrams) {
      std::fputs(diagnostics.format().c_str(), stderr);
      std::exit(1);
    }
    const std::string name = "messages-" + std::to_string(++number);
    const std::string set(1, messages.template_set);
    for (const char options : {char{0}, char{1}, char{4}}) {
      write(corpus / "fuzz_datagram", name + "-" + std::to_string(options), set + options + *datagrams);
    }
    const auto lines = lines_of(fixed_program(static_cast<std::uint8_t>(messages.template_set)), *steps);
    write(corpus / "fuzz_json", name, set + char{2} + lines);
    write(corpus / "fuzz_encode", name, set + char{2} + char{0} + *datagrams);
    write(corpus / "fuzz_profile", name,
          set + profile_of(fixed_program(static_cast<std::uint8_t>(messages.template_set)), *steps));
    for (char slot = 0; slot < 4; ++slot) {
      const std::string change = {slot, 0, static_cast<char>(32 + 9 * slot), static_cast<char>(17 * number)};
      write(corpus / "fuzz_encode", name + "-" + std::to_string(slot), set + char{2} + char{1} + change + *datagrams);
    }
    int record_number = 0;
    for (const std::string& record :
         records_of(fixed_program(static_cast<std::uint8_t>(messages.template_set)), *steps)) {
      write(corpus / "fuzz_record", name + "-" + std::to_string(++record_number), set + record);
    }
    const char framing = static_cast<char>(number % 6);
    write(corpus / "fuzz_explain", name, set + char{0} + char{0} + *datagrams);
    write(corpus / "fuzz_explain", name + "-framing-" + std::to_string(framing), set + char{1} + framing + *datagrams);
    // No change; then a change in each table, at an entry and of a field that differ from seed to seed.
    write(corpus / "fuzz_program", name, set + char{0} + char{0} + *datagrams);
    for (char table = 0; table < 12; ++table) {
      const auto entry = static_cast<char>(7 * number + table);
      const std::string change = {table, entry, 0, static_cast<char>(number), static_cast<char>(3 * number), 0, 0, 0, 0,
                                  0,     0,     0};
      write(corpus / "fuzz_program", name + "-" + std::to_string(table), set + char{0} + char{1} + change + *datagrams);
      if (table % 4 != 0) continue;
      write(corpus / "fuzz_program", name + "-profiled-" + std::to_string(table),
            set + char{0} + static_cast<char>(129) + change + *datagrams);
    }
  }
}

/// Messages of random templates, whose number is the seed.
void from_random_cases(const std::filesystem::path& corpus) {
  constexpr unsigned kFirst = 128;  // of the template sets
  constexpr unsigned kSeeds = 24;
  for (unsigned seed = kFirst; seed < kFirst + kSeeds; ++seed) {
    const cases::RandomCase made = cases::random_case(seed);
    std::vector<cases::Step> steps;
    for (const cases::RandomCase::Packet& packet : made.packets) {
      cases::Step& step = steps.emplace_back();
      for (const auto& message : packet) {
        for (const cases::Bytes& entity : message) {
          for (const std::uint8_t byte : entity) step.bytes.push_back(static_cast<std::byte>(byte));
        }
      }
    }
    const auto datagrams = datagrams_text(steps);
    if (!datagrams) continue;
    const auto options = static_cast<char>(static_cast<unsigned>(made.reset) << 1);  // as engine_options reads it
    const std::string begin = {static_cast<char>(seed), options, char{1}, static_cast<char>(seed), 0, 40, 1};
    write(corpus / "fuzz_encode", "random-" + std::to_string(seed), begin + *datagrams);
  }
}

void from_captures(const std::filesystem::path& corpus) {
  namespace in = ingest::testing;
  namespace frame = net::testing;
  using frame::operator+;
  const auto text = [](const frame::ByteVector& bytes) {
    std::string result;
    for (const std::byte byte : bytes) result += static_cast<char>(byte);
    return result;
  };
  const std::filesystem::path folder = corpus / "fuzz_capture";
  const frame::ByteVector cme = frame::bytes({0, 0, 0, 7, 1, 0xC0, 0x81, 0x85});
  const frame::ByteVector b3 = frame::bytes({0, 0, 0, 9, 0, 2, 0, 1, 0, 3, 0xC0, 0x81, 0x85});
  const frame::ByteVector b3_next = frame::bytes({0, 0, 0, 9, 0, 2, 0, 2, 0, 1, 0x86});
  const frame::ByteVector t7 = frame::bytes(
      {0xC0, 0xC8, 0xCC, 0x84, 0, 0, 0, 5, 0x88, 0x14, 0x7A, 0xAA, 0xDC, 0x33, 0x56, 0xA5, 0x13, 0xC0, 0xF8});
  const frame::ByteVector blocks = frame::bytes({0x83, 0xC0, 0x81, 0x85, 0x82, 0x80, 0x86, 0x80});
  const std::string one = text(frame::ethernet(frame::ipv4(frame::udp(cme))));
  const std::string two = text(frame::ethernet(frame::ipv4(frame::udp(b3)))) + std::string(6, '\0');
  const std::string three = text(frame::ethernet(frame::ipv4(frame::udp(b3_next))));
  const std::string vlan = text(frame::ethernet(
      frame::ipv4(frame::udp(t7), frame::be32(0x94040000)),
      frame::be16(0x88A8) + frame::be16(5) + frame::be16(0x8100) + frame::be16(6) + frame::be16(0x0800)));
  const std::string fragment = text(frame::ethernet(frame::ipv4(frame::udp(blocks), {}, 17, 0x2000)));
  const std::string raw = text(frame::ipv4(frame::udp(blocks)));

  const std::string plain = in::pcap_header() + in::pcap_record(1, 2, one) + in::pcap_record(1, 3, two) +
                            in::pcap_record(2, 4, three) + in::pcap_record(2, 5, vlan);
  write(folder, "nano", plain);
  write(folder, "cut", plain.substr(0, plain.size() - 9));
  write(folder, "gzip", in::gzip(plain));
  write(folder, "gzip-cut", in::gzip(plain).substr(0, 60));
  const in::PcapFormat big = {false, true, 101, 64};
  write(folder, "micro-big-endian-raw",
        in::pcap_header(big) + in::pcap_record(1, 2, raw, 0, true) +
            in::pcap_record(1, 3, raw.substr(0, 30), raw.size(), true));
  write(folder, "fragment", in::pcap_header() + in::pcap_record(1, 2, fragment));
  for (const std::size_t link : {0U, 108U, 113U, 276U, 228U}) {
    write(folder, "link-" + std::to_string(link),
          in::pcap_header({true, false, link}) + in::pcap_record(1, 2, std::string("\2\0\0\0", 4) + raw) +
              in::pcap_record(1, 3, std::string(14, '\0') + std::string("\x08\0", 2) + raw));
  }
  const std::string ng = in::section_block() + in::interface_block() + in::packet_block(0, 5, one) +
                         in::interface_block(1, 6) + in::packet_block(1, 6, vlan) + in::packet_block(0, 7, two, 200);
  write(folder, "pcapng", ng);
  write(folder, "pcapng-cut", ng.substr(0, ng.size() - 5));
  write(folder, "pcapng-interfaces-differ", ng + in::interface_block(101) + in::packet_block(2, 8, raw));
}

}  // namespace
}  // namespace stopbit::fuzz

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: stopbit_fuzz_seeds CASES CORPUS\n", stderr);
    return 2;
  }
  for (const auto& path : stopbit::cases::find_cases(argv[1])) stopbit::fuzz::from_case(path, argv[2]);
  stopbit::fuzz::from_messages(argv[2]);
  stopbit::fuzz::from_random_cases(argv[2]);
  stopbit::fuzz::from_captures(argv[2]);
  return 0;
}
