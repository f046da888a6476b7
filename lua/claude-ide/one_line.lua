-- Texts that must fit on one line of the screen: Neovim asks for a key after a longer one, and waits for it.

local M = {}

---The first text that fits, else the last.
---@param texts string[] the fullest first
---@return string
function M.fitting(texts)
  for _, text in ipairs(texts) do
    if vim.fn.strdisplaywidth(text) <= vim.v.echospace then
      return text
    end
  end
  return texts[#texts]
end

return M
