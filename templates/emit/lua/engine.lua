-- Runs the program of a feed over datagrams, instruction by instruction, as microcode/execution.md says. Every function
-- here has its counterpart in the reference engine, decoder/interp. Knows nothing of Wireshark.
--
-- Bytes are numbered from 1 in strings and from 0 in what people see.

local byte, find, sub, floor, char = string.byte, string.find, string.sub, math.floor, string.char

local STOP = "[\128-\255]"
local MAX_EXPONENT = 63
local MAX_MAPS, MAX_NESTING = 24, 8
local ELEMENTS_PER_BYTE = 8
-- The reference engine needs no such bound: it is some hundred times as fast. Far beyond what real datagrams take.
local MAX_STEPS = 4000000
local ROOT_BASE, REFERENCE_BASE = 4, 1 -- words of a record before a root block
local SLOT_WORDS, STRING_SLOT_BYTES, MAX_STRING_SLOTS = 7, 56, 255

-- `entry` is the type of an assigned dictionary entry, for D4.
local TYPES = {
  U32 = { signed = false, min = 0, max = 4294967295, entry = "U32" },
  S32 = { signed = true, min = -2147483648, max = 2147483647, entry = "S32" },
  U64 = { signed = false, min = 0, max = integer.make(4294967295, 4294967295), entry = "U64" },
  S64 = {
    signed = true,
    min = integer.make(-2147483648, 0),
    max = integer.make(2147483647, 4294967295),
    entry = "S64",
  },
  ASCII = { entry = "ASCII" },
  UNI = { entry = "UNI" },
  BYTES = { entry = "BYTES" },
}
-- Of a decimal with operators of its own (I) or with one operator (D).
TYPES.IEXP = { signed = true, min = TYPES.S32.min, max = TYPES.S32.max, entry = "S32", exponent = true }
TYPES.IMAN = { signed = true, min = TYPES.S64.min, max = TYPES.S64.max, entry = "S64", mantissa = true }
TYPES.DEXP = { signed = true, min = TYPES.S32.min, max = TYPES.S32.max, entry = "decimal", exponent = true }
TYPES.DMAN = { signed = true, min = TYPES.S64.min, max = TYPES.S64.max, entry = "decimal", mantissa = true }

-- Where a value comes from. A value from the stream has none of these.
local PREVIOUS, INITIAL, NOTHING = "dictionary", "initial value", "nothing"
local EMPTY = { is_empty = true } -- a dictionary entry; undefined ones are nil

local MIN_DELTA, MAX_DELTA = integer.make(-2 ^ 37, 0), integer.make(2 ^ 37 - 1, 4294967295)

-- ---------------------------------------------------------------------------------------------------------------------
-- Errors

local Failure = {} -- the metatable of what fail() throws; anything else that is thrown is a bug

local function fail(m, code)
  error(setmetatable({ code = code, offset = m.entity - 1, step = m.step }, Failure), 0)
end

-- At another place than the instruction that runs, and not in a field.
local function fail_at(code, at)
  error(setmetatable({ code = code, offset = at - 1 }, Failure), 0)
end

local function give_up() error(setmetatable({ too_much_work = true }, Failure), 0) end

-- ---------------------------------------------------------------------------------------------------------------------
-- The dictionary. `m.entries` belongs to the channel. While `m.inputs` is set, it collects the values that the datagram
-- found in the dictionary: with just that, it can be decoded again at any time.

local function entry_of(m, slot)
  local entry = m.entries[slot]
  if m.inputs and not m.known[slot] then
    m.inputs[slot] = entry
    m.known[slot] = true
  end
  return entry
end

local function assign(m, slot, entry)
  m.entries[slot] = entry
  if m.inputs then m.known[slot] = true end
end

local function reset(m)
  m.entries = {}
  m.after_reset = true
  -- From here on everything the datagram finds in the dictionary is its own. What it found before stays known.
  m.known = setmetatable({}, { __index = function() return true end })
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Presence maps

local MASK = { [0] = 64, 32, 16, 8, 4, 2, 1 }

local function push_map(m)
  if m.depth == MAX_MAPS then fail(m, "X7") end
  local last = find(m.data, STOP, m.at)
  if not last then fail(m, "X1") end
  local map = { first = m.at, last = last, used = 0 }
  m.at = last + 1
  m.depth = m.depth + 1
  m.maps[m.depth] = map
  if m.options.strict and last > map.first and byte(m.data, last) == 128 then fail(m, "R7") end
  return map
end

local function bit_of(data, map, index)
  local at = map.first + floor(index / 7)
  return at <= map.last and floor(byte(data, at) / MASK[index % 7]) % 2 == 1
end

local function take_bit(m)
  local map = m.maps[m.depth]
  local index = map.used
  map.used = index + 1
  return bit_of(m.data, map, index)
end

local function pop_map(m)
  local map = m.maps[m.depth]
  m.depth = m.depth - 1
  if not m.options.strict then return end
  for index = map.used, (map.last - map.first + 1) * 7 - 1 do
    if bit_of(m.data, map, index) then fail_at("R8", map.first) end
  end
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Entities

-- A stop-bit integer of any length. Beyond +-2^70 integers are not told apart.
local function read_number(m, signed)
  local data, first = m.data, m.at
  local last = find(data, STOP, first)
  if not last then fail(m, "X1") end
  m.at = last + 1
  local value = byte(data, first)
  if first == last then
    value = value - 128
    if signed and value >= 64 then value = value - 128 end
    return value
  end
  if m.options.strict then
    local sign = floor(byte(data, first + 1) / 64) % 2
    local redundant
    if signed then
      redundant = (value == 0 and sign == 0) or (value == 127 and sign == 1)
    else
      redundant = value == 0
    end
    if redundant then fail(m, "R6") end
  end
  if signed and value >= 64 then value = value - 128 end
  local negative = value < 0
  local at = first + 1
  while at <= last and at <= first + 6 do
    value = value * 128 + byte(data, at)
    at = at + 1
  end
  if at > last then return value - 128 end -- the stop bit

  local high, low = integer.split(value)
  local saturated = false
  for i = at, last do
    low = low * 128 + byte(data, i) % 128
    high = high * 128 + floor(low / 4294967296)
    low = low % 4294967296
    if high >= 274877906944 or high < -274877906944 then -- 2^38
      saturated = true
      high = 0
    end
  end
  if saturated then return integer.make(negative and -274877906944 or 274877906944, 0) end
  return integer.make(high, low)
end

-- nil: NULL.
local function from_nullable(value)
  if value == 0 then return nil end
  if integer.is_negative(value) then return value end
  return integer.add(value, -1)
end

local function read_integer(m, kind, optional, range_code)
  local value = read_number(m, kind.signed)
  if optional then
    value = from_nullable(value)
    if value == nil then return nil end
  end
  if integer.less(value, kind.min) or integer.less(kind.max, value) then
    fail(m, range_code or "D2")
  end
  return value
end

local function read_delta(m, optional)
  local value = read_number(m, true)
  if integer.less(value, MIN_DELTA) or integer.less(MAX_DELTA, value) then fail(m, "D2") end
  if optional then return from_nullable(value) end
  return value
end

local function read_ascii(m, optional)
  local data, first = m.data, m.at
  local last = find(data, STOP, first)
  if not last then fail(m, "X1") end
  m.at = last + 1
  local characters = sub(data, first, last - 1) .. char(byte(data, last) - 128)
  if byte(characters, 1) ~= 0 then return characters end
  -- A zero preamble: one zero for the empty string and for strings that begin with a zero, one more for their nullable
  -- form.
  if optional and #characters == 1 then return nil end
  characters = sub(characters, (optional and byte(characters, 2) == 0) and 3 or 2)
  if m.options.strict and characters ~= "" and byte(characters, 1) ~= 0 then fail(m, "R9") end
  return characters
end

local function read_vector(m, optional)
  local length = read_integer(m, TYPES.U32, optional)
  if length == nil then return nil end
  if length > #m.data - m.at + 1 then fail(m, "X1") end
  local first = m.at
  m.at = first + length
  return sub(m.data, first, m.at - 1)
end

local function read_text(m, kind, optional)
  if kind == TYPES.ASCII then return read_ascii(m, optional) end
  return read_vector(m, optional)
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Records: blocks of words, as the schema says. What a record of slots could not hold is refused as everywhere.

local function open_block(m, index, base)
  local block = m.feed.blocks[index]
  local slots = floor((base + block.words + SLOT_WORDS - 1) / SLOT_WORDS)
  if m.slots + slots > m.feed.max_record_slots then fail(m, "X4") end
  m.slots = m.slots + slots
  local opened = { index = index, first = m.at }
  m.block = opened
  m.blocks[#m.blocks + 1] = opened
end

-- A word is {value, first byte, last byte, source}.
local function store(m, step, value, source)
  if step.word then m.block[step.word] = { value, m.entity, m.at - 1, source } end
end

local function store_text(m, step, value, source)
  if #value > 8 or (#value == 8 and find(value, STOP)) then
    local slots = floor((#value + STRING_SLOT_BYTES - 1) / STRING_SLOT_BYTES)
    local is_stored = step.word < m.feed.blocks[m.block.index].words
    if slots > MAX_STRING_SLOTS - (is_stored and m.string_slots or 0) then fail(m, "X8") end
    if is_stored then m.string_slots = m.string_slots + slots end
  end
  store(m, step, value, source)
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Fields: one function per operator, for each kind of type.

-- What the dictionary has for an instruction: value and source. The previous value, else the initial one, else nothing,
-- which is an error if a code says so.
local function previous(m, step, if_undefined, if_empty)
  local entry = entry_of(m, step.slot)
  if entry == nil then
    if step.initial ~= nil then return step.initial, INITIAL end
    if if_undefined then fail(m, if_undefined) end
    return nil, NOTHING
  end
  if entry.is_empty then
    if if_empty then fail(m, if_empty) end
    return nil, NOTHING
  end
  if entry.entry ~= step.kind.entry then fail(m, "D4") end
  return entry.value, PREVIOUS
end

local function remember(m, step, value)
  if step.remembers then assign(m, step.slot, { entry = step.kind.entry, value = value }) end
end

local LIMITS = {}
function LIMITS.unsigned(value, limit) return not integer.less(limit, value) end
function LIMITS.signed(value, limit)
  local bound = 2 ^ (limit - 1)
  return not integer.less(value, -bound) and integer.less(value, bound)
end
function LIMITS.enum(value, limit) return integer.less(value, limit) end
function LIMITS.set(value, limit) return limit >= 64 or integer.less(value, integer.power_of_two(limit)) end
local LIMIT_CODES = { enum = "X5", set = "X6" }

local function check_limit(m, step, value, range_code)
  if step.type == "IEXP" then
    if value < -MAX_EXPONENT or value > MAX_EXPONENT then fail(m, "R1") end
  elseif step.limit_kind and not LIMITS[step.limit_kind](value, step.limit) then
    fail(m, LIMIT_CODES[step.limit_kind] or range_code)
  end
end

-- The next value; the largest of the type is followed by the smallest.
local function incremented(step, value)
  if step.limit_kind == "unsigned" and value == step.limit then return 0 end
  if step.limit_kind == "signed" and value == 2 ^ (step.limit - 1) - 1 then return -value - 1 end
  if integer.equal(value, step.kind.max) then return step.kind.min end
  return integer.add(value, 1)
end

-- The entity of a bit group: exactly as many bytes as its fields need.
local function read_bits(m, step)
  local last = find(m.data, STOP, m.at)
  local wanted = m.at + step.bytes - 1
  if not last and #m.data < wanted then fail(m, "X1") end
  if last ~= wanted then fail(m, "X10") end
  local high, low = 0, 0
  for at = m.at, last do
    low = low * 128 + byte(m.data, at) % 128
    high = high * 128 + floor(low / 4294967296)
    low = low % 4294967296
  end
  m.at = last + 1
  if low % step.unused ~= 0 then fail(m, "X10") end
  return integer.make(high, low)
end

-- Every operator but delta: value and source.
local function take_integer(m, step)
  local op = step.operator
  if op == "CON" then
    if not step.optional or take_bit(m) then return step.initial, INITIAL end
    return nil, NOTHING
  end
  if op == "NON" or take_bit(m) then
    local value
    if step.type == "BITS" then
      value = read_bits(m, step)
    else
      value = read_integer(m, step.kind, step.optional)
    end
    if value ~= nil then return value end
    if step.remembers then assign(m, step.slot, EMPTY) end
    return nil, NOTHING
  end
  if op == "DEF" then
    if step.initial ~= nil then return step.initial, INITIAL end
    return nil, NOTHING
  end
  local value, source = previous(m, step, not step.optional and "D5" or nil, not step.optional and "D6" or nil)
  if source == NOTHING then assign(m, step.slot, EMPTY) end
  if source == PREVIOUS and op == "INC" then value = incremented(step, value) end
  return value, source
end

local function integer_field(m, step)
  if step.type == "IMAN" and not m.decimal then
    m.present = false
    return
  end
  local value, source
  local range_code = "D2"
  if step.operator == "DEL" then
    range_code = (step.kind.exponent or step.kind.mantissa) and "R1" or "R4"
    local delta = read_delta(m, step.optional)
    if delta == nil then
      source = NOTHING
    else
      value = integer.add(previous(m, step, nil, "D6") or 0, delta)
      if integer.less(value, step.kind.min) or integer.less(step.kind.max, value) then fail(m, range_code) end
    end
  else
    value, source = take_integer(m, step)
  end

  m.present = source ~= NOTHING
  if step.type == "IEXP" then m.decimal = m.present and {} or nil end
  m.length = value
  if not m.present then return end
  check_limit(m, step, value, range_code)
  remember(m, step, value)
  store(m, step, value, source)
end

-- Takes the entity of a bit group; the following BIT instructions extract the fields.
local function bits_field(m, step)
  local value, source
  if step.operator == "DEL" then
    local delta = read_delta(m, false)
    value = integer.add(previous(m, step, nil, "D6") or 0, delta)
    if integer.less(value, 0) or integer.less(step.kind.max, value) then fail(m, "R4") end
    if select(2, integer.split(value)) % step.unused ~= 0 then fail(m, "R4") end
  else
    value, source = take_integer(m, step)
  end
  remember(m, step, value)
  m.bits = { value = value, source = source, first = m.entity, width = step.bytes * 7 }
end

local function bit_field(m, step)
  local bits = m.bits
  m.entity = bits.first
  local value = integer.bits(bits.value, bits.width - step.position - step.width, step.width)
  m.present = not step.optional or value ~= 0
  if not m.present then return end
  local bound = integer.power_of_two(step.width - 1)
  if step.kind.signed and not integer.less(value, bound) then
    value = integer.add(value, integer.negated(integer.power_of_two(step.width)))
  end
  if step.optional and integer.less(0, value) then value = integer.add(value, -1) end
  check_limit(m, step, value, "D2")
  store(m, step, value, bits.source)
end

-- The exponent of a decimal with one operator decides where both halves come from.
local function exponent_field(m, step)
  local value, source
  local decimal = {}
  if step.operator == "DEL" then
    local delta = read_delta(m, step.optional)
    if delta == nil then
      source = NOTHING
    else
      local base, base_source = previous(m, step, nil, "D6")
      decimal.base_is_previous = base_source == PREVIOUS
      value = integer.add(base or 0, delta)
      if integer.less(value, -MAX_EXPONENT) or integer.less(MAX_EXPONENT, value) then fail(m, "R1") end
    end
  else
    value, source = take_integer(m, step)
  end
  m.present = source ~= NOTHING
  m.decimal = m.present and decimal or nil
  if not m.present then return end
  decimal.source = source
  if value < -MAX_EXPONENT or value > MAX_EXPONENT then fail(m, "R1") end
  remember(m, step, value)
  store(m, step, value, source)
end

local function mantissa_field(m, step)
  local decimal = m.decimal
  m.present = decimal ~= nil
  if not decimal then return end
  local value = step.initial or 0
  if decimal.source == PREVIOUS then
    value = entry_of(m, step.slot).value
  elseif decimal.source == nil then
    if step.operator == "DEL" then
      local delta = read_delta(m, false)
      value = integer.add(decimal.base_is_previous and entry_of(m, step.slot).value or value, delta)
      if integer.less(value, step.kind.min) or integer.less(step.kind.max, value) then fail(m, "R1") end
    else
      value = read_integer(m, step.kind, false)
    end
  end
  remember(m, step, value)
  store(m, step, value, decimal.source)
end

local function apply_delta(m, step, subtraction, addition, base)
  -- Excess one for the front, so that -1 says "prepend, remove nothing".
  local at_front = subtraction < 0
  local removed = at_front and -(subtraction + 1) or subtraction
  if removed > #base then fail(m, "D7") end
  local result = at_front and addition .. sub(base, removed + 1) or sub(base, 1, #base - removed) .. addition
  if #result > m.feed.slots[step.slot] then fail(m, "X3") end
  return result
end

local function apply_tail(m, step, tail, base)
  local result = sub(base, 1, math.max(#base - #tail, 0)) .. tail
  if #result > m.feed.slots[step.slot] then fail(m, "X3") end
  return result
end

local function take_text_delta(m, step)
  local subtraction = read_integer(m, TYPES.S32, step.optional, "D7")
  if subtraction == nil then return nil, NOTHING end
  local addition = read_text(m, step.kind, false)
  return apply_delta(m, step, subtraction, addition, previous(m, step, nil, "D6") or "")
end

local function take_text(m, step)
  local op = step.operator
  if op == "DEL" then return take_text_delta(m, step) end
  if op == "CON" then
    if not step.optional or take_bit(m) then return step.initial, INITIAL end
    return nil, NOTHING
  end
  local value, source
  if op == "NON" or take_bit(m) then
    value = read_text(m, step.kind, step.optional)
    if value == nil then
      source = NOTHING
    elseif op == "TAI" then
      -- The base of a tail: previous value, else initial value, else "".
      value = apply_tail(m, step, value, previous(m, step) or step.initial or "")
    end
  elseif op == "DEF" then
    if step.initial ~= nil then return step.initial, INITIAL end
    return nil, NOTHING
  elseif step.optional then
    value, source = previous(m, step)
  elseif op == "COP" then
    value, source = previous(m, step, "D5", "D6")
  else
    value, source = previous(m, step, "D6", "D7")
  end
  if source == NOTHING and step.remembers then assign(m, step.slot, EMPTY) end
  return value, source
end

local function text_field(m, step)
  local value, source = take_text(m, step)
  m.present = source ~= NOTHING
  if not m.present then return end
  if #value > m.options.max_string then fail(m, "X3") end
  if step.type == "UNI" and m.options.strict and not text.is_utf8(value) then fail(m, "R2") end
  if step.remembers and source ~= PREVIOUS then
    if #value > m.feed.slots[step.slot] then fail(m, "X3") end
    remember(m, step, value)
  end
  store_text(m, step, value, source)
end

-- ---------------------------------------------------------------------------------------------------------------------
-- Messages

local function take_template_id(m, step)
  if take_bit(m) then
    assign(m, step.slot, { entry = "U32", value = read_integer(m, TYPES.U32, false) })
    m.id_place = { m.entity, m.at - 1 }
  else
    m.id_place = nil
  end
  local entry = entry_of(m, step.slot)
  if entry == nil or entry.is_empty then fail(m, "D5") end
  m.id = entry.value
end

local function dispatch(m, step)
  local found = (m.feed.dispatch[step.target] or {})[m.id]
  if not found then fail(m, "D9") end
  local index, entry = found[1], found[2]
  local chosen = m.feed.templates[index]
  if chosen.reset and m.options.reset ~= "never" then
    reset(m)
    assign(m, 0, { entry = "U32", value = m.id })
  end
  if step.control == "CALL" then
    if #m.calls == m.max_nesting then fail(m, "X7") end
    m.calls[#m.calls + 1] = { m.next, m.template }
    open_block(m, chosen.root, REFERENCE_BASE)
    m.block.template = index
  else
    m.message.template = index
    open_block(m, chosen.root, ROOT_BASE)
  end
  local map = m.maps[m.depth]
  m.block.first, m.block.map, m.block.id, m.block.id_place = map.first, map, m.id, m.id_place
  m.template = index
  m.next = entry
end

local CONTROLS = {}

function CONTROLS.SEQ(m, step)
  local count = m.present and m.length or 0
  if count == 0 then
    m.next = step.target
    return
  end
  local element = m.feed.blocks[m.code[m.next].target]
  if count * element.min_bytes > #m.data - m.at + 1 then fail(m, "X2") end
  if count > m.elements_left or count > m.message_elements_left then fail(m, "X2") end
  if element.min_bytes == 0 and count > m.options.max_empty_elements then fail(m, "X2") end
  m.elements_left = m.elements_left - count
  m.message_elements_left = m.message_elements_left - count
  if #m.loops == m.max_nesting then fail(m, "X7") end
  m.loops[#m.loops + 1] = { left = count, depth = m.depth }
end

function CONTROLS.LEND(m, step)
  local loop = m.loops[#m.loops]
  while m.depth ~= loop.depth do
    pop_map(m)
  end
  loop.left = loop.left - 1
  if loop.left ~= 0 then
    m.next = step.target
  else
    m.loops[#m.loops] = nil
  end
end

function CONTROLS.SKIP(m, step)
  if not take_bit(m) then
    m.next = step.target
  elseif step.mnemonic == "NOP" then
    store(m, step, 1)
  end
end

function CONTROLS.POP(m) pop_map(m) end

CONTROLS.DISP = dispatch
CONTROLS.CALL = dispatch

function CONTROLS.END(m)
  pop_map(m)
  local call = m.calls[#m.calls]
  if call then
    m.calls[#m.calls] = nil
    m.next, m.template = call[1], call[2]
  else
    m.complete = true
  end
end

local FIELDS = {
  ASCII = text_field,
  UNI = text_field,
  BYTES = text_field,
  DEXP = exponent_field,
  DMAN = mantissa_field,
  BITS = bits_field,
}
local SPECIAL = {
  NOP = function() end,
  PMAP = function(m, step)
    local map = push_map(m)
    if step.control == "BLOCK" then m.block.map = map end
  end,
  TID = take_template_id,
}

-- A row of the program with what its words stand for.
local function compile_row(row)
  local mnemonic = row[1]
  local operator, type_name, presence = mnemonic:match("^(%u+)_(%w+)_(%u+)$")
  local step = {
    mnemonic = mnemonic,
    word = row.word,
    slot = row.slot,
    initial = row.initial,
    limit_kind = row.limit_kind,
    limit = row.limit,
    control = row.control,
    target = row.target,
    run = SPECIAL[mnemonic],
    act = CONTROLS[row.control],
  }
  if operator then
    step.operator, step.type = operator, type_name
    step.optional = presence == "OPT"
    step.kind = TYPES[type_name]
    step.remembers = operator == "COP" or operator == "INC" or operator == "DEL" or operator == "TAI"
    step.run = operator == "BIT" and bit_field or FIELDS[type_name] or integer_field
    step.position, step.width = row.position, row.width
    if type_name == "BITS" then
      step.bytes = floor((row.limit + 6) / 7)
      step.unused = 2 ^ (step.bytes * 7 - row.limit)
      local max = integer.add(integer.power_of_two(step.bytes * 7), -1)
      step.kind = { signed = false, min = 0, max = max, entry = "BITS" .. row.limit }
    end
  end
  return step
end

local function run_message(m)
  local first = m.at
  m.message = { first = first, blocks = {} }
  m.blocks = m.message.blocks
  m.next = 0
  m.maps, m.depth, m.loops, m.calls = {}, 0, {}, {}
  m.slots, m.string_slots = 0, 0
  m.message_elements_left = m.options.max_elements
  m.template, m.block, m.decimal = nil, nil, nil
  m.complete = false
  m.messages[#m.messages + 1] = m.message
  local code = m.code
  repeat
    local step = code[m.next]
    m.next = m.next + 1
    m.step, m.entity = step, m.at
    m.steps_left = m.steps_left - 1
    if m.steps_left < 0 then give_up() end
    if step.control == "BLOCK" then open_block(m, step.target, 0) end
    step.run(m, step)
    if step.act then step.act(m, step) end
  until m.complete
  if m.slots + m.string_slots > m.feed.max_record_slots then fail_at("X4", m.at) end
  m.message.complete = true
  m.message.last = m.at - 1
end

-- ---------------------------------------------------------------------------------------------------------------------

local engine = { bit_of = bit_of }

-- The code of a feed, ready to run.
function engine.compile(feed)
  local code = {}
  for address = 0, feed.instructions - 1 do
    code[address] = compile_row(feed.code[address])
  end
  return code
end

-- A channel: what lives on from datagram to datagram.
function engine.new_channel() return { entries = {}, waits = nil } end

-- Whether the first message explicitly names a template that resets the dictionary.
local function begins_with_reset(m)
  if m.options.reset ~= "template" then return false end
  local ok, id = pcall(function()
    m.maps, m.depth, m.entity = {}, 0, m.at
    push_map(m)
    return take_bit(m) and read_number(m, false)
  end)
  if not ok and getmetatable(id) ~= Failure then error(id, 0) end
  local found = ok and type(id) == "number" and m.feed.dispatch[0][id]
  return found and m.feed.templates[found[1]].reset or false
end

-- Decodes data[first, last] and puts its messages, whole or begun, into `messages`.
--
-- `state` has the dictionary of the channel, `entries`, which changes; `waits`, if it waits for a reset; and `inputs`
-- and `known`, empty tables, if what the datagram found in the dictionary is to be collected.
-- @returns nil or a failure: code, offset, template, block and word, id; `dropped` if the channel waited for a reset;
--          `too_much_work` if the datagram would take too long.
function engine.decode(feed, options, state, data, first, last, messages)
  local shown = math.min(last, options.max_bytes)
  local m = {
    feed = feed,
    code = feed.steps,
    options = options,
    data = sub(data, 1, shown),
    at = first,
    entity = first,
    entries = state.entries,
    inputs = state.inputs,
    known = state.known,
    messages = messages,
    steps_left = state.steps_left or MAX_STEPS, -- of the datagram, if it has several blocks
    elements_left = ELEMENTS_PER_BYTE * math.max(shown - first + 1, 0),
    max_nesting = math.min(options.max_nesting, MAX_NESTING),
  }
  if state.waits then
    -- Looked at with an eye of its own: nothing of it may stay.
    local probe = setmetatable({ options = { reset = options.reset, strict = false } }, { __index = m })
    if not begins_with_reset(probe) then return { dropped = true, offset = first - 1 } end
  end
  local ok, failure = pcall(function()
    while m.at <= #m.data do
      run_message(m)
    end
    if last > shown then fail_at("X1", shown + 1) end
  end)
  state.entries, state.known, state.steps_left = m.entries, m.known, m.steps_left
  if m.after_reset then state.waits = nil end
  if ok then return nil end
  if getmetatable(failure) ~= Failure then error(failure, 0) end
  if m.message then m.message.last = #m.data end
  failure.template, failure.id = m.template, m.id
  failure.offset = failure.offset or m.at - 1
  if failure.step and failure.step.word then
    failure.block, failure.word = m.block.index, failure.step.word
  end
  return failure
end

return engine
