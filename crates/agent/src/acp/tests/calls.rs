use claude_ide_session::LocationKind;
use serde_json::json;

use super::*;

#[test]
fn a_call_is_reported_in_the_form_of_a_transcript() {
    let mut acp = ready();
    let began = json!({"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit a.txt","kind":"edit","status":"pending",
        "_meta":{"claudeCode":{"toolName":"Edit"}}});
    let (_, events) = hear(&mut acp, &update(began));
    assert!(
        matches!(&events[..], [Event::Said { blocks, .. }] if serde_json::to_value(blocks).unwrap()[0]["name"] == "Edit")
    );
    let diff = json!({"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed",
        "content":[{"type":"diff","path":"/p/a.txt","oldText":"one\n","newText":"two\n"}]});
    let (_, events) = hear(&mut acp, &update(diff));
    let [Event::BeforeEdit { request: None, paths, call }, Event::Said { blocks, .. }, Event::Results { results, .. }] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((paths.as_slice(), call.as_deref()), (["/p/a.txt".to_owned()].as_slice(), Some("c")));
    assert_eq!(serde_json::to_value(blocks).unwrap()[0]["input"]["file_path"], "/p/a.txt");
    let outcome = serde_json::to_value(&results[0].1).unwrap();
    assert_eq!(outcome["outcome"]["hunks"][0]["lines"], json!(["-one", "+two"]));
}

#[test]
fn a_call_on_several_files_reports_each() {
    let mut acp = ready();
    let diff = |path: &str| json!({"type":"diff","path":path,"oldText":"one\n","newText":"two\n"});
    let call = json!({"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit","kind":"edit","status":"completed",
        "content":[diff("/p/a"), diff("/p/b"), diff("/p/c")]});
    let (_, events) = hear(&mut acp, &update(call));
    let [.., Event::Results { results, .. }] = &events[..] else { panic!("{events:?}") };
    let outcome = &serde_json::to_value(&results[0].1).unwrap()["outcome"];
    assert_eq!((&outcome["path"], &outcome["others"][0]["path"]), (&json!("/p/a"), &json!("/p/b")));
    assert_eq!(outcome["others"][1]["hunks"][0]["lines"], json!(["-one", "+two"]));
    assert!(outcome["others"][1].get("others").is_none());
}

#[test]
fn a_call_is_reported_again_only_if_its_display_changes() {
    let mut acp = ready();
    let mut says = |mut fields: Value| {
        fields["toolCallId"] = json!("c");
        hear(&mut acp, &update(fields)).1.len()
    };
    let mut change = |name: &str, value: Value| says(json!({"sessionUpdate":"tool_call_update", name: value}));
    assert_eq!(change("title", json!("one")), 1);
    assert_eq!(change("title", json!("one")), 0);
    assert_eq!(change("status", json!("in_progress")), 0);
    assert_eq!(change("content", json!([{"type":"content","content":{"type":"text","text":"x"}}])), 0);
    assert_eq!(change("locations", json!([{"path":"/p/a"}])), 2, "and where it is");
    assert_eq!(change("kind", json!("read")), 1);
    assert_eq!(change("rawInput", json!({"file_path":"/p/a","limit":1})), 1);
    assert_eq!(change("rawInput", json!({"file_path":"/p/a","limit":1})), 0);
    assert_eq!(change("locations", json!([{"path":"/p/b"}])), 1, "the arguments say which: only where it is");
    assert_eq!(change("title", json!("two")), 0, "nor is it shown");
    assert_eq!(change("_meta", json!({"claudeCode":{"toolName":"Look"}})), 1);
}

#[test]
fn a_call_tells_each_location_once() {
    let mut acp = ready();
    let mut says = |mut fields: Value| {
        (fields["sessionUpdate"], fields["toolCallId"]) = (json!("tool_call_update"), json!("c"));
        let (_, events) = hear(&mut acp, &update(fields));
        let located = |event| match event {
            Event::Located { call, location } => {
                assert_eq!(call, "c");
                Some((location.path, location.kind, location.first, location.last))
            }
            _ => None,
        };
        events.into_iter().filter_map(located).collect::<Vec<_>>()
    };
    let read = |path: &str, line| vec![(path.to_owned(), LocationKind::Read, line, Some(line))];
    let whole = ("/p/a".to_owned(), LocationKind::Read, 1, None);
    assert_eq!(says(json!({"title":"Looks","kind":"read","locations":[{"path":"/p/a"}]})), [whole]);
    assert_eq!(says(json!({"locations":[{"path":"/p/a"}]})), []);
    assert_eq!(says(json!({"locations":[{"path":"/p/a"},{"path":"/p/b","line":7}]})), read("/p/b", 7));
    assert_eq!(says(json!({"locations":[]})), []);
    assert_eq!(says(json!({"locations":[{"path":"/p/b","line":0}],"status":"completed"})), read("/p/b", 1));
}

#[test]
fn updates_of_an_ended_call_only_add_to_its_result() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    let mut says = |fields: Value| hear(&mut acp, &update(fields)).1;
    let text = |text: &str| json!([{"type":"content","content":{"type":"text","text":text}}]);
    says(json!({"sessionUpdate":"tool_call","toolCallId":"c","title":"Look","kind":"fetch"}));
    says(json!({"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":text("sunny")}));
    for late in [json!({"status":"completed"}), json!({"_meta":{"a":1}}), json!({"title":"Other"})] {
        let mut late = late;
        (late["sessionUpdate"], late["toolCallId"]) = (json!("tool_call_update"), json!("c"));
        assert!(says(late).is_empty());
    }
    let events =
        says(json!({"sessionUpdate":"tool_call_update","toolCallId":"c","content":text("rain"),"status":"failed"}));
    let [Event::Results { results, .. }] = &events[..] else { panic!("{events:?}") };
    assert!(results[0].1.is_error && results[0].1.content.len() == 1);
    // The end of the turn finds nothing left to end.
    let (_, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}));
    assert!(!events.iter().any(|event| matches!(event, Event::Results { .. })), "{events:?}");
}

#[test]
fn a_call_names_all_files_that_it_may_change() {
    let mut acp = ready();
    let mut says = |fields: Value| hear(&mut acp, &update(fields)).1;
    let places = |events: &[Event]| match events {
        [Event::BeforeEdit { paths, .. }, Event::Said { .. }, .., Event::Results { places, .. }] => {
            (paths.clone(), places.clone())
        }
        other => panic!("{other:?}"),
    };
    let mut call = json!({"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit","kind":"edit","status":"completed",
        "locations":[{"path":"/p/b"},{"path":"/p/a"}],
        "content":[{"type":"diff","path":"/p/a","oldText":"1","newText":"2"},
            {"type":"diff","path":"/p/c","oldText":null,"newText":"2"}]});
    let all = vec!["/p/a".to_owned(), "/p/b".to_owned(), "/p/c".to_owned()];
    assert_eq!(places(&says(call.clone())), (all.clone(), all));
    // A call that reads a file does not change it.
    call["kind"] = json!("read");
    assert_eq!(places(&says(call.clone())).1, ["/p/a", "/p/c"]);
    // A failed call may still have changed files.
    (call["kind"], call["status"]) = (json!("move"), json!("failed"));
    assert_eq!(places(&says(call)).1, ["/p/a", "/p/b", "/p/c"]);
}

#[test]
fn a_permission_shows_everything_known_of_its_call() {
    let mut acp = ready();
    let diff = json!({"type":"diff","path":"/p/a.txt","oldText":"one","newText":"two"});
    hear(
        &mut acp,
        &update(json!({"sessionUpdate":"tool_call","toolCallId":"c","title":"Editing","kind":"edit","content":[diff],
            "rawInput":{"a":1}})),
    );
    let params = json!({"toolCall":{"toolCallId":"c","title":"Edit files","content":null,"rawInput":{"b":2}},
        "options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]});
    let (_, events) = asks(&mut acp, 7, "session/request_permission", params);
    let Some(Event::Asks { ask: Ask::Permission(ask), .. }) = events.into_iter().last() else {
        panic!("nothing is asked")
    };
    let parts = serde_json::to_value(&ask.parts).unwrap();
    assert_eq!(parts[0]["text"], "Edit files");
    assert_eq!((&parts[2]["old"], &parts[2]["new"]), (&json!("one"), &json!("two")), "{parts}");
    assert!(ask.edit.is_some());
}

#[test]
fn a_call_without_a_permission_does_not_succeed() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    hear(&mut acp, &update(json!({"sessionUpdate":"tool_call","toolCallId":"d","title":"Look"})));
    permission(&mut acp, 70);
    let (_, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}));
    let results = events.iter().filter_map(|one| match one {
        Event::Results { results, .. } => Some((results[0].0.as_str(), results[0].1.is_error)),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), [("d", false), ("c", true)]);
}

#[test]
fn a_failed_call_shows_the_intended_change() {
    let mut acp = ready();
    let diff = json!({"type":"diff","path":"/p/a.txt","oldText":"one\n","newText":"two\n"});
    let call = json!({"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"failed","content":[diff]});
    let (_, events) = hear(&mut acp, &update(call));
    let Some(Event::Results { results, .. }) = events.last() else { panic!("{events:?}") };
    let result = serde_json::to_value(&results[0].1).unwrap();
    assert_eq!(result["is_error"], true, "{result}");
    assert_eq!(result["outcome"]["hunks"][0]["lines"], json!(["-one", "+two"]));
}

#[test]
fn of_too_many_open_calls_the_oldest_ends() {
    let mut acp = ready();
    let mut ended = Vec::new();
    // Their ids sort in the opposite order.
    for number in 0..4098_u32 {
        let id = format!("call-{}", 9_999 - number);
        let kind = if number % 2 == 0 { "tool_call" } else { "tool_call_update" };
        let (_, events) = hear(&mut acp, &update(json!({"sessionUpdate":kind,"toolCallId":id,"title":"t"})));
        ended.extend(events.into_iter().filter_map(|event| match event {
            Event::Results { results, .. } => Some(results[0].0.clone()),
            _ => None,
        }));
    }
    assert_eq!(ended, ["call-9999", "call-9998"]);
}
