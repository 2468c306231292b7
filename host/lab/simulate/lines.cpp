#include "host/lab/simulate/lines.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::simulate {
namespace {

/// Addresses for examples (RFC 5737), for captures whose settings name no source.
constexpr net::Endpoint kExampleSource = {0xC0000201, 30'001};
constexpr std::uint32_t kBackupStep = 10;

void count(const impair::Event& event, ImpairReport& report) {
  using Kind = impair::Event::Kind;
  switch (event.kind) {
    case Kind::Lost:
    case Kind::LostOnBoth:
    case Kind::Dead: ++report.lost[event.line]; break;
    case Kind::Doubled: ++report.doubled[event.line]; break;
    case Kind::HeldBack: ++report.held_back[event.line]; break;
    case Kind::Damaged: ++report.damaged[event.line]; break;
    case Kind::Out: break;
  }
}

}  // namespace

std::vector<net::Endpoint> Lines::groups(const Settings& settings, std::size_t number) {
  std::vector<net::Endpoint> groups;
  for (const LineSettings& line : settings.lines) {
    groups.push_back({line.group.address + static_cast<std::uint32_t>(number),
                      static_cast<std::uint16_t>(line.group.port + number)});
  }
  return groups;
}

std::size_t Lines::add(std::vector<net::Endpoint> groups, std::uint64_t skew_ns, std::uint64_t seed) {
  Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
  stream.groups = std::move(groups);
  stream.skew_ns = skew_ns;
  if (is_impaired(settings_)) {
    impair::Options options;
    options.seed = seed;
    options.lines = settings_.lines.size();
    options.both = settings_.loss_both;
    for (std::size_t line = 0; line < options.lines; ++line) {
      options.line[line] = settings_.lines[line].impair.value_or(impair::LineOptions{});
      options.line[line].delay_ns = line * skew_ns;
    }
    stream.network = std::make_unique<impair::Impairer>(
        options, [&stream](const impair::Event& event) { count(event, stream.impaired); });
  }
  return streams_.size() - 1;
}

void Lines::send(std::size_t index, std::vector<std::byte> datagram, std::uint64_t time_ns, bool from_backup) {
  Stream& stream = *streams_[index];
  const bool is_other = std::exchange(stream.from_backup, from_backup) != from_backup;
  if (stream.network) {
    if (is_other) stream.fail_overs.push_back(stream.network->packets());
    stream.network->push(datagram, time_ns);
    return collect(stream);
  }
  const auto payload = std::make_shared<const std::vector<std::byte>>(std::move(datagram));
  for (std::size_t line = 0; line < settings_.lines.size(); ++line) {
    put(stream, line, time_ns + line * stream.skew_ns, from_backup, payload);
  }
}

void Lines::flush(std::uint64_t time_ns) {
  for (const auto& stream : streams_) {
    if (!stream->network) continue;
    stream->network->flush(time_ns);
    collect(*stream);
  }
}

std::optional<std::uint64_t> Lines::next_time() const {
  return pending_.empty() ? std::nullopt : std::optional(pending_.top().time_ns);
}

Sent Lines::take() {
  current_ = pending_.top();
  pending_.pop();
  return {.time_ns = current_.time_ns,
          .line = current_.line,
          .from_backup = current_.from_backup,
          .source = current_.source,
          .group = current_.group,
          .payload = *current_.payload};
}

net::Endpoint Lines::source_of(std::size_t line, bool backup) const {
  const LineSettings& settings = settings_.lines[line];
  if (backup && settings.backup_source) return *settings.backup_source;
  if (settings.source) return *settings.source;
  return {kExampleSource.address + static_cast<std::uint32_t>(line) + (backup ? kBackupStep : 0), kExampleSource.port};
}

void Lines::put(const Stream& stream, std::size_t line, std::uint64_t time_ns, bool from_backup,
                std::shared_ptr<const std::vector<std::byte>> payload) {
  pending_.push(
      {time_ns, order_++, line, from_backup, source_of(line, from_backup), stream.groups[line], std::move(payload)});
}

/// Takes the packets that leave the network. Those that it held back over a fail-over are still of the sender before.
void Lines::collect(const Stream& stream) {
  while (const impair::Copy* const copy = stream.network->pop(impair::kNever)) {
    const auto later = std::upper_bound(stream.fail_overs.begin(), stream.fail_overs.end(), copy->packet);
    const bool from_backup = (later - stream.fail_overs.begin()) % 2 != 0;
    put(stream, copy->line, copy->time_ns, from_backup, std::make_shared<const std::vector<std::byte>>(copy->bytes));
  }
}

}  // namespace stopbit::simulate
