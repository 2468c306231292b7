-- Values as text, as `stopbit` prints them.

local byte, sub, format, rep = string.byte, string.sub, string.format, string.rep

local text = {}

-- Bytes of the UTF-8 character at a place, 0 if there is none.
function text.utf8_length(bytes, at)
  local lead = byte(bytes, at)
  if lead < 0x80 then return 1 end
  local length
  if lead >= 0xC2 and lead <= 0xDF then
    length = 2
  elseif lead >= 0xE0 and lead <= 0xEF then
    length = 3
  elseif lead >= 0xF0 and lead <= 0xF4 then
    length = 4
  else
    return 0
  end
  if #bytes - at + 1 < length then return 0 end
  -- Overlong forms, surrogates and what lies above U+10FFFF show in the second byte.
  local low = lead == 0xE0 and 0xA0 or lead == 0xF0 and 0x90 or 0x80
  local high = lead == 0xED and 0x9F or lead == 0xF4 and 0x8F or 0xBF
  local second = byte(bytes, at + 1)
  if second < low or second > high then return 0 end
  for i = at + 2, at + length - 1 do
    local following = byte(bytes, i)
    if following < 0x80 or following > 0xBF then return 0 end
  end
  return length
end

function text.is_utf8(bytes)
  local at = 1
  while at <= #bytes do
    local length = text.utf8_length(bytes, at)
    if length == 0 then return false end
    at = at + length
  end
  return true
end

-- A decimal with all its digits: 141150 and -2 are 1411.50, 5 and 3 are 5e3.
function text.decimal(mantissa, exponent)
  if exponent > 0 then return integer.text(mantissa) .. "e" .. format("%.0f", exponent) end
  if exponent == 0 then return integer.text(mantissa) end
  local sign = ""
  if integer.is_negative(mantissa) then
    sign, mantissa = "-", integer.negated(mantissa)
  end
  local digits = integer.text(mantissa)
  if #digits <= -exponent then digits = rep("0", 1 - exponent - #digits) .. digits end
  return sign .. sub(digits, 1, #digits + exponent) .. "." .. sub(digits, exponent)
end

local ESCAPES = { [8] = "\\b", [9] = "\\t", [10] = "\\n", [12] = "\\f", [13] = "\\r", [92] = "\\\\" }

local function escaped(character)
  local code = byte(character)
  return ESCAPES[code] or format("\\u%04x", code)
end

-- A string as in JSON, but quotes stay as they are, and DEL does not. Invalid UTF-8 becomes U+FFFD; in ASCII strings
-- it is escaped.
function text.string(bytes, is_ascii)
  if not bytes:find("[%c\\\128-\255]") then return bytes end
  local parts, at = {}, 1
  while at <= #bytes do
    local code = byte(bytes, at)
    local length = 1
    if code < 32 or code == 92 or code == 127 or (is_ascii and code >= 128) then
      parts[#parts + 1] = escaped(sub(bytes, at, at))
    elseif code < 128 then
      parts[#parts + 1] = sub(bytes, at, at)
    else
      length = text.utf8_length(bytes, at)
      parts[#parts + 1] = length > 0 and sub(bytes, at, at + length - 1) or "\239\191\189"
      length = math.max(length, 1)
    end
    at = at + length
  end
  return table.concat(parts)
end

function text.hex(bytes)
  return (bytes:gsub(".", function(character) return format("%02x", byte(character)) end))
end

return text
