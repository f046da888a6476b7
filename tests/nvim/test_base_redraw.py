"""What runs while Neovim draws (`Ide.redraw`)."""


def test_an_error_in_a_redraw_is_logged_and_the_next_redraws_go_on(nvim):
    nvim.lua("""
      calls = 0
      Ide.redraw.on(vim.api.nvim_create_namespace("test"), "draw a test", {
        on_end = function()
          calls = calls + 1
          error("Keyboard interrupt") -- as any function does that <C-c> interrupts
        end,
      })
      for _ = 1, 5 do vim.cmd("redraw!") end -- Neovim gives up after three errors
    """)
    assert nvim.lua("return calls") >= 5
    assert nvim.lua("return vim.api.nvim_exec2('messages', { output = true }).output") == ""
    assert "cannot draw a test: " in nvim.log()
