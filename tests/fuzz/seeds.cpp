// Makes the first inputs of the fuzz targets from the text cases: fuzz-free of anybody else's data.
// usage: stopbit_fuzz_seeds CASES CORPUS

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "assembler/assembler.hpp"
#include "microcode/image/image.hpp"
#include "templates/compiler.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/case_file.hpp"

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
  const auto text = cases::read_file(path);
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
    const char options = file->text(*bytes).find("strict") == std::string_view::npos ? 0 : 1;
    write(corpus / "fuzz_template_datagram", name, options + xml + '\0' + *datagrams);
  }
}

}  // namespace
}  // namespace stopbit::fuzz

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: stopbit_fuzz_seeds CASES CORPUS\n", stderr);
    return 2;
  }
  for (const auto& path : stopbit::cases::find_cases(argv[1])) stopbit::fuzz::from_case(path, argv[2]);
  return 0;
}
