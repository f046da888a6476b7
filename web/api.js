// Requests to the server.

export class Refused extends Error {}

/** @param {string} path @returns {Promise<any>} */
export async function get(path) {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (answer.status === 401 || answer.status === 429) throw new Refused();
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? `It answered ${answer.status}`);
  return body;
}

/** Exchanges the code of the address for a cookie, and takes it out of the address. */
export async function logIn() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", "/#/");
  const headers = { "content-type": "application/json" };
  const answer = await fetch("/api/login", { method: "POST", headers, body: JSON.stringify({ code }) });
  if (answer.ok) store("site", newId());
}

/** An id that nobody else has; also where the browser keeps its own way of making one to itself. */
export const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** What the browser does not keep. @type {Map<string, string>} */
const unkept = new Map();

/** Keeps something for as long as the tab is there. @param {string} name @param {string} value */
export function store(name, value) {
  unkept.delete(name);
  try {
    if (value) sessionStorage.setItem(name, value);
    else sessionStorage.removeItem(name);
  } catch {
    unkept.set(name, value); // No room, or not allowed: it is kept as long as the page is.
  }
}

/** @param {string} name */
export function stored(name) {
  const value = unkept.get(name);
  if (value !== undefined) return value;
  try {
    return sessionStorage.getItem(name) ?? "";
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
