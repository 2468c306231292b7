-- What Wireshark sees: protocol, fields, preferences; and the state that lives on from packet to packet.
--
-- Packets may be dissected again, in any order. On the first visit of a datagram whose meaning depends on earlier ones,
-- what it found in the dictionary is kept; a later visit decodes it with just that.

local floor = math.floor

-- More rows than these would make Wireshark give the packet up.
local MAX_ROWS = 100000

feed.steps = engine.compile(feed)

local is_made, proto = pcall(Proto, feed.name, feed.title)
if not is_made then
  error("Wireshark has a protocol '" .. feed.name .. "' already: make this dissector with another --name", 0)
end
local own = {
  sequence = ProtoField.uint64(feed.name .. ".sequence", "Sequence number"),
  chunk = ProtoField.uint32(feed.name .. ".chunk", "Chunk"),
  chunks = ProtoField.uint32(feed.name .. ".chunks", "Chunks"),
  sender = ProtoField.uint64(feed.name .. ".sender", "Sender"),
  sending_time = ProtoField.uint64(feed.name .. ".sending_time", "Sending time"),
  pmap = ProtoField.string(feed.name .. ".pmap", "Presence map"),
  template = ProtoField.string(feed.name .. ".template", "Template"),
  template_id = ProtoField.uint32(feed.name .. ".template_id", "Template identifier"),
  error = ProtoField.string(feed.name .. ".error", "Error"),
  error_offset = ProtoField.uint32(feed.name .. ".error.offset", "Byte"),
  error_template = ProtoField.string(feed.name .. ".error.template", "Template"),
  error_field = ProtoField.string(feed.name .. ".error.field", "Field"),
  error_line = ProtoField.string(feed.name .. ".error.line", "Template file"),
  undecoded = ProtoField.bytes(feed.name .. ".undecoded", "Not decoded"),
}
local experts = {
  malformed = ProtoExpert.new(
    feed.name .. ".malformed",
    "Malformed FAST",
    expert.group.MALFORMED,
    expert.severity.ERROR
  ),
  dropped = ProtoExpert.new(
    feed.name .. ".dropped",
    "Not decoded after an error",
    expert.group.SEQUENCE,
    expert.severity.WARN
  ),
  incomplete = ProtoExpert.new(
    feed.name .. ".incomplete",
    "Message with missing chunks",
    expert.group.REASSEMBLE,
    expert.severity.WARN
  ),
  cut = ProtoExpert.new(
    feed.name .. ".cut",
    "Datagram cut by the capture",
    expert.group.UNDECODED,
    expert.severity.WARN
  ),
  truncated = ProtoExpert.new(
    feed.name .. ".not_shown",
    "Not everything is shown",
    expert.group.UNDECODED,
    expert.severity.NOTE
  ),
}

-- ---------------------------------------------------------------------------------------------------------------------
-- Fields of the templates

local function as_int64(value)
  local high, low = integer.split(value)
  return Int64.new(low, high % 4294967296)
end

local function as_uint64(value)
  local high, low = integer.split(value)
  return UInt64.new(low, high)
end

local function as_is(value) return value end

-- By type of a node: how a field is made, and the value Wireshark filters by.
local KINDS = {
  I8 = { ProtoField.int32, as_is },
  U8 = { ProtoField.uint32, as_is },
  I16 = { ProtoField.int32, as_is },
  U16 = { ProtoField.uint32, as_is },
  I32 = { ProtoField.int32, as_is },
  U32 = { ProtoField.uint32, as_is },
  I64 = { ProtoField.int64, as_int64 },
  U64 = { ProtoField.uint64, as_uint64 },
  TIME = { ProtoField.int64, as_int64 },
  SET = { ProtoField.uint64, as_uint64 },
  BOOLEAN = { ProtoField.bool, function(value) return value ~= 0 end },
}
local DECIMAL, TEXT, ENUM = ProtoField.double, ProtoField.string, ProtoField.uint32

-- The names of an enumeration by value, made once.
local value_strings = {}
local function value_string(index)
  if not value_strings[index] then
    local elements, names = feed.types[index], {}
    for i = 0, elements.count - 1 do
      names[i] = elements[i].name
    end
    value_strings[index] = names
  end
  return value_strings[index]
end

local function new_field(node)
  local filter, label = feed.name .. "." .. node.filter, node.name ~= "" and node.name or "Value"
  if node.kind == "group" then return ProtoField.none(filter, label) end
  if node.kind == "sequence" then return ProtoField.uint32(filter, label) end
  if node.kind == "reference" then return TEXT(filter, label) end
  if node.type == "DECIMAL" then return DECIMAL(filter, label) end
  if node.type == "ENUM" then return ENUM(filter, label, base.DEC, value_string(node.elements)) end
  return (KINDS[node.type] and KINDS[node.type][1] or TEXT)(filter, label)
end

-- Nodes of one name share a field.
local fields, all = {}, {}
for _, field in pairs(own) do
  all[#all + 1] = field
end
local function declare(node)
  if not fields[node.filter] then
    fields[node.filter] = new_field(node)
    all[#all + 1] = fields[node.filter]
  end
  node.field = fields[node.filter]
  for _, inner in ipairs(node) do
    declare(inner)
  end
end
for index = 0, feed.template_count - 1 do
  local template = feed.templates[index]
  template.field = ProtoField.none(feed.name .. "." .. template.filter, template.name)
  all[#all + 1] = template.field
  for _, node in ipairs(template) do
    declare(node)
  end
end
proto.fields = all
local all_experts = {}
for _, entry in pairs(experts) do
  all_experts[#all_experts + 1] = entry
end
proto.experts = all_experts

-- ---------------------------------------------------------------------------------------------------------------------
-- Preferences

local framing_choices = { { 1, "as generated", 0 } }
for i, preset in ipairs(feed.presets) do
  framing_choices[i + 1] = { i + 1, preset.name, i }
end
local RESETS = { "packet", "template", "never" }

proto.prefs.ports = Pref.range("UDP ports", feed.ports, "Ports of the feed, such as 7000,7002-7010", 65535)
proto.prefs.framing =
  Pref.enum("Framing", 0, "Preamble of the datagrams", framing_choices, false)
proto.prefs.reset = Pref.enum("Reset of the dictionary", 0, "When previous values are forgotten", {
  { 1, "as the framing says", 0 },
  { 2, "before every datagram", 1 },
  { 3, "by templates with the reset attribute", 2 },
  { 4, "never", 3 },
}, false)
proto.prefs.strict = Pref.bool("Strict", feed.strict, "Also refuse what FAST calls reportable errors (R2, R6 to R9)")

local frame, options

local function read_preferences()
  frame = feed.presets[proto.prefs.framing] or feed.framing
  options = {
    reset = RESETS[proto.prefs.reset] or frame.reset,
    strict = proto.prefs.strict,
    max_bytes = feed.limits.datagram_bytes,
    max_elements = feed.limits.elements,
    max_empty_elements = feed.limits.empty_elements,
    max_nesting = feed.limits.nesting,
    max_string = feed.limits.string_bytes,
  }
end

local udp = DissectorTable.get("udp.port")
local registered = ""
local function register_ports()
  local ports = tostring(proto.prefs.ports)
  if ports == registered then return end
  if registered ~= "" then udp:remove(registered, proto) end
  if ports ~= "" then udp:add(ports, proto) end
  registered = ports
end

-- ---------------------------------------------------------------------------------------------------------------------
-- State

local channels -- by group: destination address and port
local visits -- by datagram: what its first visit found

function proto.init()
  channels, visits = {}, {}
end

function proto.prefs_changed()
  read_preferences()
  register_ports()
end

local function group_of(pinfo) return tostring(pinfo.dst) .. ":" .. pinfo.dst_port end

local function channel_of(pinfo)
  local group = group_of(pinfo)
  local is_new = channels[group] == nil
  if is_new then channels[group] = { entries = {} } end
  return channels[group], is_new
end

local function copy(entries)
  local result = {}
  for slot, entry in pairs(entries) do
    result[slot] = entry
  end
  return result
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Rows of the packet tree

-- What a dissection has at hand, `view`: data and the Tvb it comes from, `source`; root row; rows left; names of the
-- messages and a note, for the summary.

local GENERATED = { source = "generated" } -- an item without bytes

local function range_of(source, first, last) return source:range(first - 1, last - first + 1) end

local function add(view, parent, field, item, value, label)
  local row
  if item.first and not item.source then
    local range = range_of(view.source, item.first, item.last)
    if value == nil then
      row = parent:add(field, range)
    else
      row = parent:add(field, range, value)
    end
  else
    if value == nil then
      row = parent:add(field)
    else
      row = parent:add(field, value)
    end
    row:set_generated()
  end
  row:set_text(label)
  return row
end

local function add_text(view, parent, item, label)
  if item.first then return parent:add(range_of(view.source, item.first, item.last), label) end
  return parent:add(label)
end

local function add_map(view, parent, map)
  local bits = {}
  for index = 0, (map.last - map.first + 1) * 7 - 1 do
    bits[#bits + 1] = engine.bit_of(view.data, map, index) and "1" or "0"
  end
  local shown = table.concat(bits)
  add(view, parent, own.pmap, map, shown, "Presence map: " .. shown)
end

-- Time stamps that count from 1970 have a date.
local UNITS = { day = 1 / 86400, second = 1, millisecond = 1000, microsecond = 1000000, nanosecond = 1000000000 }
local function date_of(node, value)
  if node.type ~= "TIME" or node.epoch ~= "unix" then return "" end
  local seconds = floor(integer.approximate(value) / UNITS[node.unit])
  if seconds < 0 or seconds > 253402300799 then return "" end
  return " (" .. os.date("!%Y-%m-%d %H:%M:%S", seconds) .. " UTC)"
end

local add_items

local function add_message_head(view, row, item)
  add_map(view, row, item.map)
  local place = item.id_place or {}
  add(
    view,
    row,
    own.template_id,
    { first = place[1], last = place[2], source = not item.id_place and "dictionary" or nil },
    item.id,
    "Template identifier: " .. integer.text(item.id)
  )
end

local function title_of(template) return template.name .. " (id " .. integer.text(template.id) .. ")" end

local function add_item(view, parent, item, number)
  local node = item.node
  if item.element then
    local row = add_text(view, parent, item, node.name .. "[" .. item.element .. "]")
    if item.map then add_map(view, row, item.map) end
    add_items(view, row, item.items)
  elseif node.kind == "group" then
    add_items(view, add(view, parent, node.field, item, nil, node.name), item.items)
  elseif node.kind == "sequence" then
    local label = node.length_name and node.name .. " (" .. node.length_name .. "): " or node.name .. ": "
    add_items(view, add(view, parent, node.field, item, item.value, label .. integer.text(item.value)), item.items)
  elseif node.kind == "reference" then
    local row = add(view, parent, node.field, item, item.template.name, node.name .. ": " .. title_of(item.template))
    add_message_head(view, row, item)
    add_items(view, row, item.items)
  else
    local value = item.text
    if node.type == "DECIMAL" then
      -- Dividing keeps the value exact where it can be: powers of ten are, up to 10^22.
      value = integer.approximate(item.value)
      value = item.exponent < 0 and value / 10 ^ -item.exponent or value * 10 ^ item.exponent
    elseif node.type == "ENUM" then
      value = item.value
    elseif KINDS[node.type] then
      value = KINDS[node.type][2](item.value)
    end
    local name = node.name ~= "" and node.name or "[" .. number .. "]"
    add(view, parent, node.field, item, value, name .. ": " .. item.text .. date_of(node, item.value))
  end
end

function add_items(view, parent, items)
  for number, item in ipairs(items) do
    add_item(view, parent, item, number)
  end
end

local function add_message(view, message)
  if message.template then view.names[#view.names + 1] = feed.templates[message.template].name end
  if view.rows_left == 0 then return end
  local item
  item, view.rows_left = record.read(feed, message, view.rows_left - 1)
  if not item then return end
  local title = title_of(item.template) .. (message.complete and "" or ", incomplete")
  local row = add(view, view.root, item.template.field, item, nil, title)
  local name_row = row:add(own.template, item.template.name)
  name_row:set_generated()
  add_message_head(view, row, item)
  add_items(view, row, item.items)
end

local function add_undecoded(view, parent, first)
  if first > #view.data then return end
  parent:add(own.undecoded, range_of(view.source, first, #view.data))
end

local function add_failure(view, failure)
  local template = failure.template and feed.templates[failure.template]
  local place, node = record.place(feed, failure)
  local code, offset = failure.code, integer.text(failure.offset)
  local what = feed.errors[code] or "the data is malformed"
  if code == "D9" then what = what .. " " .. integer.text(failure.id) end
  if template then what = what .. ", in template '" .. template.name .. "'" end
  if place then what = what .. ", field '" .. place .. "'" end
  what = what .. ", at byte " .. offset .. " [" .. code .. "]"

  local first = math.min(failure.offset + 1, #view.data + 1)
  local row = add(view, view.root, own.error, { first = first, last = #view.data }, code, "Error: " .. what)
  add(view, row, own.error_offset, GENERATED, failure.offset, "Byte: " .. offset)
  if template then add(view, row, own.error_template, GENERATED, template.name, "Template: " .. template.name) end
  if place then add(view, row, own.error_field, GENERATED, place, "Field: " .. place) end
  local declared = node or template
  if declared and declared.line then
    local line = (feed.sources[declared.source] or "?") .. ":" .. integer.text(declared.line)
    add(view, row, own.error_line, GENERATED, line, "Template file: " .. line)
  end
  add_undecoded(view, row, first)
  view.root:add_proto_expert_info(experts.malformed, what)
  view.note = "[" .. code .. "]"
end

local SENDING_TIME = { type = "TIME", epoch = "unix", unit = "nanosecond" }

local function add_preamble(view, preamble)
  local function head(field, name, value, place)
    if value == nil then return end
    local item = place and { first = place[1], last = place[2] } or GENERATED
    local is_small = field == own.chunk or field == own.chunks
    local label = name .. ": " .. integer.text(value)
    if field == own.sending_time then label = label .. date_of(SENDING_TIME, value) end
    add(view, view.root, field, item, is_small and value or as_uint64(value), label)
  end
  head(own.sequence, "Sequence number", preamble.sequence, preamble.sequence_place)
  head(own.chunks, "Chunks", preamble.chunks, preamble.chunks and { 5, 6 })
  head(own.chunk, "Chunk", preamble.chunk, preamble.chunk and { 7, 8 })
  head(own.sender, "Sender", preamble.sender)
  head(own.sending_time, "Sending time", preamble.sending_time, preamble.sending_time_place)
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Datagrams

-- Decodes the messages of data[first, last] and shows them. True if the rest of the datagram is to be dropped.
local function decode(view, state, first, last)
  local messages = {}
  local failure = engine.decode(feed, options, state, view.data, first, last, messages)
  for _, message in ipairs(messages) do
    add_message(view, message)
  end
  if not failure then return false end
  if failure.dropped then
    local since = "an error in packet " .. state.waits
    view.root:add_proto_expert_info(experts.dropped, "Not decoded: after " .. since .. ", this group waits for a reset")
    add_undecoded(view, view.root, first)
    view.note = "[not decoded after " .. since .. "]"
    return true
  end
  state.failed = true
  if failure.too_much_work then
    view.root:add_proto_expert_info(experts.truncated, "Not decoded to the end: it takes too much work here")
    add_undecoded(view, view.root, failure.offset + 1)
    view.note = "[not decoded to the end]"
    return true
  end
  add_failure(view, failure)
  return true
end

local function decode_data(view, state, preamble, last)
  if not frame.blocks then return decode(view, state, preamble.first, last) end
  local at = preamble.first
  while at <= last do
    local first, past, place = framing.block(view.data, at, last)
    if not first then
      add_failure(view, { code = past, offset = place - 1 })
      state.failed = true
      return
    end
    if decode(view, state, first, past) then return end
    at = past + 1
  end
end

-- What the datagram found: from its first visit, or, on that, from the channel.
local function visit_of(tvb, pinfo, channel)
  local key = pinfo.number .. " " .. tvb:offset() .. " " .. group_of(pinfo)
  local visit = visits[key]
  -- A number alone does not say so: packets that a read filter drops give theirs to the next one.
  if visit and pinfo.visited then return visit, false end
  visit = { waits = channel.waits, inputs = {} }
  visits[key] = visit
  return visit, true
end

-- Joins the chunks of a message. @returns the data to decode, nil if there is none yet
local function join(view, tvb, channel, visit, is_first, preamble)
  if is_first then
    visit.chunk_state, visit.whole, visit.gave_up = framing.join(channel, view.data, preamble)
  end
  if visit.gave_up then
    view.root:add_proto_expert_info(experts.incomplete, "A message of this group before this one lacks chunks")
  end
  if visit.chunk_state == "complete" then
    if preamble.chunks > 1 then
      local name = "FAST message of " .. integer.text(preamble.chunks) .. " chunks"
      view.source = ByteArray.new(visit.whole, true):tvb(name)
      view.data = visit.whole
    end
    return preamble.chunks > 1 and #visit.whole or preamble.last
  end
  view.note = "[chunk " .. integer.text(preamble.chunk) .. " of " .. integer.text(preamble.chunks) .. "]"
  if visit.chunk_state == "orphan" then
    view.root:add_proto_expert_info(experts.incomplete, "The chunks before this one are missing")
  elseif visit.chunk_state == "too long" then
    view.root:add_proto_expert_info(experts.incomplete, "The message is longer than 65536 bytes")
  end
  add_undecoded(view, view.root, preamble.first)
  return nil
end

-- The names of the messages, equal ones in a row counted.
local function summary(view, preamble)
  local parts = {}
  if preamble and preamble.sequence then parts[1] = "Seq=" .. integer.text(preamble.sequence) end
  local at = 1
  while at <= #view.names and #parts < 20 do
    local past = at
    while view.names[past + 1] == view.names[at] do
      past = past + 1
    end
    parts[#parts + 1] = past > at and view.names[at] .. " x" .. (past - at + 1) or view.names[at]
    at = past + 1
  end
  if at <= #view.names then parts[#parts + 1] = "..." end
  parts[#parts + 1] = view.note
  return table.concat(parts, " ")
end

local function dissect(view, tvb, pinfo)
  local channel, is_new = channel_of(pinfo)
  local resets = options.reset == "packet"
  -- A datagram that stands for itself needs no memory.
  local visit, is_first = {}, true
  if not resets or frame.kind == "b3" then
    visit, is_first = visit_of(tvb, pinfo, channel)
  end

  -- Data was lost: unless each datagram stands for itself, what follows waits for a reset.
  local function invalidate()
    if is_first and not resets then channel.waits = pinfo.number end
  end

  if tvb:len() < tvb:reported_len() then
    local what = "Cut by the capture: " .. tvb:len() .. " of " .. tvb:reported_len() .. " bytes captured"
    view.root:add_proto_expert_info(experts.cut, what)
    add_undecoded(view, view.root, 1)
    view.note = "[cut by the capture]"
    if is_new then
      channels[group_of(pinfo)] = nil -- nothing of it is known yet that could be lost
    else
      invalidate()
    end
    return nil
  end
  local preamble = framing.read(frame, view.data)
  if not preamble then
    add_failure(view, { code = "X9", offset = #view.data })
    add_undecoded(view, view.root, 1)
    return invalidate()
  end
  add_preamble(view, preamble)
  local last = preamble.last
  if frame.kind == "b3" then
    last = join(view, tvb, channel, visit, is_first, preamble)
    if not last then return preamble end
  end

  local state
  if resets then
    state = { entries = {} }
  elseif is_first then
    state = { entries = channel.entries, waits = visit.waits, inputs = visit.inputs, known = {} }
  else
    state = { entries = copy(visit.inputs), waits = visit.waits }
  end
  decode_data(view, state, preamble, last)
  if is_first and not resets then
    channel.entries = state.entries
    channel.waits = state.failed and pinfo.number or state.waits
  end
  return preamble
end

function proto.dissector(tvb, pinfo, tree)
  if not channels then proto.init() end
  local view = {
    data = tvb:raw(),
    source = tvb,
    root = tree:add(proto, tvb:range()),
    rows_left = MAX_ROWS,
    names = {},
  }
  local preamble = dissect(view, tvb, pinfo)
  if view.rows_left == 0 then
    view.root:add_proto_expert_info(experts.truncated, "Only the first " .. MAX_ROWS .. " fields are shown")
  end
  pinfo.cols.protocol = proto.name
  pinfo.cols.info = summary(view, preamble)
  return tvb:len()
end

read_preferences()
register_ports()
udp:add_for_decode_as(proto)
