#include "host/cli/common/top_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/text.hpp"
#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

using appliance::ChannelStatus;
using appliance::StatusReport;
using os::duration_text;
using os::short_number;
using os::thousands;

constexpr std::size_t kMostRates = 512;
constexpr std::size_t kMostFilter = 32;
constexpr std::size_t kNameWidth = 18;

// Orange and blue: most colour-blind people can distinguish them.
constexpr std::string_view kBad = "1;38;5;208";
constexpr std::string_view kNews = "1;38;5;39";
constexpr std::string_view kDim = "2";
constexpr std::string_view kChosen = "7";

constexpr std::string_view kHelp =
    "Keys\n"
    "\n"
    "  q             quit\n"
    "  < >           sort by the column before, or the next one\n"
    "  r             reverse the order\n"
    "  /             show only channels whose name contains a text; Enter keeps it, Esc clears it\n"
    "  up down j k   move by a channel; page up, page down, home, end\n"
    "  space         pause, and go on\n"
    "  h ?           this help\n"
    "\n"
    "A ! marks a line that is silent. The first order has channels that need attention on top.\n"
    "Colours mark channels that are not ready, and channels that lost numbers since the last reading.\n"
    "\n"
    "Any key goes back.\n";

std::uint64_t skew_ns(const ChannelStatus& channel) {
  const std::uint64_t copies = channel.lines[0].skew.count + channel.lines[1].skew.count;
  return copies == 0 ? 0 : channel.skew_ns(0.99);
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) == std::tolower(static_cast<unsigned char>(right));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

/// The first columns of a text whose characters take one each.
std::string fit(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;  // goes on with a character of UTF-8
    if (used++ == columns) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

/// The places where anything was dropped, in a line or two.
void add_drops(const StatusReport& status, std::size_t columns, std::vector<std::string>& out) {
  constexpr std::size_t kLines = 2;
  std::vector<std::string> lines = {"drops:"};
  bool has_any = false;
  for (const appliance::Drop& drop : status.drops()) {
    if (drop.count == 0) continue;
    if (has_any) lines.back() += ',';
    const std::string item = fmt::format(" {} {}", plain(drop.text()), short_number(static_cast<double>(drop.count)));
    if (has_any && lines.back().size() + item.size() >= columns) {
      if (lines.size() == kLines) {
        lines.back() = fit(lines.back(), columns - std::min<std::size_t>(columns, 4)) + " ...";
        break;
      }
      lines.emplace_back("      ");
    }
    lines.back() += item;
    has_any = true;
  }
  if (!has_any) lines.back() += " none";
  out.insert(out.end(), lines.begin(), lines.end());
}

std::string agents_line(const StatusReport& status) {
  std::string line;
  for (const appliance::AgentStatus& agent : status.agents) {
    const bool has_any = agent.latency.count != 0;
    line += fmt::format("{}{}: latency 50% {}, 99% {}", line.empty() ? "" : "; ", plain(agent.name),
                        has_any ? duration_text(agent.latency.quantile(0.5)) : "-",
                        has_any ? duration_text(agent.latency.quantile(0.99)) : "-");
  }
  return line;
}

std::string books_line(const StatusReport& status) {
  appliance::MarketStatus sum;
  for (const appliance::MarketStatus& market : status.markets) {
    sum.instruments += market.instruments;
    sum.books += market.books;
    sum.latest += market.latest;
    sum.suspect += market.suspect;
    sum.stale += market.stale;
  }
  return fmt::format("{} instruments; {} books: {} latest, {} suspect, {} stale", thousands(sum.instruments),
                     thousands(sum.books), thousands(sum.latest), thousands(sum.suspect), thousands(sum.stale));
}

std::string broker_line(const appliance::NicStatus& nic) {
  std::uint64_t attachments = 0;
  std::uint64_t gets = 0;
  for (const appliance::OfferStatus& offer : nic.offers) {
    attachments += offer.attachments;
    gets += offer.gets;
  }
  return fmt::format("broker: {} clients, {} attachments, {} gets, {} turned away", nic.clients, attachments,
                     short_number(static_cast<double>(gets)), nic.turned_away);
}

std::string published_line(const appliance::NicStatus& nic) {
  std::size_t subscribers = 0;
  std::uint64_t behind = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::uint64_t detached = 0;
  for (const appliance::PublisherStatus& publisher : nic.publishers) {
    subscribers += publisher.subscribers.size();
    refused += publisher.refused;
    detached += publisher.detached;
    for (const appliance::SubscriberStatus& subscriber : publisher.subscribers) {
      behind += subscriber.behind;
      lost += subscriber.lost;
    }
  }
  return fmt::format("published: {} subscribers, {} behind, {} lost, {} detached, {} refused", subscribers,
                     short_number(static_cast<double>(behind)), short_number(static_cast<double>(lost)), detached,
                     refused);
}

}  // namespace

void TopView::take(StatusReport status) {
  if (!is_paused_) show(std::move(status));
}

void TopView::show(StatusReport status) {
  before_ = has_reading_ ? std::move(now_) : status;
  now_ = std::move(status);
  const bool is_later = has_reading_ && seconds() > 0;
  has_reading_ = true;
  if (!is_later) return;
  double sum = 0;
  for (const Row& row : rows()) sum += row.messages;  // of the channels that are shown
  rates_.push_back(sum);
  if (rates_.size() > kMostRates) rates_.pop_front();
}

double TopView::seconds() const noexcept {
  return now_.monotonic_ns > before_.monotonic_ns ? static_cast<double>(now_.monotonic_ns - before_.monotonic_ns) / 1e9
                                                  : 0;
}

bool TopView::press(int key) {
  if (key == Screen::kEndOfInput) return false;
  if (key == 0 || key == Screen::kUnknown) return true;
  if (shows_help_) {
    shows_help_ = false;
    return true;
  }
  if (edits_filter_) {
    press_in_filter(key);
    return true;
  }
  if (Screen::quits(key)) return false;
  const auto column = static_cast<std::size_t>(sorted_by_);
  constexpr std::size_t kPage = 10;
  switch (key) {
    case 'h':
    case '?': shows_help_ = true; break;
    case '>': sorted_by_ = static_cast<Column>((column + 1) % kColumns); break;
    case '<': sorted_by_ = static_cast<Column>((column + kColumns - 1) % kColumns); break;
    case 'r': is_reversed_ = !is_reversed_; break;
    case ' ': is_paused_ = !is_paused_; break;
    case '/': edits_filter_ = true; break;
    case Screen::kEscape: filter_.clear(); break;
    case 'j':
    case Screen::kDown: ++scrolled_; break;
    case 'k':
    case Screen::kUp: scrolled_ -= std::min<std::size_t>(scrolled_, 1); break;
    case Screen::kPageDown: scrolled_ += kPage; break;
    case Screen::kPageUp: scrolled_ -= std::min(scrolled_, kPage); break;
    case Screen::kHome: scrolled_ = 0; break;
    case Screen::kEnd: scrolled_ = now_.channels.size(); break;
    default: break;
  }
  return true;
}

void TopView::press_in_filter(int key) {
  constexpr int kBackspace = 0x7F;
  if (key == '\n' || key == '\r' || key == Screen::kEscape) {
    edits_filter_ = false;
    if (key == Screen::kEscape) filter_.clear();
  } else if (key == kBackspace || key == '\b') {
    if (!filter_.empty()) filter_.pop_back();
  } else if (key >= ' ' && key < kBackspace && filter_.size() < kMostFilter) {
    filter_ += static_cast<char>(key);
  }
  scrolled_ = 0;
}

/// The channel as it was: in the same place, unless channels were added or removed.
const ChannelStatus* TopView::find_before(std::size_t channel) const {
  const std::string& name = now_.channels[channel].name;
  const std::vector<ChannelStatus>& all = before_.channels;
  if (channel < all.size() && all[channel].name == name) return &all[channel];
  const auto found = std::ranges::find(all, name, &ChannelStatus::name);
  return found != all.end() ? &*found : nullptr;
}

std::vector<TopView::Row> TopView::rows() const {
  std::vector<Row> rows;
  const double since = seconds();
  for (std::size_t i = 0; i < now_.channels.size(); ++i) {
    const ChannelStatus& channel = now_.channels[i];
    if (!contains(plain(channel.name), filter_)) continue;
    Row row{.channel = &channel};
    const ChannelStatus* const then = find_before(i);
    if (then != nullptr && since > 0 && channel.received() >= then->received() && channel.messages >= then->messages) {
      row.has_rates = true;
      row.packets = static_cast<double>(channel.received() - then->received()) / since;
      row.messages = static_cast<double>(channel.messages - then->messages) / since;
    }
    row.loses = then != nullptr && channel.numbers_lost > then->numbers_lost;
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, [&](const Row& left, const Row& right) {
    return is_reversed_ ? is_before(right, left) : is_before(left, right);
  });
  return rows;
}

/// Numbers from the largest on, names from a to z.
bool TopView::is_before(const Row& left, const Row& right) const {
  switch (sorted_by_) {
    case Column::Attention: return left.channel->is_ready() < right.channel->is_ready();
    case Column::Name: return left.channel->name < right.channel->name;
    case Column::Packets: return left.packets > right.packets;
    case Column::Messages: return left.messages > right.messages;
    case Column::Gaps: return left.channel->gaps > right.channel->gaps;
    case Column::Lost: return left.channel->numbers_lost > right.channel->numbers_lost;
    case Column::Skew: return skew_ns(*left.channel) > skew_ns(*right.channel);
  }
  return false;
}

std::string TopView::coloured(std::string_view text, std::string_view colour) const {
  if (!look_.has_colours) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", colour, text);
}

void TopView::add_head(std::size_t columns, std::vector<std::string>& out) const {
  out.push_back(head_line(now_) + (is_paused_ ? " (paused)" : ""));
  out.push_back(rate_line(columns));
  add_drops(now_, columns, out);
  out.push_back(agents_line(now_));
  if (!now_.markets.empty()) out.push_back(books_line(now_));
  if (now_.nic.exists && !now_.nic.offers.empty()) out.push_back(broker_line(now_.nic));
  if (!now_.nic.publishers.empty()) out.push_back(published_line(now_.nic));
  out.emplace_back();
  for (std::string& line : out) line = fit(line, columns);
}

/// Messages a second, and how that went in the last readings.
std::string TopView::rate_line(std::size_t columns) const {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> kLetters = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const auto& levels = look_.has_blocks ? kBlocks : kLetters;
  std::string line = fmt::format("messages/s {:>6}  ", rates_.empty() ? std::string("-") : short_number(rates_.back()));
  const std::size_t room = columns - std::min(columns, line.size());
  const std::size_t shown = std::min(room, rates_.size());
  const auto first = std::prev(rates_.end(), static_cast<std::ptrdiff_t>(shown));
  const double most = shown == 0 ? 0 : *std::max_element(first, rates_.end());
  for (auto rate = first; rate != rates_.end(); ++rate) {
    const double part = most > 0 ? *rate / most * static_cast<double>(levels.size()) : 0;
    line += levels[std::min(levels.size() - 1, static_cast<std::size_t>(part))];
  }
  return line;
}

std::string TopView::table_head(std::size_t columns) const {
  // Of columns by which rows can be sorted; none of the attention that channels need.
  constexpr std::array<std::string_view, kColumns> kNames = {"", "channel", "pkt/s", "msg/s", "gaps", "lost", "skew"};
  std::string head = fit(fmt::format("{:<{}} {:<7} {:>7} {:>7} {:>6} {:>6} {:>5} {:>8} {:>8}", "channel", kNameWidth,
                                     "state", "A", "B", "pkt/s", "msg/s", "gaps", "lost", "skew"),
                         columns);
  const std::string_view name = kNames[static_cast<std::size_t>(sorted_by_)];
  const std::size_t at = name.empty() ? std::string::npos : head.find(name);
  if (at == std::string::npos) return head;
  std::string capitals(name);  // for those who see no colours
  std::ranges::transform(capitals, capitals.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return head.replace(at, name.size(), coloured(capitals, kChosen));
}

std::string TopView::table_row(const Row& row, std::size_t columns) const {
  const ChannelStatus& channel = *row.channel;
  const std::string line =
      fmt::format("{:<{}} {:<7} {:>7} {:>7} {:>6} {:>6} {:>5} {:>8} {:>8}", fit(plain(channel.name), kNameWidth),
                  kNameWidth, to_text(channel.state), age_text(channel.lines[0]), age_text(channel.lines[1]),
                  row.has_rates ? short_number(row.packets) : "-", row.has_rates ? short_number(row.messages) : "-",
                  short_number(static_cast<double>(channel.gaps)),
                  short_number(static_cast<double>(channel.numbers_lost)), skew_of(channel));
  const std::string shown = fit(line, columns);
  if (!channel.is_ready()) return coloured(shown, kBad);
  return row.loses ? coloured(shown, kNews) : shown;
}

std::string TopView::last_line(std::size_t columns, std::size_t below) const {
  if (!look_.has_keys) {
    if (below == 0) return "";
    return fmt::format("... {} channels in total; `stopbit ready` lists all", now_.channels.size());
  }
  std::string line;
  if (edits_filter_) return fit("channels with: " + filter_ + "_   Enter keeps it, Esc clears it", columns);
  if (below != 0) line += fmt::format("{} more below; ", below);
  if (!filter_.empty()) line += "only '" + filter_ + "', Esc: all; ";
  line += "q quits, < > sort, r reverses, / filters, h helps";
  return coloured(fit(line, columns), kDim);
}

std::string TopView::text(std::size_t columns, std::size_t rows_of_screen) {
  std::string text;
  if (shows_help_) {
    std::size_t lines = 0;
    for (const std::string_view line : split(kHelp, '\n')) {
      if (lines++ == rows_of_screen) break;
      text += fit(line, columns) + '\n';
    }
    return text;
  }
  std::vector<std::string> out;
  add_head(columns, out);
  out.push_back(table_head(columns));
  const std::vector<Row> channels = rows();
  const std::size_t room = rows_of_screen - std::min(rows_of_screen, out.size() + 1);  // the last line is for the keys
  const std::size_t shown = std::min(room, channels.size());
  scrolled_ = std::min(scrolled_, channels.size() - shown);
  for (std::size_t i = 0; i < shown; ++i) out.push_back(table_row(channels[scrolled_ + i], columns));
  if (channels.empty() && !filter_.empty()) out.push_back(fit("no channel's name contains this", columns));
  out.resize(std::min(out.size(), rows_of_screen - std::min<std::size_t>(rows_of_screen, 1)));
  out.push_back(last_line(columns, channels.size() - scrolled_ - shown));
  for (const std::string& line : out) text += line + '\n';
  return text;
}

}  // namespace stopbit::tools
