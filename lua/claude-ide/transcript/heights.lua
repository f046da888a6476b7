-- Heights of rows and their prefix sums, in a Fenwick tree: O(log n) for any number of rows. Pure.

---@class claude-ide.transcript.Heights
---@field private count integer
---@field private own integer[] lines of each row, from 1
---@field private sums integer[] the tree, from 1
local Heights = {}
Heights.__index = Heights

---@return claude-ide.transcript.Heights
function Heights.new()
  return setmetatable({ count = 0, own = {}, sums = {} }, Heights)
end

---@return integer
function Heights:len()
  return self.count
end

---@param row integer 0-based
---@return integer
function Heights:get(row)
  return self.own[row + 1]
end

---@param row integer
---@param height integer
function Heights:set(row, height)
  local at = row + 1
  local difference = height - self.own[at]
  self.own[at] = height
  while difference ~= 0 and at <= self.count do
    self.sums[at] = self.sums[at] + difference
    at = at + bit.band(at, -at)
  end
end

---@param height integer
function Heights:push(height)
  local at = self.count + 1
  self.count = at
  self.own[at] = height
  local sum, below = height, at - 1
  local stop = at - bit.band(at, -at)
  while below > stop do
    sum = sum + self.sums[below]
    below = below - bit.band(below, -below)
  end
  self.sums[at] = sum
end

---@param count integer rows to keep
function Heights:truncate(count)
  for at = self.count, count + 1, -1 do
    self.own[at], self.sums[at] = nil, nil
  end
  self.count = math.min(self.count, count)
end

---@param count integer rows to insert before the first
---@param height integer of each
function Heights:prepend(count, height)
  local before = self.own
  self.own, self.sums, self.count = {}, {}, 0
  for _ = 1, count do
    self:push(height)
  end
  for _, own in ipairs(before) do
    self:push(own)
  end
end

---Number of lines before a row.
---@param row integer 0-based; the number of rows: total
---@return integer
function Heights:before(row)
  local sum, at = 0, row
  while at > 0 do
    sum = sum + self.sums[at]
    at = at - bit.band(at, -at)
  end
  return sum
end

---The row at a line; the last one for a line past the end.
---@param line integer 0-based
---@return integer row
---@return integer offset of the line in it
function Heights:at(line)
  local at, left, step = 0, line, 1
  while step * 2 <= self.count do
    step = step * 2
  end
  while step > 0 do
    local next_at = at + step
    if next_at <= self.count and self.sums[next_at] <= left then
      at, left = next_at, left - self.sums[next_at]
    end
    step = math.floor(step / 2)
  end
  if at >= self.count then
    at = math.max(self.count - 1, 0)
    left = line - self:before(at)
  end
  return at, left
end

return Heights
