#include "host/ports/pcap/pcap_source.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/unit/ports/captures.hpp"

namespace stopbit::ingest::pcap_source_test {

using testing::gzip;
using testing::integer;
using testing::interface_block;
using testing::memory_file;
using testing::packet_block;
using testing::pcap_header;
using testing::pcap_record;
using testing::PcapFormat;
using testing::section_block;
using testing::u16;
using testing::u32;
using testing::zstd;

struct Seen {
  std::string frame;
  std::uint64_t arrival_ns;
  std::size_t original_bytes;
  net::LinkType link;
};

/// What a capture gives: its packets, then the fault that ended it, if any.
struct Reading {
  std::vector<Seen> packets;
  std::string fault;
  std::uint64_t fault_packet = 0;
  std::string refused;
};

Reading read_capture(std::string_view content) {
  Reading reading;
  auto opened = open_capture(memory_file(content), "day.pcap");
  if (!opened) {
    reading.refused = opened.message();
    return reading;
  }
  const auto source = std::move(opened).value();
  Packet packet;
  Next next = Next::End;
  while ((next = source->next(packet)) == Next::Packet) {
    EXPECT_EQ(packet.number, reading.packets.size() + 1);
    reading.packets.push_back({std::string(reinterpret_cast<const char*>(packet.frame.data()), packet.frame.size()),
                               packet.arrival_ns, packet.original_bytes, packet.link});
  }
  if (next == Next::Fault) {
    reading.fault = source->fault().message;
    reading.fault_packet = source->fault().packet;
    EXPECT_EQ(source->next(packet), Next::End) << "a fault is told once";
  }
  return reading;
}

TEST(PcapSource, reads_every_flavour_of_pcap) {
  for (const bool nanoseconds : {false, true}) {
    for (const bool big : {false, true}) {
      const std::string file = pcap_header({nanoseconds, big}) + pcap_record(1'700'000'000, 5, "first", 0, big) +
                               pcap_record(1'700'000'001, 999'999, "second", 100, big);
      for (const std::string& content : {file, gzip(file), zstd(file)}) {
        const Reading reading = read_capture(content);
        ASSERT_EQ(reading.packets.size(), 2U) << reading.refused << reading.fault;
        EXPECT_EQ(reading.packets[0].frame, "first");
        EXPECT_EQ(reading.packets[0].arrival_ns, 1'700'000'000'000'000'000U + (nanoseconds ? 5U : 5'000U));
        EXPECT_EQ(reading.packets[0].original_bytes, 5U);
        EXPECT_EQ(reading.packets[1].arrival_ns, 1'700'000'001'000'000'000U + (nanoseconds ? 999'999U : 999'999'000U));
        EXPECT_EQ(reading.packets[1].original_bytes, 100U);
        EXPECT_EQ(reading.fault, "");
      }
    }
  }
}

TEST(PcapSource, reads_pcapng_with_interfaces_of_different_resolution) {
  const std::string file = section_block() + interface_block(1, 6) + interface_block(1, 9) +
                           packet_block(0, 1'000'001, "micro") + testing::block(0x0BAD, "a block nobody knows") +
                           packet_block(1, 2'000'000'003, "nano", 60);
  const Reading reading = read_capture(file);
  ASSERT_EQ(reading.packets.size(), 2U) << reading.refused << reading.fault;
  EXPECT_EQ(reading.packets[0].frame, "micro");
  EXPECT_EQ(reading.packets[0].arrival_ns, 1'000'001'000U);
  EXPECT_EQ(reading.packets[1].frame, "nano");
  EXPECT_EQ(reading.packets[1].arrival_ns, 2'000'000'003U);
  EXPECT_EQ(reading.packets[1].original_bytes, 60U);
  EXPECT_EQ(reading.fault, "");
}

TEST(PcapSource, reads_pcapng_with_interfaces_of_different_link_types_and_snap_lengths) {
  const std::string file = section_block() + interface_block(1) + packet_block(0, 1, "ethernet") +
                           interface_block(113, 9, 1500) + interface_block(127) + packet_block(1, 2, "cooked") +
                           packet_block(2, 3, "wireless") + packet_block(0, 4, "ethernet again");
  const Reading reading = read_capture(file);
  EXPECT_EQ(reading.refused + reading.fault, "");
  ASSERT_EQ(reading.packets.size(), 4U);
  EXPECT_EQ(reading.packets[0].link, net::LinkType::Ethernet);
  EXPECT_EQ(reading.packets[1].link, net::LinkType::LinuxSll);
  EXPECT_EQ(reading.packets[2].link, net::LinkType::Unknown);
  EXPECT_EQ(reading.packets[3].frame, "ethernet again");
}

TEST(PcapSource, reads_pcapng_sections_one_behind_the_other) {
  const std::string first = section_block() + interface_block(1, 9) + packet_block(0, 5, "first");
  const std::string second = section_block() + interface_block(101, 6) + packet_block(0, 5, "second");
  const Reading reading = read_capture(first + second);
  EXPECT_EQ(reading.refused + reading.fault, "");
  ASSERT_EQ(reading.packets.size(), 2U);
  EXPECT_EQ(reading.packets[1].link, net::LinkType::RawIp);
  EXPECT_EQ(reading.packets[1].arrival_ns, 5'000U);
}

TEST(PcapSource, reads_big_endian_pcapng) {
  const auto big = [](std::size_t type, const std::string& body) {
    return u32(type, true) + u32(body.size() + 12, true) + body + u32(body.size() + 12, true);
  };
  const std::string file =
      big(0x0A0D0D0A, u32(0x1A2B3C4D, true) + u16(1, true) + u16(0, true) + std::string(8, '\xFF')) +
      big(1, u16(1, true) + u16(0, true) + u32(0, true)) +
      big(6, u32(0, true) + u32(0, true) + u32(7, true) + u32(4, true) + u32(9, true) + "four");
  const Reading reading = read_capture(file);
  EXPECT_EQ(reading.refused + reading.fault, "");
  ASSERT_EQ(reading.packets.size(), 1U);
  EXPECT_EQ(reading.packets[0].frame, "four");
  EXPECT_EQ(reading.packets[0].arrival_ns, 7'000U) << "microseconds unless the interface says otherwise";
  EXPECT_EQ(reading.packets[0].original_bytes, 9U);
}

TEST(PcapSource, reads_simple_and_old_packet_blocks) {
  const std::string file = section_block() + interface_block(1, 9, 6) + packet_block(0, 70, "timed") +
                           testing::block(3, u32(9) + "simple...") +
                           testing::block(2, u16(0) + u16(0) + u32(0) + u32(80) + u32(3) + u32(3) + "old");
  const Reading reading = read_capture(file);
  EXPECT_EQ(reading.refused + reading.fault, "");
  ASSERT_EQ(reading.packets.size(), 3U);
  EXPECT_EQ(reading.packets[1].frame, "simple") << "as long as the snap length";
  EXPECT_EQ(reading.packets[1].original_bytes, 9U);
  EXPECT_EQ(reading.packets[1].arrival_ns, 70U);
  EXPECT_EQ(reading.packets[2].frame, "old");
  EXPECT_EQ(reading.packets[2].arrival_ns, 80U);
}

TEST(PcapSource, understands_every_time_resolution) {
  const auto time_at = [](std::size_t resolution, std::uint64_t time, const std::string& options = "") {
    const std::string interface =
        testing::block(1, u16(1) + u16(0) + u32(0) + u16(9) + u16(1) + u32(resolution) + options);
    return read_capture(section_block() + interface + packet_block(0, time, "x")).packets.at(0).arrival_ns;
  };
  EXPECT_EQ(time_at(0, 3), 3'000'000'000U);
  EXPECT_EQ(time_at(3, 3), 3'000'000U);
  EXPECT_EQ(time_at(12, 3'999), 3U) << "picoseconds";
  EXPECT_EQ(time_at(0x80 + 10, 3 * 1024 + 512), 3'500'000'000U) << "1/1024 s";
  EXPECT_EQ(time_at(127, 5), 0U);
  EXPECT_EQ(time_at(0xFF, 5), 0U);
  EXPECT_EQ(time_at(9, 5, u16(14) + u16(8) + integer<std::uint64_t>(2)), 2'000'000'005U) << "if_tsoffset";
}

TEST(PcapSource, names_what_is_wrong_in_pcapng) {
  const std::string start = section_block() + interface_block() + packet_block(0, 1, "good");
  std::string other_length = packet_block(0, 1, "bad");
  other_length[other_length.size() - 4] ^= 4;
  const std::vector<std::pair<std::string, std::string>> bad = {
      {packet_block(1, 1, "x"), "a packet of interface 1, which the file does not describe"},
      {other_length, "a block whose two lengths differ"},
      {u32(6) + u32(13), "a block of 13 bytes"},
      {u32(6) + u32(0xFFFFFFFC), "a block of 4294967292 bytes"},
      {testing::block(6, u32(0)), "a packet block that is too short"},
      {testing::block(6, u32(0) + u32(0) + u32(0) + u32(5) + u32(5) + "four"), "a packet longer than its block"},
      {testing::block(1, u32(1)), "an interface block that is too short"},
      {testing::block(0x0A0D0D0A, u32(0x11111111)), "a section without byte order"}};
  for (const auto& [block, what] : bad) {
    const Reading reading = read_capture(start + block);
    EXPECT_EQ(reading.packets.size(), 1U);
    EXPECT_EQ(reading.fault_packet, 2U);
    EXPECT_EQ(reading.fault, "day.pcap: packet 2, at byte " + std::to_string(start.size()) + ": " + what);
  }
  EXPECT_EQ(read_capture(section_block()).refused, "day.pcap: not a pcap or pcapng capture: it describes no interface");
  EXPECT_EQ(read_capture(section_block() + interface_block(127)).refused,
            "day.pcap: link type 127 is not supported (Ethernet, Linux cooked, raw IP and loopback are)");
}

TEST(PcapSource, refuses_a_link_type_it_cannot_read) {
  const Reading reading = read_capture(pcap_header({.link_type = 127}));
  EXPECT_EQ(
      reading.refused,
      "day.pcap: link type 127 (IEEE802_11_RADIO) is not supported (Ethernet, Linux cooked, raw IP and loopback are)");
}

TEST(PcapSource, refuses_what_is_no_capture) {
  for (const char* content : {"", "x", "<templates/>", "just some text that is longer than any header of a capture"}) {
    EXPECT_EQ(read_capture(content).refused.substr(0, 39), "day.pcap: not a pcap or pcapng capture:") << content;
    EXPECT_EQ(read_capture(gzip(content)).refused.substr(0, 39), "day.pcap: not a pcap or pcapng capture:") << content;
  }
}

/// Every prefix of a capture gives the packets that are whole in it, and names the cut one.
void expect_good_packets_of_every_prefix(const std::string& file, const std::vector<std::size_t>& packet_ends,
                                         const std::vector<std::size_t>& clean_ends) {
  for (std::size_t size = 0; size <= file.size(); ++size) {
    const Reading reading = read_capture(std::string_view(file).substr(0, size));
    const auto whole = static_cast<std::size_t>(
        std::count_if(packet_ends.begin(), packet_ends.end(), [&](std::size_t end) { return end <= size; }));
    EXPECT_EQ(reading.packets.size(), whole) << size;
    if (std::find(clean_ends.begin(), clean_ends.end(), size) != clean_ends.end()) {
      EXPECT_EQ(reading.refused + reading.fault, "") << size;
    } else if (reading.refused.empty()) {
      EXPECT_EQ(reading.fault_packet, whole + 1) << size;
      EXPECT_NE(reading.fault.find("cut: the file ends at byte " + std::to_string(size)), std::string::npos)
          << reading.fault;
    } else {
      EXPECT_LT(size, clean_ends.front());
    }
  }
}

TEST(PcapSource, gives_the_good_packets_of_a_pcap_cut_anywhere) {
  std::string file = pcap_header();
  std::vector<std::size_t> ends;
  std::vector<std::size_t> clean{file.size()};
  for (const char* frame : {"first packet", "2", "the third packet"}) {
    file += pcap_record(1, 2, frame);
    ends.push_back(file.size());
    clean.push_back(file.size());
  }
  expect_good_packets_of_every_prefix(file, ends, clean);
}

TEST(PcapSource, gives_the_good_packets_of_a_pcapng_cut_anywhere) {
  std::string file = section_block() + interface_block();
  std::vector<std::size_t> ends;
  std::vector<std::size_t> clean{file.size()};
  for (const char* frame : {"first packet", "2", "the third packet"}) {
    file += packet_block(0, 1, frame);
    ends.push_back(file.size());
    clean.push_back(file.size());
  }
  expect_good_packets_of_every_prefix(file, ends, clean);
}

TEST(PcapSource, names_a_cut_in_compressed_captures) {
  std::string plain = pcap_header();
  for (int i = 0; i < 50; ++i) plain += pcap_record(1, 2, "packet " + std::to_string(i * 7919));
  const std::string file = gzip(plain);
  std::size_t most = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Reading reading = read_capture(std::string_view(file).substr(0, size));
    EXPECT_NE(reading.refused + reading.fault, "") << size;
    if (reading.fault.empty()) continue;
    EXPECT_EQ(reading.fault_packet, reading.packets.size() + 1);
    EXPECT_NE(reading.fault.find("the compressed data ends early, at byte " + std::to_string(size)), std::string::npos)
        << reading.fault;
    EXPECT_GE(reading.packets.size(), most) << "more bytes never give fewer packets";
    most = reading.packets.size();
  }
  EXPECT_EQ(most, 50U) << "all packets are there when only the checksum is cut";
}

TEST(PcapSource, refuses_lengths_no_packet_has) {
  for (const std::size_t length : {0x40001UL, 0x7FFFFFFFUL, 0x80000000UL, 0xFFFFFFFFUL}) {
    const std::string file = pcap_header({.snap_length = 0xFFFFFFFF}) + pcap_record(1, 2, "good") + u32(1) + u32(2) +
                             u32(length) + u32(length) + std::string(1000, 'x');
    const Reading reading = read_capture(file);
    EXPECT_EQ(reading.packets.size(), 1U);
    EXPECT_EQ(reading.fault_packet, 2U);
    EXPECT_EQ(reading.fault.substr(0, 31), "day.pcap: packet 2, at byte 44:");
  }
}

TEST(PcapSource, survives_damaged_captures) {
  const std::string pcap =
      pcap_header() + pcap_record(1, 2, "first packet") + pcap_record(3, 4, "second") + pcap_record(5, 6, "third");
  const std::string pcapng = section_block() + interface_block() + packet_block(0, 1, "first") + interface_block() +
                             packet_block(1, 2, "second") + section_block() + interface_block() +
                             packet_block(0, 3, "third");
  std::mt19937 random(3);
  const std::string packed = gzip(pcap);
  for (const std::string& good : {pcap, pcapng, packed}) {
    int refused = 0;
    int faults = 0;
    int whole = 0;
    for (int i = 0; i < 3'000; ++i) {
      std::string bad = good;
      for (std::size_t flips = 1 + random() % 4; flips > 0; --flips)
        bad[random() % bad.size()] = static_cast<char>(random());
      const Reading reading = read_capture(bad);
      if (!reading.refused.empty()) {
        ++refused;
        continue;
      }
      std::size_t bytes = 0;
      for (const Seen& seen : reading.packets) bytes += seen.frame.size();
      EXPECT_LT(bytes, (good == packed ? pcap : good).size()) << "more than there was";
      if (reading.fault.empty()) {
        ++whole;
        continue;
      }
      ++faults;
      EXPECT_EQ(reading.fault_packet, reading.packets.size() + 1);
      EXPECT_TRUE(reading.fault.starts_with("day.pcap: ")) << reading.fault;
    }
    EXPECT_GT(refused, 0) << "the first bytes say what it is";
    EXPECT_GT(faults, 0);
    EXPECT_GT(whole, 0) << "times and contents are not checked";
  }
}

TEST(PcapSource, tells_how_far_it_is) {
  const std::string file = pcap_header() + pcap_record(1, 2, "first") + pcap_record(3, 4, "second");
  auto opened = open_capture(memory_file(file), "day.pcap");
  ASSERT_TRUE(opened.ok());
  const auto source = std::move(opened).value();
  EXPECT_EQ(source->name(), "day.pcap");
  EXPECT_EQ(source->progress().bytes_total, file.size());
  EXPECT_EQ(source->progress().bytes_done, 24U);
  Packet packet;
  while (source->next(packet) == Next::Packet) {
  }
  EXPECT_EQ(source->progress().bytes_done, file.size());
}

}  // namespace stopbit::ingest::pcap_source_test
