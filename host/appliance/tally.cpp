#include "host/appliance/tally.hpp"

namespace stopbit::appliance {

using counters::Kind;
using counters::Unit;

std::string_view to_text(ChannelState state) noexcept {
  switch (state) {
    case ChannelState::Waiting: return "waiting";
    case ChannelState::Live: return "live";
    case ChannelState::Stale: return "stale";
    case ChannelState::Silent: return "silent";
  }
  return "unknown";
}

void TallyBuilder::add(counters::Counter& handle, std::string_view family, Labels labels, std::string_view help,
                       Kind kind, Unit unit) {
  const auto id = schema_.add(kind, family, labels, help, unit);
  binders_.push_back([&handle, id](const counters::Segment& segment) { handle = segment.counter(id); });
}

void TallyBuilder::histogram(counters::Histogram& handle, std::string_view family, Labels labels, std::string_view help,
                             Unit unit) {
  const auto id = schema_.add(Kind::Histogram, family, labels, help, unit);
  binders_.push_back([&handle, id](const counters::Segment& segment) { handle = segment.histogram(id); });
}

void TallyBuilder::agent(AgentTally& tally, std::string_view name) {
  constexpr std::uint16_t kDistinctErrors = 64;
  const Labels labels = {{"agent", name}};
  schema_.writer();
  add(tally.turns, "agent_turns", labels, "Times the thread has looked for work");
  add(tally.busy_turns, "agent_busy_turns", labels, "Times it has found some");
  gauge(tally.last_turn, "agent_last_turn_time", labels, "When it looked last", Unit::Time);
  add(tally.notices_lost, "agent_notices_lost", labels,
      "Notices to people that found no room; counters are exact all the same");
  histogram(tally.batch, "agent_batch_datagrams", labels, "Datagrams handed out by a port at a time", Unit::Number);
  histogram(tally.latency, "agent_latency", labels,
            "From the arrival of the first datagram of a batch until the records of all of it are published",
            Unit::Nanoseconds);
  const auto id = schema_.add(Kind::Errors, "errors", labels, "Distinct decode errors, each with its first place",
                              Unit::Number, kDistinctErrors);
  binders_.push_back([&tally, id](const counters::Segment& segment) { tally.errors = segment.errors(id); });
}

void TallyBuilder::port(PortTally& tally, std::string_view name) {
  const Labels labels = {{"port", name}};
  add(tally.frames, "port_frames", labels, "Frames or datagrams received");
  add(tally.bytes, "port_bytes", labels, "Bytes of them", Kind::Counter, Unit::Bytes);
  add(tally.nic, "port_dropped_by_nic", labels, "Came to the card and found no room there");
  add(tally.kernel, "port_dropped_by_kernel", labels, "Found no room in a buffer of the kernel");
  add(tally.failures, "port_failures", labels, "Receive calls that failed");
  add(tally.foreign, "port_foreign", labels, "Datagrams of groups or sources that no channel has");
  for (std::size_t i = 0; i < tally.verdicts.size(); ++i) {
    const auto verdict = static_cast<net::Verdict>(i);
    add(tally.verdicts[i], "port_verdicts", {{"port", name}, {"verdict", net::verdict_text(verdict)}},
        "What became of frames before decoding");
  }
}

void TallyBuilder::outlet(OutletTally& tally, std::string_view name) {
  const Labels labels = {{"ring", name}};
  add(tally.records, "ring_records", labels, "Records published, events included");
  add(tally.events, "ring_events", labels, "Event records published");
  add(tally.slots, "ring_slots", labels, "Slots of 64 bytes published");
  gauge(tally.generation, "image_generation", labels, "How often the image was changed");
  gauge(tally.layout_hash, "image_layout_hash", labels, "Hash of the layout of the records");
  add(tally.other, "messages", {{"ring", name}, {"template", ""}},
      "Messages decoded, by template; those of templates that came with a later image have no name");
  const auto id = schema_.add(Kind::Text, "image", labels, "The image that is used");
  binders_.push_back([&tally, id](const counters::Segment& segment) { tally.image = segment.text(id); });
}

void TallyBuilder::templates(counters::Counter& counter, std::string_view outlet, std::string_view name) {
  add(counter, "messages", {{"ring", outlet}, {"template", name}}, "Messages decoded, by template");
}

void TallyBuilder::channel(ChannelTally& tally, std::string_view name, bool has_b) {
  const Labels labels = {{"channel", name}};
  for (std::size_t i = 0; i < (has_b ? 2 : 1); ++i) {
    LineTally& line = tally.lines[i];
    const Labels of_line = {{"channel", name}, {"line", i == 0 ? "A" : "B"}};
    add(line.packets, "line_packets", of_line, "Packets received on the line");
    add(line.missing, "line_missing", of_line, "Sequence numbers that the line did not bring");
    add(line.saved, "line_saved", of_line, "Of those, delivered thanks to the other line");
    add(line.first, "line_first", of_line, "Sequence numbers that it brought before the other line");
    gauge(line.last_sequence, "line_last_sequence", of_line, "The highest number it has brought");
    gauge(line.last_arrival, "line_last_arrival_time", of_line, "When its last packet came", Unit::Time);
    histogram(line.skew, "line_skew", of_line, "How long after the other line its copies came (powers of two)",
              Unit::Nanoseconds);
  }
  add(tally.delivered, "packets_delivered", labels, "Packets that went on to the engine");
  add(tally.duplicate, "packets_duplicate", labels, "Packets of which a copy came before");
  add(tally.late, "packets_late", labels, "Packets whose number had been given up");
  gauge(tally.held, "packets_held", labels, "Packets that wait for others");
  add(tally.malformed, "packets_malformed", labels, "Packets whose preamble cannot be right");
  add(tally.incomplete, "packets_incomplete", labels, "Chunks of messages that were given up");
  gauge(tally.numbers, "numbers_expected", labels, "Sequence numbers from the first to the last of each run");
  gauge(tally.numbers_delivered, "numbers_delivered", labels, "Of those, delivered");
  gauge(tally.numbers_recovered, "numbers_recovered", labels, "Of those, delivered from a replay");
  gauge(tally.numbers_lost, "numbers_lost", labels, "Of those, given up");
  gauge(tally.numbers_held, "numbers_held", labels, "Of those, undecided");
  add(tally.gaps, "gaps", labels, "Runs of missing sequence numbers");
  gauge(tally.epoch, "epoch", labels, "Counts the runs of sequence numbers");
  gauge(tally.next_sequence, "next_sequence", labels, "The number that is delivered next");
  gauge(tally.state, "channel_state", labels, "0 waiting, 1 live, 2 stale");
  gauge(tally.last_delivery, "last_delivery_time", labels, "When the last packet went on to the engine", Unit::Time);
  add(tally.datagrams, "datagrams", labels, "Datagrams given to the engine, chunks joined");
  add(tally.messages, "channel_messages", labels, "Messages decoded");
  add(tally.decode_errors, "decode_errors", labels, "Datagrams with an error; unknown templates are not among them");
  add(tally.unknown_template, "unknown_template", labels, "Datagrams with a template identifier that the image lacks");
  add(tally.waiting_for_reset, "waiting_for_reset", labels,
      "Datagrams dropped because the dictionary waits for a reset");
  add(tally.stale_events, "stale_events", labels, "Times the channel became stale");
}

void TallyBuilder::record(RecordTally& tally, std::string_view channel, bool is_b) {
  const Labels labels = {{"channel", channel}, {"line", is_b ? "B" : "A"}};
  add(tally.recorded, "record_packets", labels, "Packets of the line written to disk");
  add(tally.not_recorded, "record_packets_failed", labels, "Packets of the line that could not be written");
  add(tally.frozen_files, "record_frozen_files", labels, "Files that stay because something was lost");
  add(tally.refused_freezes, "record_refused_freezes", labels,
      "Files that should have stayed and did not, because too many bytes are frozen");
}

void TallyBuilder::recorder(RecorderTally& tally) {
  gauge(tally.failing_lines, "recorder_failing_lines", {}, "Lines whose packets cannot be written");
  const auto id = schema_.add(Kind::Text, "recorder_problem", {}, "What the system said last");
  binders_.push_back([&tally, id](const counters::Segment& segment) { tally.problem = segment.text(id); });
}

void TallyBuilder::record_queue(counters::Counter& counter, std::string_view agent) {
  add(counter, "recorder_no_room", {{"agent", agent}}, "Packets that found no room on their way to the disk");
}

void TallyBuilder::nic(NicTally& tally) {
  schema_.writer();
  add(tally.commands, "nic_commands", {}, "Commands that ports gave to the node");
  gauge(tally.clients, "broker_clients", {}, "Processes of this host that have a connection to the broker");
  add(tally.ports_opened, "broker_ports_opened", {}, "Ports opened for processes");
  add(tally.ports_gone, "broker_ports_gone", {}, "Of those, ended");
  add(tally.turned_away, "broker_turned_away", {}, "Processes without entitlement, or one too many");
  add(tally.malformed, "broker_malformed", {}, "Requests that no client sends");
  add(tally.refused, "broker_refused", {}, "Requests that were refused");
  gauge(tally.shared_bytes, "broker_shared", {}, "Memory of clients that the node has mapped", Unit::Bytes);
  gauge(tally.unpinned, "broker_unpinned", {}, "Files that processes share as unpinned memory");
  gauge(tally.unpinned_bytes, "broker_unpinned_file", {}, "Size of them", Unit::Bytes);
  gauge(tally.resident_bytes, "broker_unpinned_resident", {}, "Of that, as much as may be here at once", Unit::Bytes);
  add(tally.pages_fetched, "broker_pages_fetched", {}, "Pages of them read for transfers");
  add(tally.pages_evicted, "broker_pages_evicted", {}, "Pages of them that made room for others");
  add(tally.pages_written, "broker_pages_written", {}, "Pages of them written back");
  add(tally.pages_failed, "broker_pages_failed", {}, "Pages that a file did not give or take");
  add(tally.lines_kept, "nic_lines_kept", {}, "Lines that the log was spared, because there were too many");
}

void TallyBuilder::units(UnitsTally& tally, std::string_view carrier) {
  const Labels labels = {{"carrier", carrier}};
  add(tally.sent, "nic_packets_sent", labels, "Packets to other nodes, each once");
  add(tally.resent, "nic_packets_resent", labels, "Packets that were sent again");
  add(tally.delivered, "nic_packets_delivered", labels, "Packets of other nodes, in order");
  add(tally.bad_frames, "nic_bad_frames", labels, "Frames that were damaged, foreign, forged, or of an ended session");
  add(tally.lost, "nic_nodes_lost", labels, "Times that another node was given up");
  add(tally.rejoined, "nic_nodes_rejoined", labels, "Times that one came back");
  add(tally.messages_sent, "nic_messages_sent", labels, "Messages of ports of this node");
  add(tally.messages_delivered, "nic_messages_delivered", labels, "Messages put into mailboxes");
  add(tally.messages_dropped, "nic_messages_dropped", labels, "Messages that found a full mailbox");
  add(tally.messages_refused, "nic_messages_refused", labels, "Messages to no port, a stopped one, or another domain");
  add(tally.transfers, "nic_transfers", labels, "Transfers that ports of this node began");
  add(tally.served, "nic_transfers_served", labels, "Transfers that were carried out here");
  add(tally.transfers_refused, "nic_transfers_refused", labels, "Transfers that were refused here");
  add(tally.failed, "nic_transfers_failed", labels, "Transfers of ports of this node that ended in an error");
  add(tally.bounced, "nic_packets_bounced", labels, "Packets whose page was not here");
  add(tally.held_up, "nic_tries_held_up", labels, "Tries that found a page still missing");
  add(tally.hits, "nic_translations_cached", labels, "Translations of addresses that the cache had");
  add(tally.misses, "nic_translations_missed", labels, "Translations that the table was needed for");
  add(tally.faults, "nic_translations_refused", labels, "Translations of addresses that were not the port's");
}

void TallyBuilder::fabric(FabricTally& tally) {
  const Labels labels = {{"carrier", "fabric"}};
  add(tally.bad_frames, "nic_carrier_bad_frames", labels, "Frames that were none, of strangers, forged or out of date");
  add(tally.joined, "nic_carrier_joined", labels, "Nodes that were let in");
  add(tally.refused, "nic_carrier_refused", labels, "Nodes that were not, by version, network, shape or place");
  add(tally.expired, "nic_carrier_expired", labels, "Nodes that were heard of no more");
  add(tally.renewed, "nic_connections_renewed", labels, "Connections made anew, because nothing came back");
  add(tally.deaths, "nic_carrier_deaths", labels, "Processes of libfabric that ended");
  gauge(
      tally.cut_off, "nic_carrier_cut_off", labels,
      "1: nobody starts a process of libfabric any more, so no other host is served until the appliance is restarted");
}

void TallyBuilder::offer(OfferTally& tally, std::string_view name) {
  const Labels labels = {{"offer", name}};
  gauge(tally.attachments, "offer_attachments", labels, "Attachments of the ring that have not ended");
  add(tally.attached, "offer_attached", labels, "Times that a process has attached the ring");
  add(tally.refused, "offer_refused", labels, "Times that a process was not entitled to it");
  add(tally.gets, "offer_gets", labels, "Reads of the ring through the node; who maps it does not count");
  add(tally.bytes, "offer_bytes", labels, "Bytes of them", Kind::Counter, Unit::Bytes);
}

void TallyBuilder::publisher(PublisherTally& tally, std::string_view carrier) {
  const Labels labels = {{"carrier", carrier}};
  gauge(tally.subscribers, "publisher_subscribers", labels, "Subscribers of published rings now");
  add(tally.admitted, "publisher_admitted", labels, "Subscriptions that were admitted");
  add(tally.refused, "publisher_refused", labels, "Requests that were refused, and subscriptions taken back");
  for (std::size_t i = 0; i < tally.refusals.size(); ++i) {
    const char* const why = nic::remote::to_name(static_cast<nic::remote::Refusal>(i + 1));
    add(tally.refusals[i], "publisher_refusals", {{"carrier", carrier}, {"why", why}}, "Of those, by the reason");
  }
  add(tally.ended, "publisher_ended", labels, "Subscriptions that have ended, by whatever end");
  add(tally.detached, "publisher_detached", labels,
      "Of those, because the subscriber took nothing while there was something");
  add(tally.malformed, "publisher_malformed", labels, "Messages that no subscriber sends");
  for (std::size_t i = 0; i < tally.places.size(); ++i) {
    SubscriberTally& place = tally.places[i];
    const std::string number = std::to_string(i);
    const Labels of_place = {{"carrier", carrier}, {"place", number}};
    gauge(place.state, "subscriber_state", of_place,
          "0 nobody, 1 running, 2 there is no room for its records, 3 ending, 4 it has had its bytes of this time");
    gauge(place.since, "subscriber_since_time", of_place, "When it came", Unit::Time);
    gauge(place.records, "subscriber_records", of_place, "Records that it was sent");
    gauge(place.slots, "subscriber_slots", of_place, "Slots of them");
    gauge(place.filtered, "subscriber_filtered", of_place, "Records that its filter kept from it");
    gauge(place.lost, "subscriber_lost", of_place, "Records that were overwritten before they could be sent to it");
    gauge(place.behind, "subscriber_behind", of_place, "Records published that it was not sent");
    const auto text = [&](counters::Text& handle, std::string_view family, std::string_view help) {
      const auto id = schema_.add(Kind::Text, family, of_place, help);
      binders_.push_back([&handle, id](const counters::Segment& segment) { handle = segment.text(id); });
    };
    text(place.who, "subscriber", "Who it is: its node and port");
    text(place.ring, "subscriber_ring", "What it has subscribed to");
  }
}

void TallyBuilder::info(counters::Counter& counter, std::string_view family, Labels labels, std::string_view help) {
  gauge(counter, family, labels, help);
}

Result<counters::Segment> TallyBuilder::build(std::string_view name) {
  Result<counters::Segment> segment =
      name.empty() ? counters::Segment::create_private(schema_) : counters::Segment::create(name, schema_);
  if (!segment) return segment;
  for (const auto& bind : binders_) bind(segment.value());
  binders_.clear();
  return segment;
}

}  // namespace stopbit::appliance
