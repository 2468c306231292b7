#include "host/cli/common/image_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/os/readable.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

/// An image of a feed, with its channels and the recordings of these.
struct Trial {
  const appliance::FeedSettings* feed = nullptr;
  const feed::Image* image = nullptr;
  std::vector<const feed::Channel*> channels;
  Sources sources;
};

std::vector<Trial> trials_of(const std::string& name, const appliance::Settings& settings, std::uint64_t since_ns) {
  const std::vector<recorder::RecordedFile> files = recordings_in(recording_folder(settings));
  const std::vector<appliance::RecordedLine> lines = appliance::recorded_lines(settings);
  std::vector<Trial> trials;
  for (std::size_t f = 0; f < settings.feeds.size(); ++f) {
    const feed::Description& description = settings.feeds[f].description;
    for (std::size_t i = 0; i < description.images.size(); ++i) {
      if (description.images[i].name != name) continue;
      Trial& trial = trials.emplace_back();
      trial.feed = &settings.feeds[f];
      trial.image = &description.images[i];
      for (const feed::Channel& channel : description.channels) {
        if (channel.image == i) trial.channels.push_back(&channel);
      }
      for (const appliance::RecordedLine& line : lines) {
        if (line.feed != f || description.channels[line.channel].image != i) continue;
        std::vector<recorder::RecordedFile> own;
        std::copy_if(files.begin(), files.end(), std::back_inserter(own), [&](const recorder::RecordedFile& file) {
          return file.name.line == line.name && file.written_ns >= since_ns;
        });
        if (!own.empty()) trial.sources.push_back(std::make_unique<RecordedSource>(std::move(own)));
      }
    }
  }
  if (trials.empty()) throw ToolError(kExitRejected, "unknown image '" + name + "'");
  return trials;
}

/// Nothing if the image, or a map of its channels, is refused; the findings are printed then.
std::optional<Program> load_for_trial(const Trial& trial) {
  Diagnostics diagnostics;
  auto program = appliance::load_image(*trial.image, diagnostics);
  bool is_good = program.has_value();
  std::set<std::pair<std::string, std::uint32_t>> maps;
  for (const feed::Channel* channel : trial.channels) {
    if (!channel->map.empty()) maps.insert({channel->map, channel->depth});
  }
  for (const auto& [map, depth] : maps) {
    is_good = is_good && appliance::load_map(map, depth, *program, diagnostics).has_value();
  }
  write_stderr(diagnostics.format());
  return is_good ? std::move(program) : std::nullopt;
}

}  // namespace

int try_image(const std::string& image, const appliance::Settings& settings, std::uint64_t since_ns) {
  catch_stop_signals();
  const std::vector<Trial> trials = trials_of(image, settings, since_ns);
  bool is_good = true;
  std::string text;
  for (const Trial& trial : trials) {
    const std::string name =
        fmt::format("image '{}' of feed '{}'", printable(image), printable(trial.feed->description.name));
    const std::optional<Program> program = load_for_trial(trial);
    if (!program) {
      text += name + ": refused\n";
      is_good = false;
      continue;
    }
    replay::Options options;
    options.feed = trial.channels;
    options.merge = true;
    options.strict = settings.strict;
    options.limits = settings.limits;
    const std::unique_ptr<Engine> engine = engine_for("", *program, options, false);
    const replay::Summary summary =
        run_pipeline(Pipeline{.program = *program, .engine = *engine, .options = options}, trial.sources);
    print_problems(summary);
    text += fmt::format("{}: {} messages of {} datagrams decoded, {} datagrams failed\n", name,
                        os::thousands(summary.messages), os::thousands(summary.decoded()),
                        os::thousands(summary.decode_errors()));
    if (summary.datagrams == 0)
      text += "  no recording to try it on: record ([recorder]), or give an earlier --since\n";
    is_good = is_good && summary.datagrams != 0 && summary.decode_errors() == 0;
  }
  Output out = Output::open("-");
  out.write(text);
  out.close();
  return is_good ? kExitDone : kExitRejected;
}

}  // namespace stopbit::tools
