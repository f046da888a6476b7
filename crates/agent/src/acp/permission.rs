//! Converts an agent's permission requests for the user, and the answers for the agent.

use serde_json::{Map, Value, json};

use super::calls;
use super::moves::{self, Diff, with_lf};
use crate::ask::{Change, ChoiceKind, Edit, Part, Permission, PermissionChoice, Step, Style};
use crate::json::{list, text};

/// An answer offered by the agent.
#[derive(Debug, Clone)]
pub(super) struct Offered {
    /// `None`: not among the agent's, and sent as `cancelled`.
    id: Option<String>,
    name: String,
    kind: ChoiceKind,
}

fn is_allowing(kind: ChoiceKind) -> bool {
    matches!(kind, ChoiceKind::AllowOnce | ChoiceKind::AllowAlways)
}

/// The answers of a request. One of them always refuses: if the agent offers none, it is sent as `cancelled`.
pub(super) fn offered(params: &Value) -> Vec<Offered> {
    let offer = |one: &Value| {
        let kind = match one.get("kind")?.as_str()? {
            "allow_once" => ChoiceKind::AllowOnce,
            "allow_always" => ChoiceKind::AllowAlways,
            "reject_once" => ChoiceKind::RejectOnce,
            "reject_always" => ChoiceKind::RejectAlways,
            _ => return None,
        };
        let id = one.get("optionId").and_then(Value::as_str).map(str::to_owned);
        Some(Offered { id, name: text(one.get("name")).unwrap_or_default(), kind })
    };
    let mut offered: Vec<Offered> = list(params.get("options")).filter_map(offer).collect();
    if offered.iter().all(|one| is_allowing(one.kind)) {
        offered.push(Offered { id: None, name: "None of these".to_owned(), kind: ChoiceKind::RejectOnce });
    }
    offered
}

/// The answer in the protocol's form. Never an answer of the other kind with the same name.
pub(super) fn outcome(offered: &[Offered], choice: Option<&str>, is_allowed: bool) -> Value {
    let kinds = if is_allowed {
        [ChoiceKind::AllowOnce, ChoiceKind::AllowAlways]
    } else {
        [ChoiceKind::RejectOnce, ChoiceKind::RejectAlways]
    };
    let chosen = match choice {
        Some(choice) => offered.iter().enumerate().find(|(at, _)| id_of(*at) == choice).map(|(_, one)| one),
        None => kinds.iter().find_map(|kind| offered.iter().find(|one| one.kind == *kind)),
    };
    let chosen = chosen.filter(|one| is_allowing(one.kind) == is_allowed);
    let is_doubtful =
        |id: &String| !is_allowed && offered.iter().any(|one| is_allowing(one.kind) && one.id.as_ref() == Some(id));
    match chosen.and_then(|one| one.id.as_ref()).filter(|id| !is_doubtful(id)) {
        Some(id) => json!({ "outcome": { "outcome": "selected", "optionId": id } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

fn id_of(at: usize) -> String {
    format!("option:{}", at.saturating_add(1))
}

pub(super) fn asked(name: &str, params: &Value, offered: &[Offered]) -> Permission {
    let call = params.get("toolCall").unwrap_or(&Value::Null);
    let choice = |(at, one): (usize, &Offered)| PermissionChoice {
        id: id_of(at),
        label: one.name.clone(),
        key_label: None,
        kind: one.kind,
    };
    let diffs: Vec<Diff> = list(call.get("content")).filter_map(Diff::of).collect();
    let permission = Permission {
        call: text(call.get("toolCallId")),
        title: format!("{name} asks for permission"),
        parts: parts(call),
        choices: offered.iter().enumerate().map(choice).collect(),
        edit: edit(call, &diffs),
        paths: diffs.into_iter().map(|diff| diff.path).collect(),
        ..Permission::default()
    };
    permission.mark_command(command(call).as_deref())
}

/// The command that the call runs.
fn command(call: &Value) -> Option<String> {
    calls::command(call.get("rawInput")?)
}

fn locations(call: &Value) -> Vec<String> {
    list(call.get("locations")).map(|one| text(one.get("path")).unwrap_or_else(|| "?".to_owned())).collect()
}

fn parts(call: &Value) -> Vec<Part> {
    let nothing = Map::new();
    let input = call.get("rawInput").and_then(Value::as_object).unwrap_or(&nothing);
    let words = |text: String, style| Part::Text { text, style };
    let mut parts = Vec::new();
    let title = text(call.get("title"));
    let command = command(call);
    parts.extend(title.clone().filter(|title| command.as_ref() != Some(title)).map(|title| words(title, Style::Input)));
    parts.extend(command.map(|command| words(command, Style::Command)));
    let mut has_diff = false;
    for content in list(call.get("content")) {
        if let Some(Diff { path, old, new, .. }) = Diff::of(content) {
            has_diff = true;
            parts.extend([words(path, Style::Notice), Part::Change { old, new }]);
            continue;
        }
        // The protocol's own example of a plan has a bare text.
        let inner = match content.get("type").and_then(Value::as_str) {
            Some("content") => content.get("content"),
            Some("text") => Some(content),
            _ => None,
        };
        parts.extend(inner.and_then(|inner| text(inner.get("text"))).map(|text| words(text, Style::Plain)));
    }
    let paths = locations(call);
    if !paths.is_empty() {
        parts.push(Part::Places { paths });
    }
    let mut named: Vec<_> = input.iter().collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in named {
        // An edit's texts are in its diff.
        let is_said = has_diff && !matches!(name.as_str(), "description" | "path") || name == "command";
        if !is_said && !value.is_null() && value.as_str() != title.as_deref() {
            parts.push(Part::argument(&format!("{name}: "), value, Style::Argument));
        }
    }
    parts
}

/// The edit that a call makes. `None` if there is none in diffs, or if they are incomplete: the rest would be accepted
/// unseen.
fn edit(call: &Value, diffs: &[Diff]) -> Option<Edit> {
    let moves = moves::of(&locations(call), diffs);
    if moves.is_incomplete || diffs.iter().any(|diff| !diff.path.starts_with('/')) {
        return None;
    }
    let all = call.pointer("/rawInput/replace_all") == Some(&Value::Bool(true));
    let change = |diff: &Diff, new: String| match &diff.old {
        Some(old) => Change::Piece { old: with_lf(old), new, all },
        None => Change::Whole { text: new },
    };
    let is_deleted = |diff: &Diff| diff.kind.as_deref() == Some("delete");
    match diffs {
        [] => return None,
        [diff] if moves.from.is_empty() && !is_deleted(diff) => {
            let new = if diff.old.is_some() { with_lf(&diff.new) } else { diff.new.clone() };
            return Some(Edit::File { path: diff.path.clone(), change: change(diff, new) });
        }
        _ => {}
    }
    let mut steps = Vec::new();
    let mut from = moves.from.clone();
    for diff in diffs {
        let path = moves::normalize(&diff.path);
        if let Some(from) = from.remove(&path) {
            steps.push(Step::Rename { from, to: path.clone() });
        }
        if is_deleted(diff) {
            steps.push(Step::Delete { path });
        } else if !moves.from.contains_key(&path) || diff.old.as_deref() != Some("") || !diff.new.is_empty() {
            steps.push(Step::Make { path, change: change(diff, diff.new.clone()) });
        }
    }
    Some(Edit::Files { title: text(call.get("title")).filter(|title| !title.trim().is_empty()), steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, kind: &str) -> Value {
        json!({"optionId":id,"name":id,"kind":kind})
    }

    fn selected(options: &[Value], choice: Option<&str>, is_allowed: bool) -> Option<String> {
        let offered = offered(&json!({ "options": options }));
        outcome(&offered, choice, is_allowed).pointer("/outcome/optionId").and_then(Value::as_str).map(str::to_owned)
    }

    #[test]
    fn refusal_is_always_possible_and_never_mistaken_for_a_yes() {
        let (allow, reject) = (option("x", "allow_once"), option("x", "reject_once"));
        assert_eq!(selected(&[], Some("option:1"), false), None);
        assert_eq!(selected(std::slice::from_ref(&allow), Some("option:2"), false), None, "none of these");
        let both = [allow, reject.clone()];
        assert_eq!(selected(&both, Some("option:2"), false), None, "it could be taken for a yes");
        assert_eq!(selected(&both, Some("option:1"), true).as_deref(), Some("x"));
        assert_eq!(selected(&both, Some("option:2"), true), None, "a no is no yes");
        assert_eq!(selected(&[reject], Some("option:1"), false).as_deref(), Some("x"));
    }

    #[test]
    fn without_a_choice_it_is_the_one_for_once() {
        let options = [option("a", "allow_always"), option("b", "reject_always"), option("c", "reject_once")];
        assert_eq!(selected(&options, None, true).as_deref(), Some("a"));
        assert_eq!(selected(&options, None, false).as_deref(), Some("c"));
        assert_eq!(selected(&[], None, true), None);
    }

    fn of(call: &Value) -> Permission {
        let params = json!({ "toolCall": call });
        asked("Robot", &params, &offered(&params))
    }

    fn shown(call: &Value) -> Vec<String> {
        let words = |part: Part| match part {
            Part::Text { text, .. } => text,
            Part::Change { old, new } => format!("{} -> {new}", old.unwrap_or_default()),
            Part::Places { paths } => paths.join(" "),
        };
        of(call).parts.into_iter().map(words).collect()
    }

    #[test]
    fn everything_known_of_a_call_is_shown() {
        let run = json!({"title":"Run it","rawInput":{"command":["make","it"],"n":1,"why":"Run it","nothing":null}});
        assert_eq!(shown(&run), ["Run it", "make it", "n: 1"]);
        assert_eq!(shown(&json!({"title":"ls","rawInput":{"command":"ls"}})), ["ls"]);
        let faked = json!({"rawInput":{"a":"x\nb: y"}});
        assert_eq!(shown(&faked), ["a: x\n    b: y"], "no line of a value looks like another argument");
        assert!(of(&json!({"rawInput":{"command":["rm","-rf","x"]}})).is_destructive);
        let plan = json!({"content":[{"type":"content","content":{"type":"text","text":"one"}}, {"type":"text","text":"two"},
            {"type":"hologram"}, 7],"locations":[{"path":"/a"},7]});
        assert_eq!(shown(&plan), ["one", "two", "/a ?"]);
        let edit = json!({"content":[{"type":"diff","path":"/a","oldText":"o","newText":"n"}],
            "rawInput":{"old":"o","path":"/a","description":"Edits"}});
        assert_eq!(shown(&edit), ["/a", "o -> n", "description: Edits", "path: /a"]);
        assert!(shown(&json!({"rawInput":"rm","content":7,"locations":null})).is_empty());
    }

    #[test]
    fn an_edit_is_of_one_file_or_of_several() {
        let piece = json!({"type":"diff","path":"/p/a","oldText":"o\r\n","newText":"n\r\n"});
        let new = json!({"type":"diff","path":"/p/../p/b","oldText":null,"newText":"n"});
        let one = of(&json!({"content":[piece],"rawInput":{"replace_all":true}})).edit;
        let change = Change::Piece { old: "o\n".to_owned(), new: "n\n".to_owned(), all: true };
        assert_eq!(one, Some(Edit::File { path: "/p/a".to_owned(), change }));
        let two = of(&json!({"title":"Both","content":[piece,new]})).edit;
        let Some(Edit::Files { title: Some(title), steps }) = two else { panic!("{two:?}") };
        let change = Change::Whole { text: "n".to_owned() };
        assert_eq!((title.as_str(), &steps[1]), ("Both", &Step::Make { path: "/p/b".to_owned(), change }));
        let gone = json!({"type":"diff","path":"/p/a","oldText":"o","newText":"","_meta":{"kind":"delete"}});
        let Some(Edit::Files { steps, .. }) = of(&json!({"content":[gone]})).edit else { panic!() };
        assert_eq!(steps, [Step::Delete { path: "/p/a".to_owned() }]);
        let relative = json!({"type":"diff","path":"a","oldText":"o","newText":"n"});
        assert_eq!(of(&json!({"content":[relative]})).edit, None);
        let more = json!({"content":[piece],"locations":[{"path":"/p/a"},{"path":"/p/c"}]});
        assert_eq!(of(&more).edit, None, "what its diffs do not say would be accepted unseen");
    }

    #[test]
    fn a_file_that_moves_is_renamed_before_it_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(at("old"), "one\n").unwrap();
        let moved = |new: &str, old: &str| {
            json!({"content":[{"type":"diff","path":at("new"),"oldText":old,"newText":new,
            "_meta":{"kind":"update"}}],"locations":[{"path":at("old")}]})
        };
        let steps = |call: &Value| match of(call).edit {
            Some(Edit::Files { steps, .. }) => steps,
            other => panic!("{other:?}"),
        };
        let rename = Step::Rename { from: at("old"), to: at("new") };
        assert_eq!(steps(&moved("1\n", "one\n")).first(), Some(&rename));
        assert_eq!(steps(&moved("", "")), [rename], "it only moves");
    }
}
