// Extracts the typed text from the CLI's `user` lines, which also hold commands, their output and texts for the model.
//
// Source: CLI 2.1.330, as in the index of crates/session (`head.rs`, `words.rs`).
import { plain } from "./text.js";

/** Elements added to a prompt by others than the user. */
const ADDED =
  /<(ide_opened_file|ide_selection|ide_diagnostics|system-reminder|local-command-caveat|task-notification)(?:\s[^>]*)?>[\s\S]*?(?:<\/\1>|$)/g;
const PASTED = /<\/?pasted_content(?:\s[^>]*)?>\n?/g;
const OUTPUT = /^<(?:local-command-(?!caveat)|bash-std)/;
const OUTPUT_TAGS = /<\/?(?:local-command-[a-z]+|bash-std(?:out|err))>/g;

/** @param {string} text @param {string} tag */
const within = (text, tag) => text.match(`<${tag}>([\\s\\S]*?)(?:</${tag}>|$)`)?.[1]?.trim();

/** @param {string} text @returns {{ kind: "user"|"output", text: string }} */
export function typedOf(text) {
  const begin = text.trimStart();
  if (OUTPUT.test(begin)) return { kind: "output", text: plain(begin.replace(/(?<!\n)(?=<bash-stderr>)/, "\n").replace(OUTPUT_TAGS, "")).trim() };
  /** @param {string} typed */
  const user = (typed) => /** @type {const} */ ({ kind: "user", text: typed });
  if (/^<command-(?:name|message)>/.test(begin)) return user(`${within(text, "command-name") ?? ""} ${within(text, "command-args") ?? ""}`.trim());
  if (begin.startsWith("<bash-input>")) return user(`!${within(text, "bash-input")}`);
  if (begin.startsWith("<user-memory-input>")) return user(`#${within(text, "user-memory-input")}`);
  const words = text.replace(ADDED, "");
  return user(words === text ? text.replace(PASTED, "") : words.replace(PASTED, "").trim());
}
