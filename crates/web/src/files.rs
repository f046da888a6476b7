//! The page's files, from `web/`, built into the library: the page, its modules as one script, its style sheets as one.
//! They contain no session data.
//!
//! Script and style sheet are named by a hash of their contents and may be kept by the browser: over a slow link the
//! page takes three round trips the first time, and one later.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use hyper::StatusCode;
use hyper::header::HeaderValue;

use crate::answer::{self, Answer};

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../web/", $name)))
    };
}

/// The modules; those of one depend on none that come later.
const MODULES: &[(&str, &str)] = &[
    file!("api.js"),
    file!("text.js"),
    file!("composer.js"),
    file!("code.js"),
    file!("exact.js"),
    file!("diff.js"),
    file!("guard.js"),
    file!("markdown.js"),
    file!("place.js"),
    file!("decisions.js"),
    file!("threads.js"),
    file!("calls.js"),
    file!("growing.js"),
    file!("subagent.js"),
    file!("draw.js"),
    file!("list.js"),
    file!("notify.js"),
    file!("draft.js"),
    file!("typed.js"),
    file!("conversation.js"),
    file!("find.js"),
    file!("socket.js"),
    file!("agents.js"),
    file!("outbox.js"),
    file!("session.js"),
    file!("window.js"),
    file!("app.js"),
];

const STYLES: &[&str] = &[include_str!("../../../web/app.css"), include_str!("../../../web/write.css")];

const PAGE: &str = include_str!("../../../web/index.html");
/// What the page names, replaced by the hashed names.
const NAMED: [&str; 2] = [
    "<link rel=\"stylesheet\" href=\"/app.css\">\n<link rel=\"stylesheet\" href=\"/write.css\">",
    "<script type=\"module\" src=\"/app.js\">",
];

/// A file as it is sent.
struct File {
    path: String,
    kind: &'static str,
    text: Vec<u8>,
    packed: Vec<u8>,
}

impl File {
    fn new(path: String, kind: &'static str, text: String) -> Self {
        let packed = answer::deflated(text.as_bytes());
        Self { path, kind, text: text.into_bytes(), packed }
    }

    /// A file that browsers keep.
    fn hashed(extension: &str, kind: &'static str, text: String) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self::new(format!("/app-{:016x}.{extension}", hasher.finish()), kind, text)
    }
}

/// The page, the script and the style sheet.
static FILES: LazyLock<[File; 3]> = LazyLock::new(|| {
    let script = File::hashed("js", "text/javascript; charset=utf-8", bundle());
    let style = File::hashed("css", "text/css; charset=utf-8", STYLES.join("\n"));
    let [named_styles, named_script] = NAMED;
    let page = PAGE
        .replace(named_styles, &format!("<link rel=\"stylesheet\" href=\"{}\">", style.path))
        .replace(named_script, &format!("<script type=\"module\" src=\"{}\">", script.path));
    [File::new("/".to_owned(), "text/html; charset=utf-8", page), script, style]
});

/// All modules as one: each is a function that returns what it exports, but for the last, which exports nothing.
fn bundle() -> String {
    let mut script = Vec::new();
    for (at, (name, text)) in MODULES.iter().enumerate() {
        let (mut exports, is_last) = (Vec::new(), at + 1 == MODULES.len());
        script.extend((!is_last).then(|| format!("const {} = (() => {{", variable(name))));
        for line in text.lines() {
            if let Some((names, from)) = import(line) {
                script.push(format!("const {{ {names} }} = {};", variable(from)));
                continue;
            }
            let exported = line.strip_prefix("export ");
            exports.extend(exported.and_then(declared));
            script.push(exported.unwrap_or(line).to_owned());
        }
        script.extend((!is_last).then(|| format!("return {{ {} }};\n}})();", exports.join(", "))));
    }
    script.join("\n")
}

/// `import { a, b } from "./c.js";` → `a, b` and `c.js`.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import { ")?.split_once(" } from \"./")?;
    Some((names, from.strip_suffix("\";")?))
}

/// The name that a declaration declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = ["function ", "class ", "const "].iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|char: char| !(char.is_alphanumeric() || char == '_' || char == '$')).next()
}

fn variable(module: &str) -> String {
    format!("module_{}", module.trim_end_matches(".js"))
}

/// The file for a path.
pub(crate) fn find(path: &str, takes_deflate: bool) -> Option<Answer> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let body = if takes_deflate { &file.packed } else { &file.text };
    let mut found = answer::with(StatusCode::OK, file.kind, body.as_slice());
    if takes_deflate {
        answer::mark_deflated(found.headers_mut());
    }
    if path != "/" {
        let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
        found.headers_mut().insert("cache-control", forever);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_comes_after_those_that_it_imports() {
        let mut known: Vec<&str> = Vec::new();
        for (name, text) in MODULES {
            for line in text.lines().filter(|line| line.starts_with("import")) {
                let (names, from) = import(line).unwrap_or_else(|| panic!("{name}: {line}"));
                assert!(known.contains(&from), "{name} imports {from}, which comes later");
                assert!(!names.contains(" as "), "{name}: {line}");
            }
            known.push(name);
        }
    }

    #[test]
    fn each_export_is_known_by_its_name() {
        for (name, text) in MODULES {
            for line in text.lines().filter_map(|line| line.strip_prefix("export ")) {
                assert!(declared(line).is_some_and(|name| !name.is_empty()), "{name}: {line}");
            }
        }
        assert_eq!(declared("async function a_1(b) {"), Some("a_1"));
        assert_eq!(declared("const $x = 1;"), Some("$x"));
    }

    #[test]
    fn the_page_names_both_files_by_their_contents() {
        let [page, script, style] = &*FILES;
        let text = String::from_utf8(page.text.clone()).unwrap();
        assert!(
            text.contains(&format!("src=\"{}\"", script.path)) && text.contains(&format!("href=\"{}\"", style.path))
        );
        assert!(!text.contains("/app.js") && !text.contains("/app.css"));
        assert!(script.path.starts_with("/app-") && script.packed.len() * 2 < script.text.len());
        assert!(find(&script.path, true).is_some() && find("/app.js", true).is_none());
    }
}
