#include "tests/attack/captures.hpp"

#include <filesystem>
#include <string>
#include <utility>

#include "tests/attack/feeds.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::attack {
namespace {

struct Capture {
  const char* name;
  const char* framing;
};

constexpr Capture kCorpus[] = {
    {"cme-mdp-2012", "cme"}, {"moex-asts-trades-2019", "moex"}, {"eurex-rdi-2016", "t7"}, {"complex30000", "none"}};

Captured load(const std::string& name, const std::filesystem::path& folder, const std::string& framing) {
  auto work = bench::load_workload(name, folder.string(), framing);
  require(work.ok(), "captures can be read", work.ok() ? "" : work.message());
  Captured material;
  bench::Workload& from = *work.value();
  material.feed.name = name;
  material.feed.template_text = stopbit::testing::file_text_if_any(folder / "templates.xml").value_or("");
  material.feed.program = std::move(from.program);
  material.feed.reset = from.options.reset;
  for (const bench::Workload::Datagram& datagram : from.datagrams) {
    const std::span<const std::byte> bytes(from.bytes.data() + datagram.offset, datagram.length);
    const auto data = bytes.subspan(datagram.info.data_offset);
    material.datagrams.emplace_back(data.begin(), data.end());
  }
  return material;
}

}  // namespace

std::vector<Captured> captures() {
  std::vector<Captured> all;
  all.push_back(load("sample", sample_folder(), "cme"));
  if (const auto corpus = corpus_folder()) {
    for (const Capture& capture : kCorpus) {
      all.push_back(load(capture.name, *corpus / capture.name, capture.framing));
    }
  }
  return all;
}

}  // namespace stopbit::attack
