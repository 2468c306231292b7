-- From the blocks of words of a message to a tree of items, as decoder/record/reader does from the slots of a record. A
-- message that was given up half-way has the items it got to.
--
-- An item: node, of the schema; text; value; source, nil for values from the stream; first and last byte, nil if it has
-- none; items inside. A sequence has one item per element, which has `element`, its number from 1.

local record = {}

local function scalar_text(feed, node, value)
  local kind = node.type
  if kind == "ASCII" or kind == "UNICODE" then return text.string(value, kind == "ASCII") end
  if kind == "BYTES" then return text.hex(value) end
  if kind == "BOOLEAN" then return value == 0 and "false" or "true" end
  if kind == "ENUM" then
    local element = feed.types[node.elements][value]
    return element.label and element.name .. " (" .. element.label .. ")" or element.name
  end
  if kind == "SET" then
    local names = {}
    local elements = feed.types[node.elements]
    for i = 0, elements.count - 1 do
      if integer.bits(value, i, 1) == 1 then names[#names + 1] = elements[i].name end
    end
    return "[" .. table.concat(names, ", ") .. "]"
  end
  return integer.text(value)
end

-- Widens the bytes of an item by those of another.
local function cover(item, first, last)
  if not first then return end
  if not item.first or first < item.first then item.first = first end
  if not item.last or last > item.last then item.last = last end
end

-- The word of a node, nil if it is absent. Opens the node's block if it is not the open one; `walk.ended` if there is
-- none.
local function open_block(walk, index)
  local block = walk.blocks[walk.next]
  if not block or block.index ~= index then
    walk.ended = true
    return nil
  end
  walk.next = walk.next + 1
  walk.block = block
  return block
end

-- No more items than allowed: constants take no bytes of a message, so its length bounds nothing.
local function add_item(walk, items, item)
  if walk.items_left == 0 then
    walk.ended = true
    return
  end
  walk.items_left = walk.items_left - 1
  items[#items + 1] = item
end

local function word_of(walk, node)
  if not walk.block or walk.block.index ~= node.block then open_block(walk, node.block) end
  return not walk.ended and walk.block[node.word] or nil
end

local walk_nodes

local function field(walk, node, items)
  local word, mantissa
  if node.value ~= nil then
    word = { node.value, nil, nil, "constant" }
    mantissa = { node.mantissa, nil, nil, "constant" }
  else
    word = word_of(walk, node)
    if not word then return end
    mantissa = walk.block[node.word + 1]
  end
  local item = { node = node, value = word[1], source = word[4] }
  if not item.source then cover(item, word[2], word[3]) end
  if node.type == "DECIMAL" then
    if not mantissa then return end
    item.exponent, item.value = word[1], mantissa[1]
    item.text = text.decimal(item.value, item.exponent)
    -- Halves with operators of their own come from different places.
    if not mantissa[4] then
      item.source = nil
      cover(item, mantissa[2], mantissa[3])
    end
  else
    item.text = scalar_text(walk.feed, node, item.value)
  end
  add_item(walk, items, item)
end

local function group(walk, node, items)
  if node.optional and not word_of(walk, node) then return end
  local item = { node = node, items = {} }
  add_item(walk, items, item)
  if not walk.ended then walk_nodes(walk, node, item.items, item) end
end

local function sequence(walk, node, items)
  local word = word_of(walk, node)
  if word then
    local item = { node = node, value = word[1], source = word[4], items = {} }
    if not item.source then cover(item, word[2], word[3]) end
    add_item(walk, items, item)
    for number = 1, word[1] do
      local block = not walk.ended and open_block(walk, node.element_block)
      if not block then break end
      if node.is_vector then
        walk_nodes(walk, node, item.items, item)
      else
        local element = { node = node, element = number, items = {}, map = block.map }
        if block.map then cover(element, block.map.first, block.map.last) end
        add_item(walk, item.items, element)
        if not walk.ended then walk_nodes(walk, node, element.items, element) end
        cover(item, element.first, element.last)
      end
    end
  end
  walk.block = nil
end

local function reference(walk, node, items)
  local block = walk.blocks[walk.next]
  local template = block and block.template and walk.feed.templates[block.template]
  if not template then
    walk.ended = true
    return
  end
  walk.next = walk.next + 1
  walk.block = block
  local item = {
    node = node,
    template = template,
    map = block.map,
    id = block.id,
    id_place = block.id_place,
    items = {},
  }
  cover(item, block.map.first, block.map.last)
  if block.id_place then cover(item, block.id_place[1], block.id_place[2]) end
  add_item(walk, items, item)
  if not walk.ended then walk_nodes(walk, template, item.items, item) end
  walk.block = nil
end

local KINDS = { field = field, group = group, sequence = sequence, reference = reference }

-- The items of the nodes inside `parent`, whose bytes `item` covers.
function walk_nodes(walk, parent, items, item)
  for _, node in ipairs(parent) do
    local before = #items
    KINDS[node.kind](walk, node, items)
    local added = items[before + 1]
    if added then cover(item, added.first, added.last) end
    if walk.ended then return end
  end
end

-- The item of a message that engine.decode gave, with at most `items_left` items in it; nil if it ended before its template
-- was known. @returns the item, and how many items may still be made
function record.read(feed, message, items_left)
  local template = message.template and feed.templates[message.template]
  local block = message.blocks[1]
  if not template or not block then return nil, items_left end
  local item = {
    template = template,
    first = message.first,
    last = message.last,
    map = block.map,
    id = block.id,
    id_place = block.id_place,
    items = {},
  }
  local walk = { feed = feed, blocks = message.blocks, next = 2, block = block, items_left = items_left }
  walk_nodes(walk, template, item.items, item)
  return item, walk.items_left
end

-- Name of the field at the place of a failure, after the names of the groups and sequences around it, and the line of
-- the template file. Nil if the failure is not in a field.
function record.place(feed, failure)
  if not failure.word then return nil end
  local function search(parent, path)
    for _, node in ipairs(parent) do
      local name = path .. (node.name ~= "" and node.name or "value")
      if node.kind ~= "group" and node.block == failure.block then
        local is_mantissa = node.type == "DECIMAL" and node.word and node.word + 1 == failure.word
        if node.word == failure.word or is_mantissa then return name, node end
      end
      local found, owner = search(node, name .. ".")
      if found then return found, owner end
    end
    return nil
  end
  return search(feed.templates[failure.template], "")
end

return record
