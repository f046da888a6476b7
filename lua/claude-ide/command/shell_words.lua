-- A command line into words, as a shell would: spaces part, quotes and backslashes keep together. Nothing is expanded.

local M = {}

---@param line string
---@return string[] words
---@return boolean open whether the last word is still being typed
function M.split(line)
  local words, word, quote = {}, nil, nil
  local i = 1
  while i <= #line do
    local char = line:sub(i, i)
    if quote then
      if char == quote then
        quote = nil
      else
        word = word .. char
      end
    elseif char == "\\" and line:sub(i + 1, i + 1):match("[%s\"'\\]") then
      word = (word or "") .. line:sub(i + 1, i + 1)
      i = i + 1
    elseif char == '"' or char == "'" then
      word, quote = word or "", char
    elseif char:match("%s") then
      words[#words + 1] = word
      word = nil
    else
      word = (word or "") .. char
    end
    i = i + 1
  end
  words[#words + 1] = word
  return words, word ~= nil
end

---Writes a word so that `split` reads it back.
---@param word string
---@return string
function M.escape(word)
  return (word:gsub("[%s\"'\\]", "\\%0"))
end

return M
