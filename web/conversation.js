// Converts transcript lines to the items of a conversation: in order, each once. Draws nothing. Invariant: drafts come
// after all items made from lines.
import { endOf, isLaunch } from "./subagent.js";
import { Draft, isOf } from "./draft.js";
import { typedOf } from "./typed.js";

/** @typedef {import("./subagent.js").Background} Background */

/**
 * @typedef {{ key: string, kind: "user"|"claude"|"thinking"|"tool"|"note"|"output", uuid: string|undefined, time: string|undefined,
 *   model?: string, text?: string, images?: any[], tool?: any, result?: any, outcome?: any, denied?: boolean, background?: Background, nested: Item[], script?: Item,
 *   live?: boolean, message?: string, json?: string }} Item
 * @typedef {{ added: Item[], changed: Item[] }} Made
 */

export class Conversation {
  constructor() {
    /** @type {Item[]} */
    this.items = [];
    /** @type {Set<string>} */
    this.seen = new Set();
    /** @type {Map<string, Item>} by the id of the call */
    this.calls = new Map();
    /** @type {Map<string, { result: any, outcome: any, denied: boolean }>} results whose calls are not known yet */
    this.early = new Map();
    /** The call whose script made the calls that follow a line, by its id. @type {Map<string, Item>} */
    this.scripts = new Map();
    /** The ends of background work, by the id of its call and by its own. @type {Map<string, Background>} */
    this.ends = new Map();
    /** @type {string|undefined} the last line with a uuid */
    this.last = undefined;
    /** @type {string|undefined} the first line with a uuid */
    this.first = undefined;
    this.draft = new Draft();
    /** This turn's items without a draft; their drafts may still arrive. @type {{ item: Item, message: string }[]} */
    this.undrafted = [];
  }

  /**
   * Appends a line.
   * @param {any} line
   * @returns {Made}
   */
  append(line) {
    const made = this.#take(line, false);
    if (line.type === "assistant") made.added = made.added.filter((item) => !this.#replaceDraft(item, line.message?.id, made));
    this.items.splice(this.items.length - this.draft.items.length, 0, ...made.added);
    for (const item of made.added) {
      if (item.kind === "user") this.undrafted = [];
      else if (item.kind === "claude" || item.kind === "thinking") this.undrafted.push({ item, message: String(line.message?.id) });
    }
    return made;
  }

  /**
   * Handles a stream event.
   * @param {any} event
   * @returns {Made}
   */
  stream(event) {
    const made = this.draft.take(event);
    this.items.push(...made.added);
    for (const one of [...made.added, ...made.changed]) if (this.#isTold(one)) this.items.splice(this.items.length - this.draft.drop(one), 1);
    return made;
  }

  /** Whether its line arrived before its stream event: the two take different ways. @param {Item} item */
  #isTold(item) {
    if (!this.draft.items.includes(item)) return false;
    if (item.kind === "tool") return this.calls.has(item.tool.id);
    const { message = "", text = "" } = item;
    if (!text.trim()) return false;
    const at = this.undrafted.findIndex(
      (one) => one.item.kind === item.kind && isOf(message, one.message) && one.item.text?.trimStart().startsWith(text.trim()),
    );
    return at >= 0 && this.undrafted.splice(at, 1).length > 0;
  }

  /** Removes drafts that never became a line. @returns {boolean} whether there was anything */
  dropDrafts() {
    const gone = this.draft.clear();
    this.items.length -= gone.length;
    return gone.length > 0;
  }

  /** Merges a line into its draft, which stays the same item; returns whether there was one. @param {Item} item @param {string} message @param {Made} made */
  #replaceDraft(item, message, made) {
    const before = this.draft.items.length;
    const { item: draft, gone } = this.draft.replace(item, message);
    if (!draft) return false;
    this.items.splice(this.items.length - before, gone.length);
    Object.assign(draft, item, { live: false, message: undefined, json: undefined });
    if (item.kind === "tool") this.calls.set(item.tool.id, draft);
    made.changed.push(draft);
    return true;
  }

  /**
   * Prepends lines, given in order; returns the number of new items.
   * @param {any[]} lines
   * @returns {number}
   */
  prepend(lines) {
    const added = lines.flatMap((line) => this.#take(line, true).added);
    const named = lines.find((line) => line.uuid);
    if (named) this.first = named.uuid;
    this.items.unshift(...added);
    return added.length;
  }

  /** @param {any} line @param {boolean} earlier */
  #take(line, earlier) {
    /** @type {{ added: Item[], changed: Item[] }} */
    const made = { added: [], changed: [] };
    if (line.uuid) {
      if (this.seen.has(line.uuid)) return made;
      this.seen.add(line.uuid);
      if (!earlier) this.last = line.uuid;
      this.first ??= line.uuid;
    }
    this.#recordEnd(line, made);
    const items = line.type === "user" ? this.#user(line, made) : line.type === "assistant" ? this.#claude(line) : note(line);
    const parent = line.isSidechain ? this.#agentCall(line) : this.#script(line, items);
    if (parent) {
      parent.nested.push(...items);
      if (items.length) made.changed.push(parent);
    } else {
      made.added.push(...items);
    }
    return made;
  }

  /** The call whose subagent wrote the line: the one it names, else the last one started. @param {any} line */
  #agentCall(line) {
    const named = this.calls.get(line.parentToolUseID ?? line.parent_tool_use_id ?? "");
    const agents = [...this.calls.values()].filter((item) => item.tool.name === "Task" || item.tool.name === "Agent");
    return named ?? agents.at(-1);
  }

  /** The call whose script made these: they follow its result, and each other's. @param {any} line @param {Item[]} items */
  #script(line, items) {
    const script = line.isVirtual && line.type === "assistant" ? this.scripts.get(line.parentUuid) : undefined;
    if (!script) return undefined;
    for (const item of items) item.script = script;
    if (line.uuid) this.scripts.set(line.uuid, script);
    return script;
  }

  /** @param {Item} item @param {{ result: any, outcome: any, denied: boolean }} answer */
  #answer(item, answer) {
    Object.assign(item, answer);
    // The line that reports its end may be known before an earlier line.
    const end = () => this.ends.get(item.tool.id) ?? this.ends.get(answer.outcome.agentId);
    item.background = isLaunch(answer) ? (end() ?? "running") : undefined;
  }

  /** Records the end of background work: it is reported twice, and again after it was woken. @param {any} line @param {{ changed: Item[] }} made */
  #recordEnd(line, made) {
    const report = endOf(line);
    if (!report) return;
    for (const id of [report.call, report.task]) if (id) this.ends.set(id, report.end);
    for (const item of this.calls.values()) {
      const isIt = item.tool.id === report.call || (report.task && item.outcome?.agentId === report.task);
      if (!isIt || !item.background || item.background === report.end) continue;
      item.background = report.end;
      made.changed.push(item);
    }
  }

  /** @param {any} line @param {{ changed: Item[] }} made @returns {Item[]} */
  #user(line, made) {
    const content = line.message?.content;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
    for (const block of blocks.filter((block) => block?.type === "tool_result")) {
      const item = this.calls.get(block.tool_use_id);
      const answer = { result: block, outcome: line.toolUseResult, denied: Boolean(line.toolDenialKind) };
      if (item) {
        this.#answer(item, answer);
        made.changed.push(item.script ?? item);
        if (line.uuid) this.scripts.set(line.uuid, item.script ?? item);
      } else {
        this.early.set(block.tool_use_id, answer);
      }
    }
    if (line.isMeta) return [];
    const texts = blocks.filter((block) => block?.type === "text" && typeof block.text === "string").map((block) => block.text);
    const images = blocks.filter((block) => block?.type === "image");
    const parts = texts.map(typedOf).filter((part) => part.text);
    const text = parts.map((part) => part.text).join("\n\n");
    if (line.isCompactSummary) return [item(line, "thinking", { text, model: "Summary of the earlier messages" })];
    if (!text && !images.length) return [];
    if (parts[0]?.kind === "output") return [item(line, "output", { text })];
    if (/^\[Request interrupted/.test(text)) return [item(line, "note", { text: "Interrupted" })];
    return [item(line, "user", { text, images })];
  }

  /** @param {any} line @returns {Item[]} */
  #claude(line) {
    const content = line.message?.content;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
    return blocks.flatMap((block, at) => {
      if (block?.type === "text" && block.text?.trim()) {
        return [item(line, "claude", { text: block.text, model: line.message.model }, at)];
      } else if (block?.type === "thinking" && block.thinking?.trim()) {
        return [item(line, "thinking", { text: block.thinking }, at)];
      } else if (block?.type === "tool_use") {
        const call = item(line, "tool", { tool: block }, at);
        const early = this.early.get(block.id);
        if (early) this.#answer(call, early);
        this.early.delete(block.id);
        this.calls.set(block.id, call);
        return [call];
      }
      return [];
    });
  }
}

/** @type {WeakMap<Item, { of: unknown[], text: string }>} */
const texts = new WeakMap();

/** The readable text of an item, in lower case. @param {Item} item @returns {string} */
export function textOf(item) {
  const of = [item.text, item.tool, item.result, item.nested.length, ...item.nested.map((one) => one.result)];
  const known = texts.get(item);
  if (known && known.of.length === of.length && known.of.every((one, at) => one === of[at])) return known.text;
  /** @type {string[]} */
  const parts = [item.text ?? ""];
  /** @param {unknown} value */
  const add = (value) => {
    if (typeof value === "string") parts.push(value);
    else if (value && typeof value === "object") Object.values(value).forEach(add);
  };
  if (item.tool) parts.push(String(item.tool.name));
  add(item.tool?.input);
  const { content } = item.result ?? {};
  for (const block of Array.isArray(content) ? content : [content]) add(block?.type === "image" ? "" : (block?.text ?? block));
  parts.push(...item.nested.map(textOf));
  const text = parts.join("\n").toLowerCase();
  texts.set(item, { of, text });
  return text;
}

let unnamed = 0;

/** @param {any} line @param {Item["kind"]} kind @param {Partial<Item>} more @param {number} [at] @returns {Item} */
function item(line, kind, more, at = 0) {
  return { key: `${line.uuid ?? `unnamed-${unnamed++}`}/${at}`, kind, uuid: line.uuid, time: line.timestamp, nested: [], ...more };
}

/** @param {any} line @returns {Item[]} */
function note(line) {
  if (line.type !== "system") return [];
  if (line.subtype === "local_command") {
    const { kind, text } = typedOf(String(line.content ?? ""));
    return text ? [item(line, kind, { text })] : [];
  }
  const words = /** @type {Record<string, string>} */ ({ compact_boundary: "The session was compacted here", api_error: "The model could not be reached" });
  const text = words[line.subtype];
  return text ? [item(line, "note", { text })] : [];
}
