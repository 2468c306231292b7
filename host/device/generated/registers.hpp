#pragma once

#include <cstdint>

/// The kernel's registers: byte offsets in its window. The page for people is fpga/kernel/generated/registers.md.
/// Made by fpga/kernel/generate.py from registers.toml: change that.
namespace stopbit::device::registers {

inline constexpr const char* kKernelName = "stopbit_decoder";
inline constexpr std::uint32_t kWindowBytes = 65536;
inline constexpr std::uint32_t kIdValue = 0x54494253;
inline constexpr std::uint32_t kInterfaceVersionValue = 0x00000005;

/// SBIT.
inline constexpr std::uint32_t kId = 0x010;
/// Of this list.
inline constexpr std::uint32_t kInterfaceVersion = 0x014;
/// What the decode core can run; an image that needs more is refused by the host.
inline constexpr std::uint32_t kCapabilities = 0x018;
/// Decode cores, 1, 2 or 4; channel n is decoded by core n modulo this number.
inline constexpr std::uint32_t kEngines = 0x01C;
/// What the kernel does.
inline constexpr std::uint32_t kControl = 0x020;
/// Packets on s_axis_rx are taken; else they are dropped there and counted.
inline constexpr std::uint32_t kControlReceive = 1U << 0;
/// How it is.
inline constexpr std::uint32_t kStatus = 0x024;
/// Nothing is on its way from s_axis_rx to memory, since 64 cycles.
inline constexpr std::uint32_t kStatusIdle = 1U << 0;
/// What went wrong since it was last cleared.
inline constexpr std::uint32_t kErrors = 0x028;
/// A register that is not there was written, or a part of one.
inline constexpr std::uint32_t kErrorsBadAccess = 1U << 0;
/// Memory refused a write of m_axi_ring: the ring's content is unknown.
inline constexpr std::uint32_t kErrorsWriteError = 1U << 1;
/// A ring was started with values that make no sense, or before it had come to rest.
inline constexpr std::uint32_t kErrorsRingRefused = 1U << 2;
/// A ring's list of segments makes no sense or could not be read; the ring has ended.
inline constexpr std::uint32_t kErrorsRingBroken = 1U << 3;
/// A datagram was longer than the kernel takes, and was cut.
inline constexpr std::uint32_t kErrorsOversized = 1U << 4;
/// The host gave a ring in mode 2 no credit for its credit_timeout.
inline constexpr std::uint32_t kErrorsRingStarved = 1U << 5;
/// A record was longer than the filter's memory, and was dropped.
inline constexpr std::uint32_t kErrorsRecordTooLong = 1U << 6;
/// A request of group remote was refused: values that make no sense, an earlier one that is not done, or no such part
/// in this kernel.
inline constexpr std::uint32_t kErrorsRemoteRefused = 1U << 7;
/// A frame of station.send was refused: no bytes, more than were written, or written while the last one waited.
inline constexpr std::uint32_t kErrorsSendRefused = 1U << 8;
/// What s_axis_rx carries. Changed only while nothing is received and status.idle.
inline constexpr std::uint32_t kIntake = 0x02C;
/// Ethernet frames, of which the datagrams of the groups are taken; else the payload of datagrams, whose channel is
/// s_axis_rx_tdest.
inline constexpr std::uint32_t kIntakeFrames = 1U << 0;
/// Frames: they end with their FCS, which is checked; else they come without it.
inline constexpr std::uint32_t kIntakeFcs = 1U << 1;
/// Frames: one whose IPv4 header has a wrong checksum is dropped.
inline constexpr std::uint32_t kIntakeCheckHeader = 1U << 2;
/// A frame without room is dropped and counted; else s_axis_rx waits.
inline constexpr std::uint32_t kIntakeDropWhenFull = 1U << 3;
/// Frames: the first bytes go on before the last has come; a bad frame ends as a datagram that was cut.
inline constexpr std::uint32_t kIntakeCutThrough = 1U << 4;
/// Where arrival times come from.
inline constexpr std::uint32_t kClockSource = 0x030;
/// From s_axis_rx_tuser; else from the kernel's clock, at the datagram's first beat.
inline constexpr std::uint32_t kClockSourceSideBand = 1U << 0;
/// Bytes before the first message of a datagram whose channel has no framing, at most 65535.
inline constexpr std::uint32_t kPreambleBytes = 0x048;
/// What records say of where they come from.
inline constexpr std::uint32_t kDatagramMarks = 0x04C;
/// record::SourceLine.
inline constexpr std::uint32_t kDatagramMarksSourceShift = 0;
/// record::TimeQuality.
inline constexpr std::uint32_t kDatagramMarksTimeQualityShift = 8;
/// Of the group that group_write writes: the sender's IPv4 address, if only its frames are wanted.
inline constexpr std::uint32_t kGroupSource = 0x050;
/// Of that group: its IPv4 address.
inline constexpr std::uint32_t kGroupAddress = 0x054;
/// Of that group:
inline constexpr std::uint32_t kGroupTarget = 0x058;
/// its UDP port,
inline constexpr std::uint32_t kGroupTargetPortShift = 0;
/// the channel of its datagrams.
inline constexpr std::uint32_t kGroupTargetChannelShift = 16;
/// Writes an entry of the table of groups. The first entry that fits a frame counts.
inline constexpr std::uint32_t kGroupWrite = 0x05C;
/// Index of the entry.
inline constexpr std::uint32_t kGroupWriteIndexShift = 0;
/// record::SourceLine of its datagrams.
inline constexpr std::uint32_t kGroupWriteLineShift = 8;
/// From any source; group_source does not matter.
inline constexpr std::uint32_t kGroupWriteAnySource = 1U << 16;
/// Else the entry is empty.
inline constexpr std::uint32_t kGroupWriteValid = 1U << 17;
/// Of the framing that framing_write writes, if its kind is 0: fields of the preamble.
inline constexpr std::uint32_t kFramingFields = 0x060;
/// Sequence number: its place;
inline constexpr std::uint32_t kFramingFieldsSequenceOffsetShift = 0;
/// 0 (none), 2, 4 or 8; it ends within 48 bytes;
inline constexpr std::uint32_t kFramingFieldsSequenceBytesShift = 6;
/// its order.
inline constexpr std::uint32_t kFramingFieldsSequenceBigEndian = 1U << 10;
/// How many bytes of data follow the preamble: its place;
inline constexpr std::uint32_t kFramingFieldsLengthOffsetShift = 16;
/// 0 (none), 2, 4 or 8; it ends within 48 bytes;
inline constexpr std::uint32_t kFramingFieldsLengthBytesShift = 22;
/// its order.
inline constexpr std::uint32_t kFramingFieldsLengthBigEndian = 1U << 26;
/// Writes the framing of a channel, of which nothing may be on its way, and forgets its sender.
inline constexpr std::uint32_t kFramingWrite = 0x064;
/// Number of the channel.
inline constexpr std::uint32_t kFramingWriteChannelShift = 0;
/// 0: fields at fixed places; 1: b3; 2: t7.
inline constexpr std::uint32_t kFramingWriteKindShift = 8;
/// Else the channel has none: preamble_bytes are skipped.
inline constexpr std::uint32_t kFramingWriteValid = 1U << 10;
/// Kind 0: bytes before the first message.
inline constexpr std::uint32_t kFramingWriteSkipShift = 16;
/// Writes how the copies of a channel's datagrams are chosen, and forgets its numbers.
inline constexpr std::uint32_t kRuleWrite = 0x068;
/// Number of the channel.
inline constexpr std::uint32_t kRuleWriteChannelShift = 0;
/// The first copy of each sequence number passes; else all datagrams pass.
inline constexpr std::uint32_t kRuleWriteEnable = 1U << 8;
/// Number 1 after a higher one begins a cycle.
inline constexpr std::uint32_t kRuleWriteCarousel = 1U << 9;
/// Numbers at most this far below the highest are known; older ones count as late.
inline constexpr std::uint32_t kRuleWriteWindowShift = 16;
/// To which rings records go. Changed only while status.idle.
inline constexpr std::uint32_t kRouting = 0x06C;
/// As the filters say; else all to ring 0, without waiting for their end.
inline constexpr std::uint32_t kRoutingFilter = 1U << 0;
/// What no filter wants goes to ring 0; else nowhere, and is counted.
inline constexpr std::uint32_t kRoutingUnmatched = 1U << 1;
/// Nanoseconds a cycle, as a fixed-point number with 24 fractional bits. 0 stops the clock.
inline constexpr std::uint32_t kClockRate = 0x034;
/// Nanoseconds, signed: what is added to the counted time. The host disciplines the clock with rate and offset.
inline constexpr std::uint32_t kClockOffset = 0x038;
/// The kernel's clock, offset included: nanoseconds.
inline constexpr std::uint32_t kClockNow = 0x040;
/// Bank that words are loaded to, 0 or 1. The other one keeps running; its channels are moved by the table of channels.
inline constexpr std::uint32_t kFirmwareBank = 0x080;
/// Address of the next word, as in stopbit_pkg (table in bits 19 to 16).
inline constexpr std::uint32_t kFirmwareAddress = 0x084;
/// A word; the address moves on by one.
inline constexpr std::uint32_t kFirmwareData = 0x088;
/// CRC-32C of all words taken since firmware_clear: for each its address and the word itself, little-endian. Bit 31 of
/// an address is the bank.
inline constexpr std::uint32_t kFirmwareCrc = 0x08C;
/// How many these are.
inline constexpr std::uint32_t kFirmwareWords = 0x090;
/// Clears firmware_crc, firmware_words and verified_crc.
inline constexpr std::uint32_t kFirmwareClear = 0x094;
/// Reads this many words back, from firmware_address on, from the memories that the decode core runs from.
inline constexpr std::uint32_t kFirmwareVerify = 0x098;
/// Words that are still to be read back.
inline constexpr std::uint32_t kVerifyLeft = 0x09C;
/// CRC-32C of all words read back since firmware_clear, made as firmware_crc.
inline constexpr std::uint32_t kVerifiedCrc = 0x0A0;
/// The last word read back.
inline constexpr std::uint32_t kVerifiedWord = 0x0A4;
/// Datagrams that came from s_axis_rx and were taken: of frames, those of the groups.
inline constexpr std::uint32_t kDatagrams = 0x100;
/// Bytes in them.
inline constexpr std::uint32_t kDatagramBytes = 0x108;
/// Datagrams or frames that came while the kernel did not receive.
inline constexpr std::uint32_t kDatagramsDropped = 0x110;
/// Records that left the decode core, for any ring.
inline constexpr std::uint32_t kRecords = 0x118;
/// Records that the decode core gave up: an event record follows each.
inline constexpr std::uint32_t kRecordsWithdrawn = 0x120;
/// Datagrams that the decode core has decoded to their end, or given up; each gap counts as one.
inline constexpr std::uint32_t kDatagramsDecoded = 0x128;
/// Instructions that the decode core has executed.
inline constexpr std::uint32_t kInstructions = 0x130;
/// Datagrams with a part of a message only (b3): each that passes the choice of lines becomes an event record.
inline constexpr std::uint32_t kChunks = 0x138;
/// Datagrams of channels with a choice of lines: first copies,
inline constexpr std::uint32_t kLinePassed = 0x140;
/// copies of what had passed,
inline constexpr std::uint32_t kLineDuplicates = 0x148;
/// and packets after a higher number. Both are dropped.
inline constexpr std::uint32_t kLineLate = 0x150;
/// Runs of sequence numbers that were missing: an event record for each.
inline constexpr std::uint32_t kGaps = 0x158;
/// Sequence numbers in them.
inline constexpr std::uint32_t kNumbersMissing = 0x160;
/// Records that no filter wanted.
inline constexpr std::uint32_t kRecordsUnmatched = 0x168;

/// Of one verdict: offsets from its base.
namespace verdict {
inline constexpr std::uint32_t kCount = 18;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x200 + index * 0x8;
}
/// Frames of which this became: numbers of host/feed/packet/verdict.def; 14 wrong checksum of the IPv4 header, 15 the
/// MAC or the FCS says bad, 16 of no group, 17 no room.
inline constexpr std::uint32_t kFrames = 0x000;
}  // namespace verdict

/// Of one ring: offsets from its base.
namespace ring {
inline constexpr std::uint32_t kCount = 8;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x400 + index * 0x100;
}
/// Begins or ends the ring.
inline constexpr std::uint32_t kCommand = 0x000;
/// Begins it, with the values below. Its memory is zero, its header filled in.
inline constexpr std::uint32_t kCommandStart = 1U << 0;
/// Ends it. Records on their way are still written: wait for status.idle.
inline constexpr std::uint32_t kCommandStop = 1U << 1;
/// How the ring is.
inline constexpr std::uint32_t kState = 0x004;
/// It takes records.
inline constexpr std::uint32_t kStateRunning = 1U << 0;
/// Mode 2: the host gave no credit for credit_timeout cycles; records are dropped until it does.
inline constexpr std::uint32_t kStateStarved = 1U << 1;
/// Address of the ring's header (host/ring/ring.md), a multiple of 4096.
inline constexpr std::uint32_t kHeader = 0x008;
/// Address of the list of segments, a multiple of 64: for each its address (u64, a multiple of 64), slots (u32) and
/// zero (u32).
inline constexpr std::uint32_t kDescriptors = 0x010;
/// Length of the list. All slots in it are as many as the ring's.
inline constexpr std::uint32_t kSegments = 0x018;
/// The ring has 2 to the power of this slots: 4 to 28.
inline constexpr std::uint32_t kSlotsLog2 = 0x01C;
/// Of the longest record, at most an eighth of the ring.
inline constexpr std::uint32_t kMaxRecordSlots = 0x020;
/// What it waits for: 1 nothing; 2 the host's credit, records wait; 3 the host's credit, records are dropped.
inline constexpr std::uint32_t kMode = 0x024;
/// Slots below this number may be claimed, in modes 2 and 3: what the reader is at, plus the ring's slots. Only grows.
inline constexpr std::uint32_t kCredit = 0x028;
/// Cycles after which a record whose next slot does not come is withdrawn; 0 waits for ever. That of ring 0 counts for
/// all.
inline constexpr std::uint32_t kTimeout = 0x030;
/// Mode 2: cycles that a record waits for credit; then the ring drops until there is room for five of its longest
/// records. 0 waits for ever; the other rings do so when the router's memory is full, without filters at once.
inline constexpr std::uint32_t kCreditTimeout = 0x034;
/// Number of the slot after the last record.
inline constexpr std::uint32_t kNumber = 0x040;
/// Slots below this number may be written at any time.
inline constexpr std::uint32_t kClaim = 0x048;
/// Records published.
inline constexpr std::uint32_t kRecords = 0x050;
/// Records that found no room, or the ring not running.
inline constexpr std::uint32_t kDropped = 0x058;
/// Records that were begun and taken back.
inline constexpr std::uint32_t kWithdrawn = 0x060;
/// Cycles in which a record waited for credit.
inline constexpr std::uint32_t kStalled = 0x068;
/// Of the withdrawn ones, those whose slots did not come in time.
inline constexpr std::uint32_t kTimeouts = 0x070;
/// Of the withdrawn ones, those whose slots contradicted each other.
inline constexpr std::uint32_t kMalformed = 0x074;
}  // namespace ring

/// Of one filter: offsets from its base.
namespace filter {
inline constexpr std::uint32_t kCount = 16;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x1000 + index * 0x20;
}
/// What the filter looks at. Changed only while status.idle, but subscribers at any time: it counts for records that
/// end later.
inline constexpr std::uint32_t kControl = 0x000;
/// Else it wants nothing.
inline constexpr std::uint32_t kControlEnable = 1U << 0;
/// Records of any channel; else of key.channel.
inline constexpr std::uint32_t kControlAnyChannel = 1U << 1;
/// Records of any template; else of key.template_index. Event records are of every template and have every value.
inline constexpr std::uint32_t kControlAnyTemplate = 1U << 2;
/// Word of the record's root block, if mask is not 0: it must be there (its tag says so).
inline constexpr std::uint32_t kControlWordShift = 8;
/// Where it sends what it wants: a bit for each ring.
inline constexpr std::uint32_t kControlRingsShift = 16;
/// The same for subscribers on other nodes, whatever routing says.
inline constexpr std::uint32_t kControlSubscribersShift = 24;
/// Whose records it wants.
inline constexpr std::uint32_t kKey = 0x004;
/// Channel.
inline constexpr std::uint32_t kKeyChannelShift = 0;
/// Template index.
inline constexpr std::uint32_t kKeyTemplateIndexShift = 16;
/// Bits of the word that are looked at; 0: none, every record of the key.
inline constexpr std::uint32_t kMask = 0x008;
/// What they have to be.
inline constexpr std::uint32_t kValue = 0x010;
}  // namespace filter

/// Of one remote: offsets from its base.
namespace remote {
inline constexpr std::uint32_t kCount = 1;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x2000 + index * 0x100;
}
/// Begins the ring whose records are sent.
inline constexpr std::uint32_t kCommand = 0x000;
/// Its positions begin anew, for slots_log2 and max_record_slots; done when no record waits. Refused while a subscriber
/// is open.
inline constexpr std::uint32_t kCommandStart = 1U << 0;
/// Opens or closes a subscriber, between two records; state.subscribing until then. Its accounts begin anew.
inline constexpr std::uint32_t kSubscribe = 0x004;
/// Which one.
inline constexpr std::uint32_t kSubscribeIndexShift = 0;
/// Opens it, by the registers peer to capability, which stay until it is done; else closes it: nothing more is sent.
inline constexpr std::uint32_t kSubscribeOpen = 1U << 8;
/// Sends a message without records, between two records; state.telling until then.
inline constexpr std::uint32_t kTell = 0x008;
/// To this subscriber.
inline constexpr std::uint32_t kTellIndexShift = 0;
/// That the ring has ended, after all records that wait; else how far it is.
inline constexpr std::uint32_t kTellEnds = 1U << 8;
/// How it has ended: a ring::WriterState.
inline constexpr std::uint32_t kTellHowShift = 16;
/// How it is.
inline constexpr std::uint32_t kState = 0x00C;
/// A start waits for the sender,
inline constexpr std::uint32_t kStateStarting = 1U << 0;
/// a subscribe,
inline constexpr std::uint32_t kStateSubscribing = 1U << 1;
/// a position, or the end.
inline constexpr std::uint32_t kStateTelling = 1U << 2;
/// The last position or end was sent: not to a subscriber that is closed, loses records, has no credit, or begins
/// later.
inline constexpr std::uint32_t kStateTold = 1U << 3;
/// Records wait.
inline constexpr std::uint32_t kStateWaiting = 1U << 4;
/// A bit for each subscriber that is open,
inline constexpr std::uint32_t kStateOpenShift = 8;
/// and that loses records until it gives credit.
inline constexpr std::uint32_t kStateLosingShift = 16;
/// How many the kernel can have; 0: it has no part that sends.
inline constexpr std::uint32_t kSubscribers = 0x010;
/// Of start: number of this node, from which packets are,
inline constexpr std::uint32_t kNode = 0x014;
/// generation of the image, in events of lost records;
inline constexpr std::uint32_t kGeneration = 0x018;
/// the ring has 2 to the power of this slots, 4 to 28,
inline constexpr std::uint32_t kSlotsLog2 = 0x01C;
/// and its longest record this many, at most an eighth of the ring.
inline constexpr std::uint32_t kMaxRecordSlots = 0x020;
/// Of subscribe: where the subscriber is,
inline constexpr std::uint32_t kPeer = 0x024;
/// its node,
inline constexpr std::uint32_t kPeerNodeShift = 0;
/// its port there.
inline constexpr std::uint32_t kPeerVpidShift = 16;
/// its window for the channel's slots,
inline constexpr std::uint32_t kLanding = 0x028;
/// the window's number,
inline constexpr std::uint32_t kLandingWindowShift = 0;
/// the event that each message signals, or 0.
inline constexpr std::uint32_t kLandingEventShift = 16;
/// how many slots the channel has, 33 to 65536,
inline constexpr std::uint32_t kChannelSlots = 0x02C;
/// bytes in each, at least 104; from 168 on it holds two slots of a record. The channel has less than 4 GiB.
inline constexpr std::uint32_t kSlotBytes = 0x030;
/// the port of this node that the records come from, and that gets the subscriber's credits,
inline constexpr std::uint32_t kOrigin = 0x034;
/// its number,
inline constexpr std::uint32_t kOriginPortShift = 0;
/// its domain.
inline constexpr std::uint32_t kOriginDomainShift = 16;
/// a number that refusals bring back,
inline constexpr std::uint32_t kLife = 0x038;
/// Subscriber whose accounts are shown.
inline constexpr std::uint32_t kStatusIndex = 0x03C;
/// Of subscribe: and the window's capability.
inline constexpr std::uint32_t kCapability = 0x040;
/// Where the subscriber begins that was opened last: number of a slot.
inline constexpr std::uint32_t kBegunNumber = 0x048;
/// Number of the slot after the last record of the ring.
inline constexpr std::uint32_t kPositionNumber = 0x050;
/// Records of the ring.
inline constexpr std::uint32_t kPositionRecords = 0x058;
/// Account of the subscriber status_index: records of the ring before it came,
inline constexpr std::uint32_t kBegun = 0x060;
/// messages sent to it,
inline constexpr std::uint32_t kMessages = 0x068;
/// records, events of lost ones among them,
inline constexpr std::uint32_t kRecords = 0x070;
/// slots of these,
inline constexpr std::uint32_t kSlots = 0x078;
/// and records of which an event says that they are lost.
inline constexpr std::uint32_t kLost = 0x080;
/// Records that found no room and are lost for all subscribers.
inline constexpr std::uint32_t kOverrun = 0x088;
/// Records that contradicted themselves, or were longer than max_record_slots: not part of the ring.
inline constexpr std::uint32_t kMalformed = 0x090;
/// Credits for more messages than a channel has slots: not counted.
inline constexpr std::uint32_t kSurplus = 0x094;
/// Signals that came and are no subscriber's credits.
inline constexpr std::uint32_t kStray = 0x098;
}  // namespace remote

/// Of one station: offsets from its base.
namespace station {
inline constexpr std::uint32_t kCount = 1;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x2400 + index * 0x100;
}
/// What it does.
inline constexpr std::uint32_t kControl = 0x000;
/// Of the frames at s_axis_rx, queries of IGMP and requests of ARP are kept for the host, while control.receive and
/// intake.frames.
inline constexpr std::uint32_t kControlListen = 1U << 0;
/// How it is.
inline constexpr std::uint32_t kState = 0x004;
/// A word of 64 bytes of a kept frame is shown in group piece;
inline constexpr std::uint32_t kStateKept = 1U << 0;
/// the frame's last one,
inline constexpr std::uint32_t kStateLast = 1U << 1;
/// A frame of the host has not left yet.
inline constexpr std::uint32_t kStateSending = 1U << 2;
/// with this many bytes.
inline constexpr std::uint32_t kStateBytesShift = 8;
/// Our own IPv4 address, for requests of ARP; 0: none.
inline constexpr std::uint32_t kAddress = 0x008;
/// 1: the shown word has been read.
inline constexpr std::uint32_t kNext = 0x00C;
/// Our own address of Ethernet: its first two bytes, the first one highest,
inline constexpr std::uint32_t kMacHigh = 0x010;
/// and the other four, likewise. Only frames to it or to groups are kept.
inline constexpr std::uint32_t kMacLow = 0x014;
/// The next four bytes of a frame of the host, the first one lowest; 2,048 bytes at most.
inline constexpr std::uint32_t kWord = 0x018;
/// Sends the words written since the last send as a frame, without FCS.
inline constexpr std::uint32_t kSend = 0x01C;
/// How long it is.
inline constexpr std::uint32_t kSendBytesShift = 0;
/// Frames kept for the host,
inline constexpr std::uint32_t kHeard = 0x020;
/// and those that found no room.
inline constexpr std::uint32_t kLost = 0x024;
/// Frames of the host that have left.
inline constexpr std::uint32_t kSent = 0x028;
}  // namespace station

/// Of one piece: offsets from its base.
namespace piece {
inline constexpr std::uint32_t kCount = 16;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x2500 + index * 0x4;
}
/// Of the shown word of a kept frame: four bytes, the first one lowest.
inline constexpr std::uint32_t kWord = 0x000;
}  // namespace piece

}  // namespace stopbit::device::registers
