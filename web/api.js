// Requests to the server.

export class Refused extends Error {}

/** A request's timeout: a connection can die without an error. */
const PATIENCE = 30_000;

/** The key of a signed-in browser. Not a cookie: those are sent to every port of the host. */
export const key = () => stored("key", ofBrowser);

/** @param {string} path */
export const ask = (path) =>
  fetch(path, { headers: { accept: "application/json", "x-claude-ide-key": key() }, signal: AbortSignal.timeout(PATIENCE) });

/** @param {string} path @returns {Promise<any>} */
export async function get(path) {
  const answer = await ask(path);
  if (answer.status === 401) throw new Refused();
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? `Neovim answered with status ${answer.status}`);
  return body;
}

/** Exchanges the code in the address for a key, and removes it from the address. @returns {Promise<string>} why it failed, or "" */
export async function logIn() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return "";
  history.replaceState(null, "", "/#/");
  try {
    const headers = { "content-type": "application/json" };
    const answer = await fetch("/api/login", { method: "POST", headers, body: JSON.stringify({ code }) });
    const body = await answer.json();
    if (!answer.ok) return body.error ?? `Neovim answered with status ${answer.status}`;
    store("key", body.key, ofBrowser);
    store("site", newId());
    return "";
  } catch {
    return "Neovim did not answer";
  }
}

/** A unique id; works without `crypto.randomUUID`, which needs a secure context. */
export const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Values that the browser refuses to store. @type {Map<string, string>} */
const unkept = new Map();

/** Storage that outlives the tab. */
export const ofBrowser = () => localStorage;
const ofTab = () => sessionStorage;

/** Stores a value. @param {string} name @param {string} value @param {() => Storage} [where] default: for the life of the tab */
export function store(name, value, where = ofTab) {
  unkept.delete(name);
  try {
    if (value) where().setItem(name, value);
    else where().removeItem(name);
  } catch {
    unkept.set(name, value); // Full or forbidden: stored for the life of the page.
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

/** @param {string} [since] a revision: returns the changes after it */
export const listSessions = (since) => get(`/api/claude/sessions${since ? `?since=${since}` : ""}`);
/** @param {string} id */
export const session = (id) => get(path(id));
/** A session's subagents. @param {string} id */
export const agents = (id) => get(`${path(id)}/agents`).then((answer) => answer.agents);
/** @param {string} id @param {string} before @param {number} limit */
export const earlier = (id, before, limit) => get(`${path(id)}/messages?limit=${limit}&before=${encodeURIComponent(before)}`);
