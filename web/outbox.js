// Messages under way to a session: the user's, each sent once however often the connection drops, and those queued by
// others. Invariant: a message of ours is stored, in the tab's storage too, until the session has it or the user knows
// that it failed.
import { newId, store, stored } from "./api.js";

/**
 * @typedef {{ id: string, content: string, mine: boolean, state: "new"|"queued"|"sent"|"failed", position?: number,
 *   reason?: string, uuid?: string, site?: string, back?: boolean }} Message `back`: the user recalls it
 */

export class Outbox {
  /**
   * @param {string} session
   * @param {(frame: any) => boolean} send
   * @param {() => void} changed
   */
  constructor(session, send, changed) {
    this.name = `outbox:${session}`;
    this.send = send;
    this.changed = changed;
    /** @type {Map<string, Message>} */
    this.messages = new Map();
    this.isReady = false;
    for (const message of restored(this.name)) this.messages.set(message.id, message);
  }

  /** In sending order. */
  get all() {
    const rank = (/** @type {Message} */ one) => (one.state === "sent" ? 0 : one.state === "queued" ? (one.position ?? 1) : 1e6);
    return [...this.messages.values()].sort((a, b) => rank(a) - rank(b));
  }

  /** Moves the messages to another session. @param {string} session */
  move(session) {
    store(this.name, "");
    this.name = `outbox:${session}`;
    this.#keep();
  }

  /** @param {string} content */
  add(content) {
    const message = /** @type {Message} */ ({ id: newId(), content, mine: true, state: "new", site: stored("site") });
    this.messages.set(message.id, message);
    this.#keep();
    if (this.isReady) this.#say(message);
  }

  /** Recalls a message; one of ours is recalled again after a reconnect. @param {string} id */
  cancel(id) {
    const message = this.messages.get(id);
    if (message?.mine) {
      message.back = true;
      this.#keep();
    }
    this.#takeBack(id);
  }

  /** Removes a message that will not be sent. @param {string} id @returns {string} its text */
  take(id) {
    const content = this.messages.get(id)?.content ?? "";
    this.#forget(id);
    return content;
  }

  /** The connection may write: sends unfinished messages again, under their ids. */
  ready() {
    this.isReady = true;
    for (const message of this.messages.values()) {
      if (!message.mine || message.state === "failed") continue;
      this.#say(message);
      if (message.back) this.#takeBack(message.id);
    }
  }

  /** The connection is lost or may no longer write: messages queued by others will be sent again. */
  lost() {
    this.isReady = false;
    for (const message of this.messages.values()) if (!message.mine) this.messages.delete(message.id);
    this.changed();
  }

  /**
   * Handles a report about a message.
   * @param {any} frame
   * @param {(uuid: string) => boolean} isShown
   * @returns {string|undefined} the text of a recalled message of ours
   */
  hear(frame, isShown) {
    const known = this.messages.get(frame.id);
    if (frame.type === "queued") {
      const message = known ?? { id: String(frame.id), content: String(frame.content ?? ""), mine: false };
      this.messages.set(message.id, { ...message, state: "queued", position: Number(frame.position) || 1 });
    } else if (!known) {
      return undefined;
    } else if (frame.type === "sent") {
      known.state = "sent";
    } else if (frame.type === "ack") {
      // Shown until its line arrives.
      if (!frame.uuid || isShown(frame.uuid)) return void this.#forget(known.id);
      Object.assign(known, { state: "sent", uuid: frame.uuid });
    } else if (frame.type === "unqueued" && (frame.reason === "cancelled" || !known.mine)) {
      this.#forget(known.id);
      return known.mine ? known.content : undefined;
    } else if (frame.type === "unqueued" || known.state === "new") {
      Object.assign(known, { state: "failed", reason: frame.reason ?? frame.error });
    } else {
      known.back = false; // too late to recall it
    }
    this.#keep();
    return undefined;
  }

  /** A line appeared. @param {string|undefined} uuid */
  shown(uuid) {
    if (!uuid || !this.messages.size) return;
    for (const message of this.messages.values()) if (message.uuid === uuid) this.#forget(message.id);
  }

  /** @param {string} id */
  #takeBack(id) {
    this.send({ type: "cancel_message", id });
  }

  /** @param {Message} message */
  #say(message) {
    this.send({ type: "user_message", id: message.id, content: message.content });
  }

  /** @param {string} id */
  #forget(id) {
    this.messages.delete(id);
    this.#keep();
  }

  #keep() {
    const mine = [...this.messages.values()].filter((message) => message.mine);
    store(this.name, mine.length ? JSON.stringify(mine) : "");
    this.changed();
  }
}

/** The messages under way when the page was left. A new site does not know whether they arrived. @param {string} name */
function restored(name) {
  /** @type {Message[]} */
  let messages = [];
  try {
    messages = JSON.parse(stored(name) || "[]");
  } catch {
    // Not written by us.
  }
  for (const message of messages) {
    if (message.site === stored("site") || message.state === "failed") continue;
    const reason = message.state === "new" ? "Neovim exited" : "Neovim exited, and Claude may have received it";
    Object.assign(message, { state: "failed", reason });
  }
  return messages;
}
