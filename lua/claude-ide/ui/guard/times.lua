-- The times of the input guard (ui/guard/init.lua), in milliseconds.
return {
  -- Nothing opens so soon after a key; after one in a terminal, whose program may answer with a question that is typed at next;
  -- and in a prompt that is not empty, where a pause of that length is waited for.
  quiet = 150,
  terminal_quiet = 300,
  prompt_quiet = 1000,
  -- So long after a key the user may still be typing when a window opens.
  typing = 1000,
  -- In a window that opened while they may be: no key decides so soon, nor so soon after one that came too soon.
  unread = 600,
  gap = 300,
  -- In a proposal that comes so soon after a decision: keys that decide must be so long after it is drawn, and after one another.
  next = 600,
  look = 250,
  -- Keys that decide do nothing so long after a proposal closed, and after one another; less than a pause, more than a repeated key
  -- takes. An accepted proposal stays on the screen as long, so that the next one of the turn takes its place: with CLI 2.1.329
  -- 100 to 270 ms, on a busy machine up to 900. It stays longer where the next one is known to come.
  closed = 600,
  closed_for_next = 3000,
  -- Neovim's event loop has stalled where it did not turn for so long, and how often that is looked at.
  stall = 200,
  stall_check = 50,
  -- How soon to look again whether something may open or change, where no event says so.
  again = 50,
}
