-- The bytes before the first message of a datagram, as host/feed/framing/framing reads it.
--
-- A framing: kind "fixed", with skip, sequence and length {offset, bytes, "be" or "le"}, blocks; kind "b3"; kind "t7".
-- The preamble of a datagram: first and last byte of its data; sequence, if it has one, and its bytes; more by kind.

local byte, sub, floor = string.byte, string.sub, math.floor

local framing = {}

local B3_PREAMBLE_BYTES = 10
local MAX_MESSAGE_BYTES = 65536 -- of a message in chunks

-- Bytes as an unsigned integer.
local function unsigned(bytes, order)
  if order == "le" then bytes = bytes:reverse() end
  local high, low = 0, 0
  for i = 1, #bytes do
    low = low * 256 + byte(bytes, i)
    high = high * 256 + floor(low / 4294967296)
    low = low % 4294967296
  end
  return integer.make(high, low)
end

-- Nil if the datagram ends before it. No field at all: 0.
local function load(data, place)
  if not place then return 0 end
  local first, last = place[1] + 1, place[1] + place[2]
  if last > #data then return nil end
  return unsigned(sub(data, first, last), place[3]), first, last
end

local function read_fixed(frame, data)
  local sequence, first, last = load(data, frame.sequence)
  local length = load(data, frame.length)
  if #data < frame.skip or not sequence or not length then return nil end
  local preamble = { first = frame.skip + 1, last = #data }
  if frame.sequence then
    preamble.sequence, preamble.sequence_place = sequence, { first, last }
  end
  if frame.length then
    if integer.less(#data - frame.skip, length) then return nil end
    preamble.last = frame.skip + length
  end
  return preamble
end

local function read_b3(data)
  if #data < B3_PREAMBLE_BYTES then return nil end
  local length = unsigned(sub(data, 9, 10), "be")
  local preamble = {
    sequence = unsigned(sub(data, 1, 4), "be"),
    sequence_place = { 1, 4 },
    chunks = unsigned(sub(data, 5, 6), "be"),
    chunk = unsigned(sub(data, 7, 8), "be"),
    first = B3_PREAMBLE_BYTES + 1,
  }
  if preamble.chunk == 0 or preamble.chunk > preamble.chunks then return nil end
  -- Whether the length counts the preamble is not known; both readings are unmistakable.
  if length == #data then
    preamble.last = length
  elseif length <= #data - B3_PREAMBLE_BYTES then
    preamble.last = B3_PREAMBLE_BYTES + length
  else
    return nil
  end
  return preamble
end

-- A stop-bit entity of at most five bytes from `at`: its value, and the position after it.
local function short_entity(data, at)
  local value = 0
  for i = at, math.min(at + 4, #data) do
    local b = byte(data, i)
    value = value * 128 + b % 128
    if b >= 128 then return value, i + 1 end
  end
  return nil
end

-- Map, template identifier, [PartitionID,] SenderCompID, PacketSeqNum (4 bytes), SendingTime (8 bytes).
local function read_t7_header(data, has_partition)
  local sender
  local _, at = short_entity(data, 1)
  if not at or floor(byte(data, 1) / 64) % 2 == 0 then return nil end
  for _ = 1, has_partition and 3 or 2 do
    sender, at = short_entity(data, at)
    if not at then return nil end
  end
  if byte(data, at) ~= 0x84 or byte(data, at + 5) ~= 0x88 or #data < at + 13 then return nil end
  return {
    sequence = unsigned(sub(data, at + 1, at + 4), "be"),
    sequence_place = { at + 1, at + 4 },
    sender = sender,
    sending_time = unsigned(sub(data, at + 6, at + 13), "be"),
    sending_time_place = { at + 6, at + 13 },
    first = 1,
    last = #data,
  }
end

-- Nil if the datagram is too short for its preamble, or the preamble contradicts it: error X9.
function framing.read(frame, data)
  if frame.kind == "b3" then return read_b3(data) end
  -- With PartitionID first: the other way round, a SenderCompID of 4 looks like the length of PacketSeqNum.
  if frame.kind == "t7" then return read_t7_header(data, true) or read_t7_header(data, false) end
  return read_fixed(frame, data)
end

-- The next block of data[at, last]: first and last byte of its messages; or nil, a code and the place of its size.
function framing.block(data, at, last)
  local size, begin = 0, at
  local stopped = false
  while not stopped and at <= last do
    local b = byte(data, at)
    size = math.min(size * 128 + b % 128, 4294967296)
    stopped = b >= 128
    at = at + 1
  end
  if not stopped or size > last - at + 1 then return nil, "X1", begin end
  if size == 0 then return nil, "D12", begin end
  return at, at + size - 1
end

-- Puts the chunks of b3 messages together. `channel.pending` is what it has of a message.
-- @returns "complete", and the message with the preamble of its first chunk; "waiting", "orphan" or "too long"; and
--          whether a message begun before was given up.
function framing.join(channel, data, preamble)
  local pending = channel.pending
  local continues = pending
    and preamble.sequence == pending.sequence
    and preamble.chunks == pending.chunks
    and preamble.chunk == pending.next
  local gave_up = pending ~= nil and not continues
  if not continues then pending = nil end
  channel.pending = nil
  local whole = sub(data, 1, preamble.last)
  if preamble.chunks == 1 then return "complete", whole, gave_up end
  if not continues then
    if preamble.chunk ~= 1 then return "orphan", nil, gave_up end
    pending = { sequence = preamble.sequence, chunks = preamble.chunks, bytes = 0, parts = {} }
  end
  local piece = preamble.chunk == 1 and whole or sub(whole, preamble.first)
  if #piece > MAX_MESSAGE_BYTES - pending.bytes then return "too long", nil, gave_up end
  pending.bytes = pending.bytes + #piece
  pending.parts[#pending.parts + 1] = piece
  if preamble.chunk == preamble.chunks then return "complete", table.concat(pending.parts), gave_up end
  pending.next = preamble.chunk + 1
  channel.pending = pending
  return "waiting", nil, gave_up
end

return framing
