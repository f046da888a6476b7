// Paths as they are called in the project that is shown.

let folder = "";

/** @param {unknown} cwd where the session that is shown began */
export function workIn(cwd) {
  folder = typeof cwd === "string" ? cwd.replace(/\/$/, "") : "";
}

/** @param {unknown} path @returns {string} */
export function local(path) {
  const all = String(path ?? "");
  const rest = folder && all.startsWith(`${folder}/`) ? all.slice(folder.length + 1) : "";
  // What leads out of the folder again, or would be read as something else, stays as it is.
  return rest && !rest.split("/").some((part) => part === ".." || part === "" || part === ".") ? rest : all;
}
