#include <algorithm>

#include "bench/workloads/workload.hpp"
#include "tests/attack/attacks.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/target.hpp"
#include "tests/lib/case_file.hpp"

namespace stopbit::attack {
namespace {

constexpr std::size_t kMessages = 1'000;
constexpr std::size_t kQuickMessages = 30;

struct Capture {
  const char* name;
  const char* framing;
};

constexpr Capture kCorpus[] = {
    {"cme-mdp-2012", "cme"}, {"moex-asts-trades-2019", "moex"}, {"eurex-rdi-2016", "t7"}, {"complex30000", "none"}};

/// The data of a capture's datagrams, without preambles, and what decodes them.
struct Material {
  Feed feed;
  std::vector<Bytes> datagrams;
};

Material load(const std::string& name, const std::filesystem::path& folder, const std::string& framing) {
  auto work = bench::load_workload(name, folder.string(), framing);
  require(work.ok(), "captures can be read", work.ok() ? "" : work.message());
  Material material;
  bench::Workload& from = *work.value();
  material.feed.name = name;
  material.feed.template_text = cases::read_file(folder / "templates.xml").value_or("");
  material.feed.program = std::move(from.program);
  material.feed.reset = from.options.reset;
  for (const bench::Workload::Datagram& datagram : from.datagrams) {
    const std::span<const std::byte> bytes(from.bytes.data() + datagram.offset, datagram.length);
    const auto data = bytes.subspan(datagram.info.data_offset);
    material.datagrams.emplace_back(data.begin(), data.end());
  }
  return material;
}

void turn_and_cut(Target& target, const Bytes& good) {
  const auto decode_good = [&] {
    if (target.feed().reset != ResetRule::Packet) target.reset();
    return target.decode(good);
  };
  if (decode_good().error != ErrorCode::None) return;  // it wants a dictionary that earlier ones filled
  const std::uint64_t digest = target.digest();
  const auto attack = [&](std::span<const std::byte> bytes) {
    if (target.feed().reset != ResetRule::Packet) target.reset();
    (void)target.attack(bytes);
    (void)decode_good();
    require(target.digest() == digest, "behind an attack an engine decodes as a fresh one");
  };
  Bytes bytes = good;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    attack(bytes);
    bytes[bit / 8] ^= mask;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) attack(std::span(bytes).first(size));
}

}  // namespace

void attack_with_turned_messages(const Plan& plan, Counts& counts) {
  std::vector<Material> materials;
  materials.push_back(load("sample", sample_folder(), "cme"));
  if (const auto corpus = corpus_folder()) {
    for (const Capture& capture : kCorpus) {
      materials.push_back(load(capture.name, *corpus / capture.name, capture.framing));
    }
  }
  Progress progress("turns");
  // A capture of a single packet counts for little.
  const auto captures = static_cast<std::size_t>(std::count_if(
      materials.begin(), materials.end(), [](const Material& material) { return material.datagrams.size() > 1; }));
  const std::size_t wanted = (plan.is_long ? kMessages * plan.times : kQuickMessages) / captures;
  for (Material& material : materials) {
    for (const bool strict : {false, true}) {
      material.feed.strict = strict;
      const std::vector<verify::TemplateCost> costs = verify::check(material.feed.program).costs;
      Target target(material.feed, costs, counts);
      const std::size_t step = std::max<std::size_t>(1, material.datagrams.size() / wanted);
      for (std::size_t i = plan.seed % step; i < material.datagrams.size(); i += step) {
        turn_and_cut(target, material.datagrams[i]);
        ++counts.targets;
        progress.tell(counts, material.feed.name);
      }
    }
  }
}

}  // namespace stopbit::attack
