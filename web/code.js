// Code blocks: a button that copies, and highlighting of comments, strings, numbers and keywords in known languages,
// without a grammar.
import { el } from "./text.js";

/** Longer code is not highlighted: each token would be an element. */
const MOST = 60_000;

/** @typedef {{ comment?: string, string?: string, words: string, call?: boolean }} Language */

const SLASHES = "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
const HASH = "#[^\\n]*";
const QUOTED = "\"(?:[^\"\\\\\\n]|\\\\[\\s\\S])*\"?|'(?:[^'\\\\\\n]|\\\\[\\s\\S])*'?";
const TICKED = `\`(?:[^\`\\\\]|\\\\[\\s\\S])*\`?|${QUOTED}`;

/** @type {Record<string, Language>} */
const LANGUAGES = {
  js: {
    comment: SLASHES,
    string: TICKED,
    words:
      "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace never new null number of override private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while yield",
  },
  python: {
    comment: HASH,
    string: `"""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|${QUOTED}`,
    words:
      "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
  },
  rust: {
    comment: SLASHES,
    string: "\"(?:[^\"\\\\]|\\\\[\\s\\S])*\"?|'(?:[^'\\\\\\n]|\\\\.[^'\\n]*)'",
    words:
      "Self as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self static struct super trait true type unsafe use where while",
  },
  go: {
    comment: SLASHES,
    string: TICKED,
    words:
      "any bool break byte case chan const continue default defer else error fallthrough false for func go goto if import int interface map nil package range return rune select string struct switch true type var",
  },
  lua: {
    comment: "--\\[\\[[\\s\\S]*?(?:\\]\\]|$)|--[^\\n]*",
    string: `\\[\\[[\\s\\S]*?(?:\\]\\]|$)|${QUOTED}`,
    words: "and break do else elseif end false for function goto if in local nil not or repeat return self then true until while",
  },
  c: {
    comment: SLASHES,
    string: QUOTED,
    words:
      "abstract auto bool boolean break byte case catch char class const constexpr continue default delete do double else enum explicit extends extern false final finally float for foreach friend fun function goto guard if implements import in include inline instanceof int interface internal is let long match namespace new null nullptr object operator override package private protected public readonly record return sealed short signed sizeof static string struct super suspend switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile when while",
  },
  sh: {
    comment: "(?<![^\\s;(])#[^\\n]*",
    string: "\"(?:[^\"\\\\]|\\\\[\\s\\S])*\"?|'[^']*'?",
    words: "case do done elif else esac exit export fi for function if in local return set then unset until while",
    call: false,
  },
  ruby: {
    comment: HASH,
    string: QUOTED,
    words:
      "and begin break case class def do else elsif end ensure false for if in module next nil not or raise rescue return self super then true unless until when while yield",
  },
  sql: {
    comment: "--[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)",
    string: "'(?:[^']|'')*'?",
    words:
      "add all alter and as asc between by case create default delete desc distinct drop else end exists foreign from full group having in index inner insert into is join key left like limit not null on or order outer primary references right select set table then union unique update values view when where with",
  },
  data: { comment: HASH, string: QUOTED, words: "true false null yes no on off", call: false },
  json: { comment: SLASHES, string: "\"(?:[^\"\\\\\\n]|\\\\.)*\"?", words: "true false null", call: false },
  css: { comment: "/\\*[\\s\\S]*?(?:\\*/|$)", string: QUOTED, words: "important", call: true },
  html: { comment: "<!--[\\s\\S]*?(?:-->|$)", string: "\"[^\"<]*\"", words: "", call: false },
};

/** Aliases. @type {Record<string, string>} */
const NAMES = {
  javascript: "js", jsx: "js", ts: "js", typescript: "js", tsx: "js", mjs: "js", vue: "js", svelte: "js",
  py: "python", python3: "python", rs: "rust", golang: "go", luau: "lua",
  cpp: "c", "c++": "c", h: "c", hpp: "c", java: "c", cs: "c", csharp: "c", kotlin: "c", kt: "c", swift: "c", php: "c", scala: "c", dart: "c", zig: "c", proto: "c",
  bash: "sh", shell: "sh", zsh: "sh", fish: "sh", console: "sh", dockerfile: "sh", make: "sh", makefile: "sh",
  rb: "ruby", yaml: "data", yml: "data", toml: "data", ini: "data", conf: "data", jsonc: "json", json5: "json",
  scss: "css", less: "css", xml: "html", svg: "html",
};

/** @type {Map<string, RegExp>} */
const made = new Map();

/** @param {string} name @param {Language} language */
function pattern(name, { comment, string, words, call = true }) {
  const known = made.get(name);
  if (known) return known;
  const part = (/** @type {string} */ of, /** @type {string|undefined} */ source) => (source ? [`(?<${of}>${source})`] : []);
  const parts = [
    ...part("comment", comment),
    ...part("string", string),
    ...part("keyword", words && `(?<![\\w.$-])(?:${words.split(" ").join("|")})(?![\\w$-])`),
    ...part("number", "(?<![\\w.])(?:0[xob][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)(?!\\w)"),
    ...part("call", call ? "(?<![\\w$])[A-Za-z_$][\\w$]*!?(?=\\()" : ""),
  ];
  const all = new RegExp(parts.join("|"), name === "sql" ? "giu" : "gu");
  made.set(name, all);
  return all;
}

/** @param {string} text @returns {Node[]} */
function diff(text) {
  const kinds = /** @type {Record<string, string>} */ ({ "+": "add", "-": "del", "@": "hunk" });
  return text.split("\n").flatMap((line, at) => {
    const kind = kinds[line[0] ?? ""];
    return [document.createTextNode(at ? "\n" : ""), kind ? el("span", { class: kind }, line) : document.createTextNode(line)];
  });
}

/** @param {string} text @param {string} name of its language @returns {(Node|string)[]} */
function coloured(text, name) {
  const known = name.toLowerCase();
  if (text.length > MOST) return [text];
  if (known === "diff" || known === "patch") return diff(text);
  const its = NAMES[known] ?? known;
  const language = Object.hasOwn(LANGUAGES, its) ? LANGUAGES[its] : undefined;
  if (!language) return [text];
  /** @type {(Node|string)[]} */
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(pattern(its, language))) {
    const kind = Object.entries(found.groups ?? {}).find(([, part]) => part !== undefined)?.[0] ?? "";
    if (found.index > at) nodes.push(text.slice(at, found.index));
    nodes.push(el("span", { class: kind }, found[0]));
    at = found.index + found[0].length;
  }
  return [...nodes, text.slice(at)];
}

/** @param {string} text @returns {HTMLElement} */
export function copyButton(text) {
  const button = el("button", { type: "button", class: "copy", "aria-label": "Copy this code" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
}

/** @param {string} text @param {string} [language] @returns {HTMLElement} */
export function codeBlock(text, language = "") {
  const code = el("code", language ? { "data-language": language } : {}, ...coloured(text, language));
  return el("div", { class: "code" }, el("pre", { tabindex: "0" }, code), copyButton(text));
}
