-- Integers of up to 70 bits: uInt64, int64 and the deltas between them.
--
-- A Lua number holds every integer from -2^53 to 2^53 - 1 exactly. Integers beyond are pairs {high, low} that stand for
-- high * 2^32 + low, 0 <= low < 2^32. An integer has one form only, so numbers are compared with == and <.

local floor, format = math.floor, string.format

local WORD = 4294967296 -- 2^32
local MAX_HIGH = 2097152 -- 2^21: from here on a number would not be exact

local integer = {}

-- The integer high * 2^32 + low, for 0 <= low < 2^32.
local function make(high, low)
  if high >= -MAX_HIGH and high < MAX_HIGH then return high * WORD + low end
  return { high, low }
end
integer.make = make

-- high, low
local function split(value)
  if type(value) == "table" then return value[1], value[2] end
  return floor(value / WORD), value % WORD
end
integer.split = split

function integer.add(a, b)
  if type(a) == "number" and type(b) == "number" then
    local sum = a + b
    if sum > -9007199254740992 and sum < 9007199254740992 then return sum end
  end
  local a_high, a_low = split(a)
  local b_high, b_low = split(b)
  local low = a_low + b_low
  if low >= WORD then return make(a_high + b_high + 1, low - WORD) end
  return make(a_high + b_high, low)
end

function integer.less(a, b)
  if type(a) == "number" and type(b) == "number" then return a < b end
  local a_high, a_low = split(a)
  local b_high, b_low = split(b)
  return a_high < b_high or (a_high == b_high and a_low < b_low)
end

function integer.equal(a, b)
  local a_high, a_low = split(a)
  local b_high, b_low = split(b)
  return a_high == b_high and a_low == b_low
end

-- 2^n, for n up to 69.
function integer.power_of_two(n)
  if n < 32 then return 2 ^ n end
  return make(2 ^ (n - 32), 0)
end

-- `width` bits of an integer that is not negative; `low_bit` is the lowest of them.
function integer.bits(value, low_bit, width)
  if width > 32 then return make(integer.bits(value, low_bit + 32, width - 32), integer.bits(value, low_bit, 32)) end
  local high, low = split(value)
  if low_bit >= 32 then return floor(high / 2 ^ (low_bit - 32)) % 2 ^ width end
  -- What the low word lacks comes from the high one.
  return (floor(low / 2 ^ low_bit) + high % 2 ^ low_bit * 2 ^ (32 - low_bit)) % 2 ^ width
end

function integer.is_negative(value)
  if type(value) == "table" then return value[1] < 0 end
  return value < 0
end

function integer.negated(value)
  if type(value) == "number" and value ~= -9007199254740992 then return value == 0 and 0 or -value end
  local high, low = split(value)
  if low == 0 then return make(-high, 0) end
  return make(-high - 1, WORD - low)
end

-- In decimal, exactly.
function integer.text(value)
  if type(value) == "number" then return format("%.0f", value) end
  if integer.is_negative(value) then return "-" .. integer.text(integer.negated(value)) end
  local high, low = value[1], value[2]
  local digits = ""
  while high > 0 do
    -- Long division by a million: each remainder, followed by 32 bits, is still an exact number.
    local rest = high % 1000000 * WORD + low
    high = floor(high / 1000000)
    low = floor(rest / 1000000)
    digits = format("%06.0f", rest % 1000000) .. digits
  end
  return format("%.0f", low) .. digits
end

-- As a floating-point number: the nearest, if not exact.
function integer.approximate(value)
  if type(value) == "number" then return value end
  return value[1] * WORD + value[2]
end

return integer
