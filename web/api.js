// Requests to the server.

export class Refused extends Error {}

/** How long an answer may take: a connection that died in silence brings none. */
const PATIENCE = 30_000;

/** A browser that is let in has a key. It is no cookie: those go to every port of the host. */
export const key = () => stored("key", ofBrowser);

/** @param {string} path */
export const ask = (path) =>
  fetch(path, { headers: { accept: "application/json", "x-claude-ide-key": key() }, signal: AbortSignal.timeout(PATIENCE) });

/** @param {string} path @returns {Promise<any>} */
export async function get(path) {
  const answer = await ask(path);
  if (answer.status === 401) throw new Refused();
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? `It answered ${answer.status}`);
  return body;
}

/** Exchanges the code of the address for a key, and takes it out of the address. @returns {Promise<string>} why that failed, if it did */
export async function logIn() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return "";
  history.replaceState(null, "", "/#/");
  try {
    const headers = { "content-type": "application/json" };
    const answer = await fetch("/api/login", { method: "POST", headers, body: JSON.stringify({ code }) });
    const body = await answer.json();
    if (!answer.ok) return body.error ?? `It answered ${answer.status}`;
    store("key", body.key, ofBrowser);
    store("site", newId());
    return "";
  } catch {
    return "Neovim did not answer";
  }
}

/** An id that nobody else has; also where the browser keeps its own way of making one to itself. */
export const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What the browser does not keep. @type {Map<string, string>} */
const unkept = new Map();

/** What is kept for longer than a tab is there. */
export const ofBrowser = () => localStorage;
const ofTab = () => sessionStorage;

/** Keeps something. @param {string} name @param {string} value @param {() => Storage} [where] as long as the tab is there, unless said otherwise */
export function store(name, value, where = ofTab) {
  unkept.delete(name);
  try {
    if (value) where().setItem(name, value);
    else where().removeItem(name);
  } catch {
    unkept.set(name, value); // No room, or not allowed: it is kept as long as the page is.
  }
}

/** @param {string} name @param {() => Storage} [where] */
export function stored(name, where = ofTab) {
  const value = unkept.get(name);
  if (value !== undefined) return value;
  try {
    return where().getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} id */
export const path = (id) => `/api/claude/sessions/${encodeURIComponent(id)}`;

/** @param {string} [since] a revision: what changed then */
export const listSessions = (since) => get(`/api/claude/sessions${since ? `?since=${since}` : ""}`);
/** @param {string} id */
export const session = (id) => get(path(id));
/** Its subagents. @param {string} id */
export const agents = (id) => get(`${path(id)}/agents`).then((answer) => answer.agents);
/** @param {string} id @param {string} before @param {number} limit */
export const earlier = (id, before, limit) => get(`${path(id)}/messages?limit=${limit}&before=${encodeURIComponent(before)}`);
