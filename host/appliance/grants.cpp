#include "host/appliance/grants.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "host/appliance/book_files.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/appliance/recording.hpp"

namespace stopbit::appliance {

opener::FileSet day_files(const std::string& folder, std::string_view prefix) {
  return {.folder = folder,
          .prefix = std::string(prefix),
          .suffix = ".jsonl",
          .digits = 8,  // the day
          .mode = 0644,
          .can_append = true,
          .can_remove = true};
}

opener::FileSet record_files(const std::string& folder, const std::string& line) {
  return {.folder = folder,
          .prefix = line + "-",
          .suffix = ".pcapng",
          .digits = 6,
          .mode = 0640,
          .kept = "frozen-",
          .can_create = true,
          .can_keep = true,
          .can_remove = true};
}

opener::Grants grants_of(const Settings& settings) {
  opener::Grants grants;
  const auto add_file = [&](const std::string& path) {
    if (path.empty() || std::find(grants.files.begin(), grants.files.end(), path) != grants.files.end()) return;
    grants.files.push_back(path);
  };
  for (const FeedSettings& feed : settings.feeds) {
    for (const feed::Image& image : feed.description.images) {
      for (const std::string& path : image.templates) add_file(path);
      add_file(image.firmware);
    }
    for (const feed::Channel& channel : feed.description.channels) {
      add_file(channel.map);
      for (std::size_t line = 0; line < channel.lines.size(); ++line) {
        const PortSettings& port = settings.ports[feed.ports[line]];
        auto options = port.source->sockets();
        if (!channel.lines[line] || !options) continue;
        grants.sockets.push_back(
            {.options = std::move(*options),
             .membership = {.group = channel.lines[line]->group, .source = channel.lines[line]->source}});
      }
    }
  }
  // What a reload reads again.
  if (settings.file != "-") add_file(settings.file);
  for (const FeedSettings& feed : settings.feeds) {
    add_file(feed.file);
    add_file(feed.calendar_file);
  }
  const ControlSettings& control = settings.control;
  for (const std::string* path : {&control.token_file, &control.certificate, &control.key, &control.client_ca}) {
    add_file(*path);
  }
  for (const ReplaySettings& replay : settings.replays) grants.connections.push_back(replay.address);
  for (const net::Endpoint& server : servers_of(settings)) grants.connections.push_back(server);
  grants.sets.push_back(day_files(settings.state_folder, kGapFiles));
  grants.sets.push_back(day_files(settings.state_folder, kCommandFiles));
  std::set<std::string> saved;
  for (const FeedSettings& feed : settings.feeds) {
    for (const feed::Channel& channel : feed.description.channels) {
      if (settings.books.save_ns == 0 || channel.map.empty() || !saved.insert(channel.events).second) continue;
      grants.sets.push_back(book_files(settings.state_folder, channel.events));
    }
  }
  if (settings.recorder) {
    for (const RecordedLine& line : recorded_lines(settings)) {
      grants.sets.push_back(record_files(settings.recorder->folder, line.name));
    }
  }
  return grants;
}

}  // namespace stopbit::appliance
