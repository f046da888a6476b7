//! Open requests to the user, sent to sockets and answered by them; the test is editor and CLI.

use std::sync::Arc;

use crate::lab::{Lab, asked, line, lines, open, refused};
use claude_ide_web::{Ask, Choice, Decision, Limits, Told};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

fn decision(id: u64, session: &str) -> Told {
    let choice = |id: &str, message: bool| Choice { id: id.to_owned(), label: id.to_owned(), message, answers: false };
    let about = json!({ "kind": "permission", "title": "Bash", "text": "ls" });
    Told::Decision(Decision {
        id,
        session: session.to_owned(),
        choices: vec![choice("allow", false), choice("reject", true)],
        about: about.as_object().unwrap().clone(),
    })
}

#[tokio::test]
async fn a_decision_is_shown_in_its_session_answered_and_closed_for_all() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    lab.append("t", &lines(0..1));
    let mut elsewhere = lab.subscribe("t", "").await;
    elsewhere.history().await;
    lab.handle.tell(decision(7, "s"));
    let told = socket.frame("decision").await;
    assert_eq!(
        (&told["id"], &told["kind"], &told["choices"][0]["id"]),
        (&json!(7), &json!("permission"), &json!("allow"))
    );
    let mut late = lab.subscribe("s", "?last=0").await;
    assert_eq!(late.frame("decision").await, told);
    let decide = |choice: &str| json!({ "type": "decide", "id": 7, "choice": choice });
    for (frame, why) in [
        (decide("destroy"), "there is no such choice"),
        (json!({ "type": "decide", "id": 7, "choice": "allow", "message": "x" }), "no words go with that choice"),
        (json!({ "type": "decide", "id": 8, "choice": "allow" }), "nothing of that number waits"),
    ] {
        assert!(refused(&mut socket, frame).await.1.starts_with(why), "{why}");
    }
    refused(&mut elsewhere, decide("allow")).await;
    socket.say(json!({ "type": "decide", "id": 7, "choice": "reject", "message": "no\u{1b}[0m!" })).await;
    let Ask::Decide { key, decision, choice, message, .. } = asked(&mut asks).await else { panic!() };
    assert_eq!((decision, choice.as_str(), message.as_deref()), (7, "reject", Some("no!")));
    lab.handle.tell(Told::Closed { id: 7, outcome: "rejected".to_owned() });
    lab.handle.tell(Told::Done { key, error: None });
    for reader in [&mut socket, &mut late] {
        let closed = json!({ "type": "decision_closed", "id": 7, "outcome": "rejected" });
        assert_eq!(reader.frame("decision_closed").await, closed);
    }
    assert!(refused(&mut late, decide("allow")).await.1.starts_with("nothing of that number"));
    lab.append("t", &[line(1)]);
    assert_eq!(elsewhere.uuids(1).await, ["u1"], "and heard of none of it");
}

#[tokio::test]
async fn only_the_late_answerer_gets_an_error() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let (mut socket, mut other) = (open(&lab).await, lab.subscribe("s", "?last=0").await);
    other.frame("caught_up").await;
    lab.handle.tell(decision(7, "s"));
    for reader in [&mut socket, &mut other] {
        reader.frame("decision").await;
        reader.say(json!({ "type": "decide", "id": 7, "choice": "allow" })).await;
    }
    for error in [None, Some("it was answered already".to_owned())] {
        let Ask::Decide { key, .. } = asked(&mut asks).await else { panic!() };
        lab.handle.tell(Told::Done { key, error });
    }
    lab.handle.tell(Told::Closed { id: 7, outcome: "accepted".to_owned() });
    let mut errors = 0;
    for reader in [&mut socket, &mut other] {
        loop {
            let frame = reader.next().await.unwrap();
            match frame["type"].as_str() {
                Some("error") => errors += 1,
                Some("decision_closed") => break,
                _ => {}
            }
        }
    }
    assert_eq!(errors, 1);
}

/// Posts a hook's request like a CLI in a terminal; completes with the answer.
fn ask_by_hook(lab: &Arc<Lab>, tool: &str, input: &Json, more: &Json) -> JoinHandle<Json> {
    let mut body =
        json!({ "session_id": "s", "hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let lab = Arc::clone(lab);
    tokio::spawn(async move {
        let token = format!("Authorization: Bearer {}", lab.handle.hook_token().unwrap().reveal());
        let answer = lab.ask("POST /api/permission", &[&lab.host(), &token], &body.to_string()).await;
        assert_eq!(crate::lab::status(&answer), 200, "{answer}");
        crate::lab::body(&answer)
    })
}

fn hook_lab() -> (Arc<Lab>, UnboundedReceiver<Ask>) {
    let (lab, asks) = Lab::writable(Limits::default(), false);
    (Arc::new(lab), asks)
}

fn decision_of(output: &Json) -> &Json {
    assert_eq!(output["hookSpecificOutput"]["hookEventName"], "PermissionRequest", "{output}");
    &output["hookSpecificOutput"]["decision"]
}

#[tokio::test]
async fn a_terminals_question_takes_the_first_writers_answer() {
    let (lab, _asks) = hook_lab();
    let (mut socket, mut other) = (open(&lab).await, lab.subscribe("s", "?last=0").await);
    other.frame("caught_up").await;
    let bash = json!({ "command": "touch x", "description": "Make x" });
    let waiting = ask_by_hook(&lab, "Bash", &bash, &json!({}));
    let told = socket.frame("decision").await;
    assert_eq!(
        (&told["kind"], &told["title"], &told["text"]),
        (&json!("permission"), &json!("Claude wants to use Bash"), &json!("touch x\ndescription: Make x"))
    );
    assert_eq!(other.frame("decision").await, told);
    let id = &told["id"];
    let (_, why) = refused(&mut socket, json!({ "type": "decide", "id": id, "choice": "always" })).await;
    assert_eq!(why, "there is no such choice");
    socket.say(json!({ "type": "decide", "id": id, "choice": "allow" })).await;
    for reader in [&mut socket, &mut other] {
        assert_eq!(reader.frame("decision_closed").await["outcome"], "accepted");
    }
    assert_eq!(*decision_of(&waiting.await.unwrap()), json!({ "behavior": "allow" }));
    let (_, why) = refused(&mut other, json!({ "type": "decide", "id": id, "choice": "reject" })).await;
    assert!(why.starts_with("nothing of that number waits"), "{why}");
}

#[tokio::test]
async fn each_kind_of_question_gets_an_answer_that_the_cli_accepts() {
    let (lab, _asks) = hook_lab();
    let mut socket = open(&lab).await;
    let asked = json!({ "questions": [{ "question": "Which?", "options": [{ "label": "A" }, { "label": "B" }] }] });
    let plan = json!({ "plan": "# Plan" });
    let mut answered = asked.clone();
    answered["answers"] = json!({ "Which?": "B" });
    let no = |words: &str, interrupt: bool| json!({ "behavior": "deny", "message": words, "interrupt": interrupt });
    for (tool, input, more, expected) in [
        (
            "AskUserQuestion",
            &asked,
            json!({ "choice": "answer", "answers": { "Which?": " B\u{1b}[0m" } }),
            json!({ "behavior": "allow", "updatedInput": answered }),
        ),
        ("ExitPlanMode", &plan, json!({ "choice": "accept" }), json!({ "behavior": "allow", "updatedInput": {} })),
        ("ExitPlanMode", &plan, json!({ "choice": "reject", "message": "shorter" }), no("shorter", false)),
        ("mcp__nvim__rename", &json!({}), json!({ "choice": "reject" }), no("The user does not want this.", true)),
    ] {
        let waiting = ask_by_hook(&lab, tool, input, &json!({}));
        let id = socket.frame("decision").await["id"].clone();
        if tool == "AskUserQuestion" {
            let empty = json!({ "type": "decide", "id": id, "choice": "answer", "answers": { "Which?": " " } });
            assert_eq!(refused(&mut socket, empty).await.1, "no question of it is answered");
        }
        let mut frame = json!({ "type": "decide", "id": id });
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        socket.say(frame).await;
        socket.frame("decision_closed").await;
        assert_eq!(*decision_of(&waiting.await.unwrap()), expected, "{tool}");
    }
}

#[tokio::test]
async fn a_plan_that_is_not_shown_cannot_be_approved() {
    let (lab, _asks) = hook_lab();
    let mut socket = open(&lab).await;
    for (input, text, choices) in [
        (json!({ "plan": "# Plan" }), json!("# Plan"), vec!["accept", "reject"]),
        (json!({}), json!("There is no plan."), vec!["accept", "reject"]),
        (json!({ "plan": ["# Plan"] }), Json::Null, vec!["reject"]),
    ] {
        let waiting = ask_by_hook(&lab, "ExitPlanMode", &input, &json!({}));
        let asked = socket.frame("decision").await;
        assert_eq!(asked.get("text").unwrap_or(&Json::Null), &text);
        let told: Vec<_> = asked["choices"].as_array().unwrap().iter().map(|choice| &choice["id"]).collect();
        assert_eq!(told, choices);
        socket.say(json!({ "type": "decide", "id": asked["id"], "choice": "reject" })).await;
        socket.frame("decision_closed").await;
        waiting.await.unwrap();
    }
}

#[tokio::test]
async fn a_terminal_keeps_its_question_without_a_writer_and_where_its_dialog_would_wait() {
    let (lab, _asks) = hook_lab();
    lab.append("s", &lines(0..2));
    let nothing = json!({});
    assert_eq!(ask_by_hook(&lab, "Bash", &nothing, &nothing).await.unwrap(), nothing, "no reader");
    let mut socket = open(&lab).await;
    let of_agent = json!({ "agent_id": "a1", "agent_type": "Explore" });
    assert_eq!(ask_by_hook(&lab, "Bash", &nothing, &of_agent).await.unwrap(), nothing);
    socket.say(json!({ "type": "write", "on": false })).await;
    socket.frame("writing").await;
    assert_eq!(ask_by_hook(&lab, "Bash", &nothing, &nothing).await.unwrap(), nothing, "it only reads");
    let refused = lab.ask("POST /api/permission", &[&lab.host(), &lab.bearer()], "{}").await;
    assert_eq!(crate::lab::status(&refused), 401, "the token of clients is another one");
    let reads = Arc::new(Lab::new());
    let mut reader = open(&reads).await;
    assert_eq!(ask_by_hook(&reads, "Bash", &nothing, &nothing).await.unwrap(), nothing, "web.write is false");
    reads.append("s", &[line(2)]);
    assert_eq!(reader.next().await.unwrap()["uuid"], "u2", "no frame about it");
}

#[tokio::test]
async fn an_answer_at_the_terminal_closes_the_decision() {
    let (lab, _asks) = hook_lab();
    let mut socket = open(&lab).await;
    let nothing = json!({});
    // A refusal ends the request.
    let waiting = ask_by_hook(&lab, "Bash", &nothing, &nothing);
    let first = socket.frame("decision").await["id"].clone();
    waiting.abort();
    assert_eq!(
        socket.frame("decision_closed").await,
        json!({ "type": "decision_closed", "id": first, "outcome": "closed" })
    );
    // An approval shows in the session's state.
    lab.record("s", "busy", "");
    let waiting = ask_by_hook(&lab, "Bash", &nothing, &nothing);
    let second = socket.frame("decision").await["id"].clone();
    lab.record("s", "waiting", r#","waitingFor":"permission prompt""#);
    while socket.frame("state").await["state"] != "waiting" {}
    lab.record("s", "busy", "");
    assert_eq!(socket.frame("decision_closed").await["id"], second);
    assert_eq!(waiting.await.unwrap(), nothing);
}

#[tokio::test]
async fn several_questions_at_once_are_the_terminals() {
    let (lab, _asks) = hook_lab();
    let mut socket = open(&lab).await;
    let nothing = json!({});
    let first = ask_by_hook(&lab, "Read", &nothing, &nothing);
    let id = socket.frame("decision").await["id"].clone();
    let second = ask_by_hook(&lab, "Read", &nothing, &nothing);
    assert_eq!(socket.frame("decision_closed").await["id"], id);
    lab.record("s", "waiting", r#","waitingFor":"permission prompt""#);
    while socket.frame("state").await["state"] != "waiting" {}
    lab.record("s", "busy", "");
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (json!({}), json!({})));
    let third = ask_by_hook(&lab, "Read", &nothing, &nothing);
    let id = socket.frame("decision").await["id"].clone();
    socket.say(json!({ "type": "decide", "id": id, "choice": "allow" })).await;
    decision_of(&third.await.unwrap());
}

#[tokio::test]
async fn an_offered_rule_can_be_accepted() {
    let (lab, _asks) = hook_lab();
    let mut socket = open(&lab).await;
    let suggestions = json!([
        { "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "npm test *" }, { "toolName": "mcp__lab__slow" }],
          "behavior": "allow", "destination": "localSettings" },
        { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
        { "type": "addDirectories", "directories": ["/proj", "/lib"], "destination": "session" },
        7,
    ]);
    let bash = json!({ "command": "npm test" });
    for (choice, expected) in [("always:1", json!([suggestions[0]])), ("always:2", json!([suggestions[1]]))] {
        let waiting = ask_by_hook(&lab, "Bash", &bash, &json!({ "permission_suggestions": suggestions }));
        let told = socket.frame("decision").await;
        let labels: Vec<_> = told["choices"].as_array().unwrap().iter().map(|choice| choice["label"].clone()).collect();
        assert_eq!(
            labels,
            [
                "Allow once",
                "Allow from now on: allow Bash(npm test *), mcp__lab__slow (.claude/settings.local.json)",
                "Allow from now on: mode acceptEdits (this session)",
                "Allow from now on: work in /proj, /lib (this session)",
                "Deny",
            ]
        );
        socket.say(json!({ "type": "decide", "id": told["id"], "choice": choice })).await;
        assert_eq!(socket.frame("decision_closed").await["outcome"], "accepted");
        let expected = json!({ "behavior": "allow", "updatedPermissions": expected });
        assert_eq!(*decision_of(&waiting.await.unwrap()), expected);
    }
    let waiting = ask_by_hook(&lab, "Bash", &bash, &json!({ "permission_suggestions": "all" }));
    let told = socket.frame("decision").await;
    assert_eq!(told["choices"].as_array().unwrap().len(), 2, "malformed choices are not offered");
    waiting.abort();
}

#[tokio::test]
async fn only_a_writer_can_stop_claude() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(json!({ "type": "interrupt", "id": "stop" })).await;
    let Ask::Interrupt { key, session } = asked(&mut asks).await else { panic!() };
    assert_eq!(session, "s");
    lab.handle.tell(Told::Done { key, error: Some("Claude does not work".to_owned()) });
    let error = socket.frame("error").await;
    assert_eq!(
        (&error["error"], &error["reason"], &error["id"]),
        (&json!("Failed to interrupt"), &json!("Claude does not work"), &json!("stop"))
    );
    socket.say(json!({ "type": "write", "on": false })).await;
    assert!(refused(&mut socket, json!({ "type": "interrupt" })).await.1.starts_with("writing is off"));
}
