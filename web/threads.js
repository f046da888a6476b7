// Threads of comments on lines, as plain text: what the user and Claude said, and a field for a reply. Invariant: a typed reply stays, in
// the tab's storage too, until the editor has it.
import { newId, store, stored } from "./api.js";
import { marked, seen } from "./exact.js";
import { el, short } from "./text.js";

/**
 * @typedef {{ name: string, node: HTMLElement, about: HTMLElement, field: HTMLTextAreaElement, reply: HTMLButtonElement, send: HTMLButtonElement,
 *   resolve: HTMLButtonElement, hint: HTMLElement, frame: any, stale: boolean, asked?: string, said?: string }} View
 *   `asked`: the request under way; `said`: the reply sent last
 */

const STATES = /** @type {Record<string, string>} */ ({
  remark: "Remark",
  draft: "Not sent",
  waits: "Waits for Claude",
  sent: "No answer yet",
  answered: "Answered",
  done: "Done (Claude)",
  resolved: "Resolved",
});
const LONGEST = 4000;

export class Threads {
  /**
   * @param {{ box: HTMLElement, count: HTMLElement, list: HTMLElement }} parts
   * @param {(frame: any) => boolean} send
   * @param {(words: string) => void} say for screen readers
   * @param {(words: string) => void} keep saves a typed reply whose thread is gone
   */
  constructor(parts, send, say, keep) {
    this.parts = parts;
    this.send = send;
    this.say = say;
    this.keep = keep;
    this.session = "";
    this.canWrite = false;
    /** @type {Map<string, View>} */
    this.views = new Map();
  }

  /** Shows another session. Replies typed for the last one stay in storage. @param {string} session */
  begin(session) {
    this.session = session;
    this.views.clear();
    this.parts.list.replaceChildren();
    this.#count();
  }

  /** The process moved to another session, which has threads of its own. @param {string} session */
  move(session) {
    for (const view of this.views.values()) this.#remove(view);
    this.begin(session);
  }

  /** Handles a frame; returns whether it is about a thread. @param {any} frame */
  hear(frame) {
    if (frame.type === "threads") {
      if (frame.sessionId === this.session) this.#show(list(frame.threads));
      return true;
    }
    const view = [...this.views.values()].find((one) => one.asked !== undefined && one.asked === frame.id);
    if (!view) return false;
    view.asked = undefined;
    if (frame.type === "commented") this.#taken(view);
    tell(view, frame.type === "error" ? `Not done: ${seen(frame.reason ?? frame.error)}` : "");
    this.#enable(view);
    return true;
  }

  /** @param {boolean} can */
  allow(can) {
    this.canWrite = can;
    for (const view of this.views.values()) this.#enable(view);
  }

  /** The connection is lost: the threads will be sent again. */
  lost() {
    for (const view of this.views.values()) {
      if (view.asked) tell(view, "Offline: it is not known whether Neovim has it.");
      Object.assign(view, { stale: true, asked: undefined });
    }
    this.allow(false);
  }

  /** The connection is back: removes the threads that were not sent again. */
  back() {
    for (const view of [...this.views.values()]) if (view.stale) this.#remove(view);
    this.#count();
  }

  /** Opens the list. */
  focus() {
    const details = this.parts.box.querySelector("details");
    if (!details || this.parts.box.hidden) return;
    details.open = true;
    details.querySelector("summary")?.focus();
  }

  /** @param {any[]} frames */
  #show(frames) {
    const focused = /** @type {HTMLElement|null} */ (document.activeElement);
    const names = new Set(frames.map((frame) => String(frame.name)));
    for (const view of [...this.views.values()]) if (!names.has(view.name)) this.#remove(view);
    frames.forEach((frame, at) => {
      const view = this.views.get(String(frame.name)) ?? this.#add(String(frame.name));
      view.stale = false;
      if (JSON.stringify(view.frame) !== JSON.stringify(frame)) this.#draw(view, frame);
      const there = this.parts.list.children[at];
      if (there !== view.node) this.parts.list.insertBefore(view.node, there ?? null);
    });
    this.#count();
    // A thread that moves loses the focus.
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  /** @param {string} name @returns {View} */
  #add(name) {
    const about = el("div", { class: "about" });
    const field = /** @type {HTMLTextAreaElement} */ (el("textarea", { class: "words", rows: "1", placeholder: "Reply", "aria-label": "Reply" }));
    field.maxLength = LONGEST;
    field.value = stored(this.#nameOf(name));
    const [reply, send, resolve] = ["Reply", "Send", "Resolve"].map((label) => /** @type {HTMLButtonElement} */ (el("button", { type: "button", class: "small" }, label)));
    const hint = el("p", { class: "hint", role: "status" });
    const node = el("section", { class: "thread", role: "group", tabindex: "-1" }, about, field, el("footer", {}, reply, send, resolve), hint);
    const view = /** @type {View} */ ({ name, node, about, field, reply, send, resolve, hint, frame: undefined, stale: false });
    field.addEventListener("input", () => {
      store(this.#nameOf(name), field.value);
      tell(view, "");
      this.#enable(view);
    });
    field.addEventListener("keydown", (event) => event.key === "Escape" && field.blur());
    reply.addEventListener("click", () => field.value.trim() && this.#act(view, "reply", field.value));
    send.addEventListener("click", () => this.#act(view, "send"));
    resolve.addEventListener("click", () => this.#act(view, view.frame.state === "resolved" ? "reopen" : "resolve"));
    this.views.set(name, view);
    return view;
  }

  /** @param {View} view @param {any} frame */
  #draw(view, frame) {
    const before = view.frame;
    view.frame = frame;
    const label = STATES[stateOf(frame)] ?? "";
    const place = seen(frame.place);
    const head = el("header", {}, el("span", { class: "file" }, place), " ", el("span", { class: "badge" }, label));
    const lines = list(frame.lines).length ? [el("pre", {}, el("code", {}, ...marked(frame.lines.join("\n"))))] : [];
    const entries = list(frame.entries);
    const earlier = frame.earlier > 0 ? [el("p", { class: "hint" }, `Earlier replies are in Neovim: ${frame.earlier}`)] : [];
    const said = entries.map((entry) => saidBy(entry.by === "claude" ? "Claude" : "You", entry.words));
    const draft = hasDraft(frame) ? [saidBy(`You · ${small(label)}`, frame.draft)] : [];
    const problem = frame.problem ? [el("p", { class: "hint" }, `Not sent: ${seen(frame.problem)}`)] : [];
    view.about.replaceChildren(head, ...lines, ...earlier, ...said, ...draft, ...problem);
    view.node.setAttribute("aria-label", `${short(place)}: ${label}`);
    view.resolve.textContent = frame.state === "resolved" ? "Reopen" : "Resolve";
    // The answer to a reply may have been lost with the connection.
    if (view.said && !view.asked && [entries.at(-1)?.words, frame.draft].includes(view.said.trim())) this.#taken(view);
    const last = entries.at(-1);
    if (before && last?.by === "claude" && JSON.stringify(last) !== JSON.stringify(list(before.entries).at(-1))) {
      this.say(`Claude answered on ${short(place, 60)}: ${short(last.words, 200)}`);
    }
    this.#enable(view);
  }

  /** @param {View} view @param {string} act @param {string} [words] */
  #act(view, act, words) {
    const id = newId();
    const frame = { type: "comment", id, thread: view.name, act, ...(words ? { words } : {}) };
    if (view.asked || !this.send(frame)) return;
    Object.assign(view, { asked: id, said: words });
    tell(view, "Sending…");
    this.#enable(view);
  }

  /** Neovim has the reply. @param {View} view */
  #taken(view) {
    if (view.said !== undefined && view.field.value === view.said) {
      view.field.value = "";
      store(this.#nameOf(view.name), "");
      tell(view, "");
    }
    view.said = undefined;
  }

  /** Shows what can be done now. @param {View} view */
  #enable(view) {
    const { field, reply, send, resolve, frame, asked, node } = view;
    const waits = hasDraft(frame);
    const focused = /** @type {HTMLElement|null} */ (node.contains(document.activeElement) ? document.activeElement : null);
    field.hidden = !field.value && (!this.canWrite || waits);
    field.readOnly = !this.canWrite || asked !== undefined;
    reply.hidden = !this.canWrite || field.hidden;
    reply.disabled = asked !== undefined || waits || !field.value.trim();
    send.hidden = !this.canWrite || !waits || frame.waits;
    resolve.hidden = !this.canWrite || waits;
    send.disabled = resolve.disabled = asked !== undefined;
    if (focused && !focused.checkVisibility()) node.focus({ preventScroll: true });
  }

  /** @param {View} view */
  #remove(view) {
    if (view.field.value.trim()) this.keep(view.field.value);
    store(this.#nameOf(view.name), "");
    this.views.delete(view.name);
    view.node.remove();
  }

  #count() {
    const { box, count } = this.parts;
    const states = [...this.views.values()].map((view) => stateOf(view.frame));
    const counts = Object.keys(STATES).map((state) => [STATES[state], states.filter((one) => one === state).length]);
    count.textContent = counts.filter(([, number]) => number).map(([label, number]) => `${number} ${small(String(label))}`).join(" · ");
    box.hidden = !states.length;
  }

  /** Where a typed reply is stored. @param {string} name */
  #nameOf(name) {
    return `reply:${this.session}:${name}`;
  }
}

/** @param {unknown} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);

/** A key of `STATES`. @param {any} frame */
function stateOf(frame) {
  if (frame.waits) return "waits";
  return frame.state === "answered" && list(frame.entries).every((entry) => entry.by === "claude") && !frame.earlier ? "remark" : String(frame.state);
}

/** A label within a line. @param {string} label */
const small = (label) => label.slice(0, 1).toLowerCase() + label.slice(1);

/** @param {any} frame */
const hasDraft = (frame) => typeof frame?.draft === "string";

/** @param {View} view @param {string} words */
function tell(view, words) {
  if (view.hint.textContent !== words) view.hint.textContent = words;
}

/** @param {string} who @param {unknown} words */
const saidBy = (who, words) => el("div", { class: "said" }, el("p", { class: "who" }, who), el("div", { class: "typed", dir: "auto" }, ...marked(words)));
