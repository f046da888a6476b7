-- Durations of the input guard (ui/guard/init.lua), in milliseconds.
return {
  -- Nothing opens for this long after a key; after a key in a terminal, whose program may respond with a question; and in a prompt
  -- with text.
  quiet = 150,
  terminal_quiet = 300,
  prompt_quiet = 1000,
  -- For this long after the user has gone to a window, none that takes the focus opens.
  entered = 1000,
  -- For this long after a key the user may still be typing when a window opens.
  typing = 1000,
  -- In a window that opened meanwhile: no key acts for this long, nor for `gap` after a key that came too soon.
  unread = 600,
  gap = 300,
  -- A proposal that opens within `next` of a decision: accept and reject keys act `look` after it is drawn, and after one
  -- another.
  next = 600,
  look = 250,
  -- Accept and reject keys do nothing for this long after a proposal closed, and after one another: more than a key repeat. An
  -- accepted proposal stays on the screen as long, for the next one to replace it: with CLI 2.1.329 that takes 100 to 270 ms, up to
  -- 900 on a busy machine. It stays for `closed_for_next` when a next one is known to come.
  closed = 600,
  closed_for_next = 3000,
  -- The event loop has stalled if it did not turn for `stall`; checked every `stall_check`.
  stall = 200,
  stall_check = 50,
  -- Polling interval where no event reports that something may open or change.
  again = 50,
}
