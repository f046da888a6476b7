// The shown session: its lines, the streamed reply, open requests, messages under way. Invariant: after a reconnect
// only lines stay; everything else is shown only if it is sent again.
import { Refused, earlier, newId, path, session, store, stored } from "./api.js";
import { Agents } from "./agents.js";
import { Conversation } from "./conversation.js";
import { Outbox } from "./outbox.js";
import { SessionSocket } from "./socket.js";
import { short } from "./text.js";

const PAGE = 100;
/** A line may arrive a little after its session became idle. */
const LATE = 2000;
const NEWS = new Set(["queued", "sent", "ack", "unqueued"]);

/**
 * The parts of the page that show it.
 * @typedef {{ view: import("./window.js").Window<import("./conversation.js").Item>, scroller: HTMLElement,
 *   composer: import("./composer.js").Composer, decisions: import("./decisions.js").Decisions,
 *   threads: import("./threads.js").Threads, say: (words: string) => void,
 *   drawState: (trouble?: string) => void, offline: (is: boolean) => void, refused: () => void, missing: () => void, moved: (id: string) => void,
 *   again: () => void }} Stage
 */

export class Session {
  /** @param {string} id @param {string} title @param {Stage} stage */
  constructor(id, title, stage) {
    this.id = id;
    this.title = title;
    this.stage = stage;
    this.state = "";
    this.conversation = new Conversation();
    this.isHistory = true;
    this.loading = false;
    this.done = false;
    this.closed = false;
    /** Whether a missing session may still appear. */
    this.mayCome = false;
    /** Whether the user wants to write here. */
    this.wants = stored(`write:${id}`) === "on";
    this.canWrite = false;
    /** The id of an interrupt request, until it succeeded or failed. @type {string|undefined} */
    this.stopping = undefined;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.dropping = undefined;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.cardless = undefined;
    /** Whether it has waited long enough that a card should have arrived. */
    this.isCardless = false;
    /** Lines and events since the last frame of the screen, in order. @type {any[]} */
    this.arrived = [];
    this.outbox = new Outbox(id, (frame) => this.socket.send(frame), () => stage.composer.draw());
    this.agents = new Agents(id, stage.scroller);
    stage.decisions.clear();
    stage.threads.begin(id);
    stage.composer.begin(id, this.outbox);
    stage.view.set(this.conversation.items);
    const to = {
      line: (/** @type {any} */ line) => this.#take(line),
      frame: (/** @type {any} */ frame) => this.#hear(frame),
      online: (/** @type {boolean} */ is) => this.#online(is),
      refused: () => this.#refused(),
    };
    this.socket = new SessionSocket(path(id), to, () => this.conversation.last);
  }

  close() {
    this.closed = true;
    this.#load(false);
    clearTimeout(this.dropping);
    clearTimeout(this.cardless);
    this.socket.close();
    this.agents.close();
    this.stage.decisions.clear();
    this.stage.threads.begin("");
    this.stage.composer.end();
  }

  /** Requests or gives up writing. @param {boolean} wants */
  write(wants) {
    this.wants = wants;
    store(`write:${this.id}`, wants ? "on" : "");
    this.socket.send({ type: "write", on: wants });
    this.stage.drawState();
  }

  /** Interrupts Claude. */
  stop() {
    const id = newId();
    if (!this.stopping && this.socket.send({ type: "interrupt", id })) this.stopping = id;
    this.stage.drawState();
  }

  /** @param {number} [limit] */
  async loadEarlier(limit = PAGE) {
    const { conversation } = this;
    if (this.loading || this.done || this.isHistory || !conversation.first) return;
    this.#load(true);
    // The page may show another session by then.
    const isLeft = () => this.closed || conversation !== this.conversation;
    try {
      const page = await earlier(this.id, conversation.first, limit);
      if (isLeft()) return;
      this.done = !page.hasMore;
      this.stage.view.prepended(conversation.prepend(page.messages));
    } catch (error) {
      if (error instanceof Refused) this.stage.refused();
    } finally {
      if (!isLeft()) this.#load(false);
    }
  }

  /** @param {boolean} is */
  #load(is) {
    this.loading = is;
    this.stage.scroller.setAttribute("aria-busy", String(is));
  }

  /** Lines come in bursts and are handled together, once a frame. @param {any} line */
  #take(line) {
    if (this.arrived.push(line) === 1) requestAnimationFrame(() => this.#takeArrived());
  }

  #takeArrived() {
    const lines = this.arrived.splice(0);
    if (this.closed || !lines.length) return;
    const { conversation, stage } = this;
    const wasEmpty = !conversation.items.length;
    /** @type {Set<import("./conversation.js").Item>} */
    const changed = new Set();
    for (const line of lines) {
      const isEvent = line.type === "stream_event";
      const made = isEvent ? conversation.stream(line.event) : conversation.append(line);
      for (const item of made.changed) changed.add(item);
      if (isEvent) continue;
      this.outbox.shown(line.uuid);
      const text = [...made.changed, ...made.added].findLast((item) => item.kind === "claude" && !item.live);
      if (text && !this.isHistory) stage.say(`Claude: ${short(text.text, 200)}`);
    }
    if (wasEmpty) stage.view.set(conversation.items);
    else stage.view.appended([...changed]);
  }

  /** Handles a frame that is no line. @param {any} frame */
  #hear(frame) {
    if (this.closed) return;
    const { stage } = this;
    if (frame.type === "stream_event") {
      this.#take(frame);
      if (this.dropping) this.#dropLater(frame.event?.type === "message_start");
    } else if (frame.type === "state") this.#state(frame);
    else if (frame.type === "decision" || frame.type === "decision_closed") {
      stage.decisions.hear(frame);
      stage.drawState();
    } else if (frame.type === "threads" || frame.type === "commented") stage.threads.hear(frame);
    else if (NEWS.has(frame.type)) this.#news(frame);
    else if (frame.type === "error") this.#error(frame);
    else if (frame.type === "writing") this.#writing(frame.on === true);
    else if (frame.type === "caught_up") {
      this.#takeArrived();
      this.isHistory = false;
      stage.view.update();
      stage.decisions.back();
      stage.threads.back();
    } else if (frame.type === "session") this.#moved(String(frame.sessionId));
    else if (frame.type === "reset" || (frame.type === "subscribed" && !frame.found)) stage.again();
  }

  /** @param {any} frame */
  #state(frame) {
    if (frame.state === "waiting" && this.state !== "waiting") this.stage.say("Claude waits for you");
    if (frame.state !== this.state) this.#awaitCard(frame.state === "waiting");
    this.state = frame.state;
    if (frame.state !== "working") this.stopping = undefined;
    if (frame.canWrite !== undefined) this.#writing(frame.canWrite === true);
    this.#dropLater();
    this.stage.drawState();
  }

  /** Whether it waits without a card: for a CLI's dialog that only its terminal shows. */
  get isAskedElsewhere() {
    return this.state === "waiting" && this.isCardless && !this.stage.decisions.cards.size;
  }

  /** @param {boolean} waits */
  #awaitCard(waits) {
    clearTimeout(this.cardless);
    this.isCardless = false;
    if (!waits) return;
    this.cardless = setTimeout(() => {
      this.isCardless = true;
      this.stage.drawState();
    }, LATE);
  }

  /** @param {boolean} can */
  #writing(can) {
    const could = this.canWrite;
    this.canWrite = can;
    this.stage.composer.allow(can);
    this.stage.decisions.allow(can);
    this.stage.threads.allow(can);
    if (can && !could) this.outbox.ready();
    if (!can && could) this.outbox.lost();
    this.stage.drawState();
  }

  /** @param {any} frame */
  #news(frame) {
    const back = this.outbox.hear(frame, (uuid) => this.conversation.seen.has(uuid));
    if (back !== undefined) this.stage.composer.give(back);
    if (frame.type === "unqueued") this.stage.say(back === undefined ? "A prompt was not sent" : "The prompt is back in its field");
  }

  /** @param {any} frame */
  #error(frame) {
    const words = short(frame.reason ?? frame.error, 200);
    if (typeof frame.id === "number") return this.stage.decisions.hear(frame);
    if (this.stage.threads.hear(frame)) return;
    if (frame.id === this.stopping && this.stopping) {
      this.stopping = undefined;
      return this.stage.drawState(words);
    }
    if (frame.id !== undefined && frame.id !== null) return this.#news(frame);
    if (this.wants && !this.canWrite) {
      this.wants = false;
      store(`write:${this.id}`, "");
      this.stage.drawState(words);
    }
    this.stage.say(words);
  }

  /** @param {boolean} is */
  #online(is) {
    this.stage.offline(!is);
    if (is) {
      if (this.wants) this.socket.send({ type: "write", on: true });
      return;
    }
    this.canWrite = false;
    this.stopping = undefined;
    this.outbox.lost();
    this.stage.decisions.lost();
    this.stage.threads.lost();
    this.stage.composer.allow(false);
    this.#takeArrived();
    this.#dropDrafts();
    this.stage.drawState();
  }

  /** The process moved to another session, as after /clear; the connection follows. Its transcript may only appear with the first prompt. @param {string} id */
  #moved(id) {
    this.#takeArrived();
    this.id = id;
    this.state = "";
    clearTimeout(this.dropping);
    this.mayCome = true;
    this.socket.path = path(id);
    this.conversation = new Conversation();
    this.isHistory = true;
    this.done = false;
    this.#load(false);
    this.agents.close();
    this.agents = new Agents(id, this.stage.scroller);
    this.stage.view.set(this.conversation.items);
    this.outbox.move(id);
    this.stage.threads.move(id);
    this.stage.composer.move(id);
    store(`write:${id}`, this.wants ? "on" : "");
    this.stage.moved(id);
  }

  /** Removes drafts without a line, a while after the session became idle or after the last draft event, whichever is later; not drafts that begin after that. @param {boolean} [begins] */
  #dropLater(begins) {
    clearTimeout(this.dropping);
    this.dropping = undefined;
    if (begins || (this.state !== "idle" && this.state !== "gone")) return;
    this.dropping = setTimeout(() => {
      this.dropping = undefined;
      this.#dropDrafts();
    }, LATE);
  }

  #dropDrafts() {
    if (this.conversation.dropDrafts()) this.stage.view.update();
  }

  async #refused() {
    this.stage.offline(true);
    try {
      await session(this.id);
      this.socket.again(); // it has appeared meanwhile
    } catch (error) {
      if (this.closed) return;
      if (error instanceof Refused) this.stage.refused();
      else if (this.mayCome) this.socket.again();
      else this.stage.missing();
    }
  }
}
