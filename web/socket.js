// A session's socket that reconnects by itself and resumes after the last line received: no line is lost or repeated.

import { ask, key } from "./api.js";

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8000;
/** Lines sent at first; earlier ones on request. */
const BEGIN_WITH = 80;

/** The interval of pings: a browser may never report a dead connection. */
const BEAT = 10_000;

export class SessionSocket {
  /**
   * @param {string} path of the session
   * @param {{ line: (line: any) => void, frame: (frame: any) => void, online: (is: boolean) => void, refused: () => void }} to
   * @param {() => string|undefined} last the last line received
   */
  constructor(path, to, last) {
    this.path = path;
    this.to = to;
    this.last = last;
    this.pause = FIRST_PAUSE;
    this.closed = false;
    this.trying = false;
    /** @type {WebSocket|undefined} unset after giving up */
    this.socket = undefined;
    /** Whether a ping is unanswered. */
    this.owes = false;
    this.beat = setInterval(() => this.#beat(), BEAT);
    this.#open();
    this.wake = () => {
      if (document.visibilityState === "visible" && this.#isGone) this.#again(0);
    };
    addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.wake);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    clearInterval(this.beat);
    removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.socket?.close();
  }

  /** @param {any} frame */
  send(frame) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  get #isGone() {
    return !this.socket || this.socket.readyState === WebSocket.CLOSED;
  }

  #beat() {
    const { socket } = this;
    if (!socket || this.#isGone) return;
    if (this.owes) {
      this.#ended(socket);
      this.socket = undefined;
      socket.close();
      return;
    }
    this.owes = true;
    this.send({ type: "ping" });
  }

  /** @param {WebSocket} socket */
  #ended(socket) {
    if (this.closed || socket !== this.socket) return;
    this.to.online(false);
    this.#again(this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  #open() {
    const last = this.last();
    const query = last ? `fromUuid=${encodeURIComponent(last)}` : `last=${BEGIN_WITH}`;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}${this.path}/subscribe?${query}`);
    this.socket = socket;
    this.owes = false;
    socket.onopen = () => {
      this.send({ type: "auth", token: key() });
      this.pause = FIRST_PAUSE;
      this.to.online(true);
    };
    socket.onmessage = (event) => {
      if (this.closed || socket !== this.socket) return;
      this.owes = false;
      let frame;
      try {
        frame = JSON.parse(event.data);
      } catch {
        return;
      }
      if (OURS.has(frame?.type)) this.to.frame(frame);
      else if (frame) this.to.line(frame);
    };
    socket.onclose = () => this.#ended(socket);
  }

  /** Retries later, although it was refused. */
  again() {
    if (!this.closed) this.#again(this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  /** @param {number} pause */
  #again(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#try(), pause);
  }

  /** A browser does not say why a socket was refused; a plain request does. One attempt at a time: each opens a socket. */
  async #try() {
    if (this.closed || this.trying || !this.#isGone) return;
    this.trying = true;
    try {
      const answer = await ask(this.path);
      this.trying = false;
      if (this.closed) return;
      if (answer.status === 401 || answer.status === 404) {
        this.to.refused();
        return;
      }
      this.#open();
    } catch {
      this.trying = false;
      this.#again(this.pause);
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
    }
  }
}

/** Types of frames that are no transcript lines. */
const OURS = new Set(
  "pong state typing subscribed caught_up session reset error writing queued sent ack unqueued stream_event decision decision_closed threads commented".split(" "),
);
