// Paths, relative to the shown project.

let folder = "";

/** @param {unknown} cwd the shown session's folder */
export function workIn(cwd) {
  folder = typeof cwd === "string" ? cwd.replace(/\/$/, "") : "";
}

/** @param {unknown} path @returns {string} */
export function local(path) {
  const all = String(path ?? "");
  const rest = folder && all.startsWith(`${folder}/`) ? all.slice(folder.length + 1) : "";
  // A path that leads out of the folder, or would become ambiguous, stays as it is.
  return rest && !rest.split("/").some((part) => part === ".." || part === "" || part === ".") ? rest : all;
}
