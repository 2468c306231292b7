#include "bench/lib/report.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/lib/statistics.hpp"

namespace stopbit::bench {
namespace {

constexpr std::pair<const char*, double> kPercentiles[] = {{"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

}  // namespace

Report::Figure& Report::add_figure(const std::string& name, const std::string& unit) {
  Figure& figure = figures_.emplace_back();
  figure.name = name;
  figure.unit = unit;
  return figure;
}

void Report::add(const std::string& name, const std::string& unit, std::vector<double> samples) {
  Figure& figure = add_figure(name, unit);
  figure.count = samples.size();
  figure.samples = std::move(samples);
}

void Report::add(const std::string& name, const std::string& unit, const Repetitions& repetitions, const Pace& pace) {
  Repetitions::Chosen chosen = repetitions.choose(pace);
  if (chosen.values.empty()) return;
  repetitions_ += repetitions.count();
  left_out_ += chosen.left_out;
  add(name, unit, std::move(chosen.values));
  figures_.back().choice = {chosen.pace_ns, chosen.left_out, chosen.is_disturbed};
}

void Report::add(const std::string& name, const std::string& unit, const std::vector<Histogram>& bursts, double scale) {
  Figure& figure = add_figure(name, unit);
  const auto scaled = [scale](std::uint64_t value) { return static_cast<double>(value) * scale; };
  Histogram all;
  for (const Histogram& burst : bursts) {
    all.add(burst);
    figure.samples.push_back(scaled(burst.percentile(0.5)));
    for (const auto& [label, share] : kPercentiles) {
      figure.percentiles[label].push_back(scaled(burst.percentile(share)));
    }
  }
  figure.count = all.count();
  figure.max = scaled(all.max());
  for (const Histogram::Point& point : all.points()) figure.points.emplace_back(point.share, scaled(point.value));
}

void Report::add(const std::string& name, const std::string& unit, const std::vector<PacedBurst>& bursts,
                 double scale) {
  const auto undisturbed = static_cast<std::size_t>(
      std::count_if(bursts.begin(), bursts.end(), [](const PacedBurst& burst) { return burst.is_undisturbed(); }));
  Figure::Choice choice;
  choice.is_disturbed = 2 * undisturbed < bursts.size();
  choice.left_out = choice.is_disturbed ? 0 : bursts.size() - undisturbed;
  std::vector<Histogram> chosen;
  std::vector<double> paces_ns;
  for (const PacedBurst& burst : bursts) {
    if (!choice.is_disturbed && !burst.is_undisturbed()) continue;
    chosen.push_back(choice.is_disturbed ? burst.all() : burst.undisturbed());
    paces_ns.push_back(burst.pace_ns(choice.is_disturbed));
  }
  if (chosen.empty()) return;
  choice.pace_ns = median(std::move(paces_ns));
  repetitions_ += bursts.size();
  left_out_ += choice.left_out;
  add(name, unit, chosen, scale);
  figures_.back().choice = choice;
}

void Report::add(const std::string& program, const TickClock& clock, const Pace& pace) {
  const std::string name = "machine/" + program;
  add(name + "/pace", "ns", std::vector<Histogram>{pace.probes()}, clock.ns_per_tick());
  add(name + "/best-pace", "ns", {pace.best_ns()});
  if (repetitions_ == 0) return;
  add(name + "/left-out", "%", {100 * static_cast<double>(left_out_) / static_cast<double>(repetitions_)});
}

void Report::fact(const std::string& subject, const std::string& name, double value) {
  facts_[subject][name] = value;
}

void Report::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
  std::fprintf(stderr, "note: %s\n", text.c_str());
  notes_.push_back(text);
}

void Report::problem(const std::string& text) {
  std::fprintf(stderr, "problem: %s\n", text.c_str());
  problems_.push_back(text);
}

int Report::finish(const std::string& path) const {
  constexpr int kProblems = 1;
  constexpr int kCannotWrite = 3;
  if (path.empty()) {
    print();
  } else if (path == "-") {
    std::printf("%s\n", json().c_str());
  } else {
    std::ofstream file(path);
    file << json() << '\n';
    if (!file.flush()) {
      std::fprintf(stderr, "%s cannot be written\n", path.c_str());
      return kCannotWrite;
    }
  }
  return problems_.empty() ? 0 : kProblems;
}

void Report::print() const {
  for (const Figure& figure : figures_) {
    const auto [low, high] = std::minmax_element(figure.samples.begin(), figure.samples.end());
    std::printf("%-52s %10.1f %s", figure.name.c_str(), median(figure.samples), figure.unit.c_str());
    if (!figure.samples.empty()) std::printf(" (%.1f to %.1f)", *low, *high);
    for (const auto& [label, values] : figure.percentiles) std::printf("  %s %.0f", label.c_str(), median(values));
    if (!figure.percentiles.empty()) std::printf("  max %.0f", figure.max);
    if (figure.choice && figure.choice->is_disturbed) std::printf("  disturbed");
    std::printf("\n");
  }
}

std::string Report::json() const {
  nlohmann::ordered_json out;
  out["figures"] = nlohmann::ordered_json::array();
  for (const Figure& figure : figures_) {
    nlohmann::ordered_json item = {{"name", figure.name}, {"unit", figure.unit}, {"samples", figure.samples}};
    item["count"] = figure.count;
    if (figure.choice) {
      item["pace"] = figure.choice->pace_ns;
      item["left out"] = figure.choice->left_out;
      item["disturbed"] = figure.choice->is_disturbed;
    }
    if (!figure.percentiles.empty()) {
      item["percentiles"] = figure.percentiles;
      item["max"] = figure.max;
      item["points"] = figure.points;
    }
    out["figures"].push_back(std::move(item));
  }
  out["facts"] = facts_;
  out["notes"] = notes_;
  out["problems"] = problems_;
  return out.dump();
}

}  // namespace stopbit::bench
