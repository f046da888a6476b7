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
  await fetch("/api/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) });
}

/** @param {string} id */
const path = (id) => `/api/claude/sessions/${encodeURIComponent(id)}`;

export const listSessions = () => get("/api/claude/sessions").then((answer) => answer.sessions);
/** @param {string} id */
export const session = (id) => get(path(id));
/** @param {string} id @param {string} before @param {number} limit */
export const earlier = (id, before, limit) => get(`${path(id)}/messages?limit=${limit}&before=${encodeURIComponent(before)}`);
