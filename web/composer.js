// The message field and the messages under way, shown below the conversation while this page may write. Invariant:
// typed text stays, in the tab's storage too, until it is sent.
import { store, stored } from "./api.js";
import { el, keepingFocus, plain, short } from "./text.js";

/** @typedef {import("./outbox.js").Outbox} Outbox */

const HIGHEST = 240;
/** A frame takes 1 MiB. */
const LONGEST = 200_000;

export class Composer {
  /**
   * @param {{ box: HTMLElement, queue: HTMLElement, field: HTMLTextAreaElement, send: HTMLButtonElement, hint: HTMLElement }} parts
   * @param {(words: string) => void} say for screen readers
   */
  constructor(parts, say) {
    this.parts = parts;
    this.say = say;
    /** @type {Outbox|undefined} */
    this.outbox = undefined;
    this.name = "";
    parts.field.maxLength = LONGEST;
    parts.field.addEventListener("input", () => {
      this.hint("");
      this.#typed();
    });
    parts.field.addEventListener("keydown", (event) => this.#onKey(event));
    parts.send.addEventListener("click", () => this.#send());
  }

  /** @param {string} session @param {Outbox} outbox */
  begin(session, outbox) {
    this.outbox = outbox;
    this.name = `typed:${session}`;
    this.parts.field.value = stored(this.name);
    this.allow(false);
    this.draw();
    this.#fit();
  }

  /** Moves the typed text to another session. @param {string} session */
  move(session) {
    store(this.name, "");
    this.name = `typed:${session}`;
    this.#typed();
  }

  end() {
    this.outbox = undefined;
    this.parts.box.hidden = true;
    this.parts.queue.replaceChildren();
  }

  /** @param {boolean} can whether this page may write now */
  allow(can) {
    this.parts.box.hidden = !can && !this.parts.field.value;
    this.parts.field.readOnly = !can;
    this.parts.send.disabled = !can;
    if (can) this.hint("");
    this.#fit();
  }

  /** @param {string} words */
  hint(words) {
    this.parts.hint.textContent = words;
  }

  focus() {
    if (!this.parts.box.hidden) this.parts.field.focus();
  }

  /** Returns a message to the field for editing, without replacing newer text. @param {string} content @param {boolean} [goThere] */
  give(content, goThere = true) {
    const { field } = this.parts;
    field.value = field.value.trim() ? `${content}\n\n${field.value}` : content;
    this.#typed();
    this.parts.box.hidden = false;
    if (goThere) this.focus();
    else this.hint("Your text was not sent with an answer: it is here.");
  }

  draw() {
    const messages = this.outbox?.all ?? [];
    keepingFocus(this.parts.queue, () => this.parts.queue.replaceChildren(...messages.map((message) => this.#row(message))));
    this.parts.queue.hidden = !messages.length;
  }

  /** @param {import("./outbox.js").Message} message */
  #row(message) {
    const queued = message.back ? "Cancelling…" : `Queued (${message.position})`;
    const states = { new: "Sending…", queued, sent: "Sent", failed: `Not sent: ${plain(message.reason)}` };
    const words = states[message.state] + (message.mine ? "" : ", from another client");
    /** @param {string} label @param {() => void} action */
    const button = (label, action) => {
      const node = el("button", { type: "button", class: "small", "aria-label": `${label}: ${short(message.content, 40)}` }, label);
      node.addEventListener("click", action);
      return node;
    };
    const buttons = [];
    if (message.state === "queued") buttons.push(button("Cancel", () => this.outbox?.cancel(message.id)));
    if (message.state === "failed") {
      buttons.push(button("Edit again", () => this.give(this.outbox?.take(message.id) ?? "")));
      buttons.push(button("Dismiss", () => this.outbox?.take(message.id)));
    }
    const text = el("span", { class: "text", title: plain(message.content).slice(0, 2000) }, short(message.content, 300));
    return el("li", { class: message.state }, text, el("span", { class: "how" }, words), ...buttons);
  }

  #typed() {
    store(this.name, this.parts.field.value);
    this.#fit();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.key === "Escape") this.parts.field.blur();
    // Without other keys (phones), Enter makes a new line and the button sends.
    const sends = event.key === "Enter" && !event.shiftKey && !event.isComposing && !matchMedia("(pointer: coarse)").matches;
    if (!sends) return;
    event.preventDefault();
    this.#send();
  }

  #send() {
    const { field, send } = this.parts;
    const content = field.value;
    if (!content.trim() || send.disabled) return;
    field.value = "";
    this.#typed();
    this.outbox?.add(content);
    this.say("Sending the prompt");
    field.focus();
  }

  /** Grows with its content, up to a limit. */
  #fit() {
    const { field } = this.parts;
    field.style.height = "auto";
    if (!this.parts.box.hidden) field.style.height = `${Math.min(field.scrollHeight + 2, HIGHEST)}px`;
  }
}
