// A session's subagents: each has its own transcript, shown inside the call that started it while that call is open,
// and updated as it is written.
import { agents, path } from "./api.js";
import { Conversation } from "./conversation.js";
import { draw } from "./draw.js";
import { SessionSocket } from "./socket.js";
import { el, keepingFocus } from "./text.js";

/** A subagent's file may appear a little after its call. */
const LOOK_AGAIN = 1500;
/** How many of a long one's items are in the document. */
const MOST = 300;

/** @typedef {{ box: HTMLElement, socket?: SessionSocket, timer?: ReturnType<typeof setTimeout> }} Shown */

export class Agents {
  /** @param {string} session @param {HTMLElement} root in which calls are opened */
  constructor(session, root) {
    this.session = session;
    /** @type {Map<string, Shown>} by the call */
    this.shown = new Map();
    this.closed = false;
    this.onToggle = (/** @type {Event} */ event) => this.#toggled(/** @type {HTMLDetailsElement} */ (event.target));
    this.root = root;
    root.addEventListener("toggle", this.onToggle, true);
  }

  close() {
    this.closed = true;
    this.root.removeEventListener("toggle", this.onToggle, true);
    for (const call of this.shown.keys()) this.#end(call);
  }

  /** @param {HTMLDetailsElement} fold */
  #toggled(fold) {
    // The fold's own listener makes the inside, and runs after this one.
    setTimeout(() => {
      const place = /** @type {HTMLElement|null} */ (fold.querySelector(":scope > .inside > .nested[data-call]"));
      const call = place?.dataset.call;
      if (!place || !call || this.closed) return;
      if (!fold.open) return this.#end(call);
      let shown = this.shown.get(call);
      if (!shown) {
        shown = { box: el("div", { class: "agent" }, el("p", { class: "hint" }, "Loading the transcript…")) };
        this.shown.set(call, shown);
        void this.#find(call, shown);
      }
      // It may have been redrawn.
      if (shown.box.parentElement !== place) place.replaceChildren(shown.box);
    });
  }

  /** @param {string} call */
  #end(call) {
    const shown = this.shown.get(call);
    clearTimeout(shown?.timer);
    shown?.socket?.close();
    this.shown.delete(call);
  }

  /** @param {string} call @param {Shown} shown */
  async #find(call, shown) {
    /** @type {any} */
    let agent;
    try {
      agent = (await agents(this.session)).find((/** @type {any} */ one) => one.toolUseId === call);
    } catch {
      // Look again later.
    }
    if (this.closed || this.shown.get(call) !== shown) return;
    if (!agent) {
      shown.box.replaceChildren(el("p", { class: "hint" }, "This subagent has no transcript yet."));
      shown.timer = setTimeout(() => void this.#find(call, shown), LOOK_AGAIN);
      return;
    }
    shown.box.replaceChildren();
    this.#read(`${path(this.session)}/agents/${encodeURIComponent(agent.id)}`, shown);
  }

  /** @param {string} of @param {Shown} shown */
  #read(of, shown) {
    const conversation = new Conversation();
    /** @type {Map<import("./conversation.js").Item, HTMLElement>} */
    const drawn = new Map();
    let left = 0;
    const line = (/** @type {any} */ line) => {
      // The whole file is a side chain; here it is the conversation.
      const { added, changed } = conversation.append({ ...line, isSidechain: false });
      for (const item of added) {
        // The call above shows the subagent's prompt.
        if (item.kind === "user" && item === conversation.items[0]) continue;
        const node = draw(item);
        drawn.set(item, node);
        shown.box.append(node);
      }
      for (const item of changed) {
        const node = draw(item);
        keepingFocus(shown.box, () => drawn.get(item)?.replaceWith(node));
        drawn.set(item, node);
      }
      const hint = shown.box.querySelector(":scope > .hint") ?? el("p", { class: "hint" });
      hint.remove();
      for (; shown.box.childElementCount > MOST; left++) shown.box.firstElementChild?.remove();
      if (left) shown.box.prepend(hint);
      hint.textContent = `${left} earlier messages are not shown`;
    };
    const to = { line, frame: () => {}, online: () => {}, refused: () => {} };
    shown.socket = new SessionSocket(of, to, () => conversation.last);
  }
}
