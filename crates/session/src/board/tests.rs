use serde_json::json;

use super::*;
use crate::config_dir::ConfigDir;
use crate::live::LiveSession;
use crate::state::WaitingFor;
use crate::store::{Summary, Tally};
use crate::time::Millis;

const MINUTE: i64 = 60_000;
const NOW: i64 = 1_000 * MINUTE;

fn summary(id: &str, title: &str) -> Summary {
    let summary = json!({ "id": id, "file": format!("/c/projects/-p/{id}.jsonl"), "named": false, "updated": NOW - 5 * MINUTE, "bytes": 1,
        "title": title, "branch": "main", "context_percent": 34 });
    serde_json::from_value(summary).unwrap()
}

fn running(id: &str, activity: Activity, started: i64) -> LiveSession {
    let state = json!({ "activity": activity, "waiting_for": null, "since": NOW - 2 * MINUTE, "source": "record" });
    LiveSession {
        pid: u32::try_from(started).unwrap(),
        config_dir: ConfigDir::at("/c"),
        id: SessionId::new(id),
        cwd: "/p".to_owned(),
        name: None,
        kind: None,
        job: None,
        entrypoint: None,
        version: None,
        started: Some(Millis(started)),
        state: serde_json::from_value(state).unwrap(),
        liveness: crate::live::Liveness::Alive,
    }
}

fn session(id: &str, activity: Activity, started: i64) -> Session {
    let live = (activity != Activity::Gone).then(|| running(id, activity, started));
    let summary = Some(summary(id, &format!("Title {id}")));
    Session {
        id: SessionId::new(id),
        live,
        summary,
        tally: Tally::default(),
        worktree: None,
        linked: false,
        note: None,
    }
}

fn options(width: usize) -> Options {
    Options { screen: Screen { width, now: Millis(NOW), ..Screen::default() }, ended: 10, ..Options::default() }
}

fn draw(sessions: Vec<Session>, options: &Options) -> Board {
    let (sessions, counts) = choose(sessions, options);
    super::draw(sessions, counts, options)
}

fn ids(board: &Board) -> Vec<&str> {
    board.rows.iter().map(|row| row.id.as_str()).collect()
}

fn texts(board: &Board) -> Vec<&str> {
    board.rows.iter().flat_map(|row| &row.lines).map(|line| line.text.as_str()).collect()
}

#[test]
fn those_that_wait_come_first_and_a_session_has_one_row() {
    use Activity::{Gone, Idle, Waiting, Working};
    let sessions = || {
        vec![
            session("ended", Gone, 0),
            session("old", Working, 1),
            session("new", Working, 2),
            session("idle", Idle, 9),
            session("asks", Waiting, 3),
            session("new", Idle, 7),
        ]
    };
    let board = draw(sessions(), &options(80));
    assert_eq!(ids(&board), ["asks", "new", "old", "idle", "ended"]);
    assert_eq!(board.counts, Counts { waiting: 1, working: 2, idle: 1, ended: 1, hidden: 0 });
    let mut asked = options(80);
    asked.known.insert("idle".to_owned(), Known { asks: Some("Bash: ls".to_owned()), ..Known::default() });
    assert_eq!(ids(&draw(sessions(), &asked)), ["idle", "asks", "new", "old", "ended"]);
}

#[test]
fn one_of_the_background_says_so() {
    let mut away = session("a", Activity::Working, 1);
    if let Some(live) = away.live.as_mut() {
        live.job = Some("0bd26e51".to_owned());
    }
    let board = draw(vec![away, session("b", Activity::Working, 0)], &options(80));
    let marked: Vec<bool> = texts(&board).iter().map(|text| text.contains("background")).collect();
    assert_eq!(marked.iter().filter(|marked| **marked).count(), 1);
    assert_eq!(marked.get(1), Some(&true));
}

#[test]
fn the_configuration_folder_is_named_where_there_are_several() {
    let mut work = session("b", Activity::Idle, 1);
    if let Some(live) = work.live.as_mut() {
        live.config_dir = ConfigDir::at("/home/u/.claude-work");
    }
    let ended = || Session { live: None, ..session("a", Activity::Gone, 0) };
    let named = |sessions: Vec<Session>| {
        let listed: Vec<_> = sessions.into_iter().map(|session| (session, None)).collect();
        let lines: Vec<String> = list(&listed, &options(100).screen).into_iter().map(|line| line.text).collect();
        let sessions = listed.into_iter().map(|(session, _)| session).collect();
        let rows = draw(sessions, &options(100));
        let rows: Vec<String> = texts(&rows).into_iter().map(str::to_owned).collect();
        (lines.join("\n"), rows.join("\n"))
    };
    let (lines, rows) = named(vec![ended(), session("c", Activity::Idle, 2)]);
    assert!(!lines.contains("/c") && !rows.contains("/c"), "one folder:\n{lines}\n{rows}");
    let (lines, rows) = named(vec![ended(), work]);
    for text in [lines, rows] {
        assert!(text.contains("/c ") && text.contains("u/.claude-work"), "{text}");
    }
}

#[test]
fn hidden_ones_come_back_when_they_wait_and_old_ones_are_only_counted() {
    let mut options = options(80);
    options.hidden = ["a", "b"].map(str::to_owned).into();
    options.ended = 1;
    let sessions = |activity| {
        let ended = ["c", "d"].map(|id| session(id, Activity::Gone, 0));
        [session("a", activity, 1), session("b", Activity::Idle, 2)].into_iter().chain(ended).collect()
    };
    let board = draw(sessions(Activity::Working), &options);
    assert_eq!((ids(&board), board.counts.hidden, board.counts.ended), (vec!["d"], 2, 2));
    assert_eq!(ids(&draw(sessions(Activity::Waiting), &options)), ["a", "d"]);
}

#[test]
fn only_one_worktree_is_shown_if_wanted() {
    let mut options = options(80);
    options.worktree = Some("/w".into());
    let there = Session { worktree: Some("/w".into()), ..session("a", Activity::Idle, 1) };
    assert_eq!(ids(&draw(vec![there, session("b", Activity::Idle, 2)], &options)), ["a"]);
}

fn busy() -> Session {
    let lines = [
        r#"{"type":"user","message":{"content":[]},"toolUseResult":{"newTodos":[{"content":"a","status":"completed"},{"content":"Run it","status":"in_progress","activeForm":"Running it"}]}}"#,
        r#"{"type":"user","message":{"content":[]},"toolUseResult":{"filePath":"/p/a","structuredPatch":[{"lines":["-a","+b","+c"]}]}}"#,
        r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"I look at the parser"}],"usage":{"input_tokens":12400}}}"#,
        r#"{"type":"cost-state","totalCostUSD":0.42}"#,
    ];
    Session { tally: Tally::of(&lines), ..session("a", Activity::Working, 1) }
}

#[test]
fn a_row_tells_what_the_window_has_room_for() {
    let mut wide = options(110);
    wide.known.insert("a".to_owned(), Known { review: 2, queued: 1, ..Known::default() });
    let board = draw(vec![busy(), session("b", Activity::Gone, 0)], &wide);
    assert_eq!(
        texts(&board),
        [
            "◐ working     Title a       2 to review   +2 −1, 1 file     main   34%   12k     $0.42    2m",
            "  1 queued · 1/2: Running it · I look at the parser",
            "· ended       Title b                                       main   34%                    5m",
        ]
    );
    for (width, first, second) in [
        (60, "◐ working     Title a       +2 −1, 1 file     main    2m", "  1/2: Running it · I look at the parser"),
        (30, "◐ working     Title a", "  1/2: Running it"),
        (20, "◐ Title a", "  1/2: Running it"),
        (4, "◐ T…", "  1…"),
    ] {
        assert_eq!(texts(&draw(vec![busy()], &options(width))), [first, second], "{width}");
    }
}

#[test]
fn a_row_counts_the_comments_for_its_session() {
    let mut options = options(80);
    options.known.insert("b".to_owned(), Known { to_send: 2, answered: 1, ..Known::default() });
    let board = draw(vec![session("b", Activity::Idle, 0)], &options);
    assert_eq!(texts(&board)[1], "  2 comments to send · 1 comment answered");
}

#[test]
fn no_line_is_wider_than_the_window() {
    let title = "漢字のタイトルはとても長い ● “quoted” 👩\u{200d}💻";
    for ambiguous_is_wide in [false, true] {
        for width in 1..120 {
            let mut options = options(width);
            options.screen.ambiguous_is_wide = ambiguous_is_wide;
            let one = Session { summary: Some(summary("a", title)), ..busy() };
            for text in texts(&draw(vec![one], &options)) {
                let cells = if ambiguous_is_wide {
                    unicode_width::UnicodeWidthStr::width_cjk(text)
                } else {
                    unicode_width::UnicodeWidthStr::width(text)
                };
                assert!(cells <= width.max(4), "{width}: {text:?} takes {cells}");
            }
        }
    }
}

#[test]
fn what_is_asked_comes_before_all_else() {
    let mut options = options(60);
    options.known.insert("a".to_owned(), Known { asks: Some("Bash:\nrm -r build".to_owned()), ..Known::default() });
    let board = draw(vec![busy()], &options);
    assert_eq!(board.rows[0].lines[1].text, "  Bash: rm -r build · 1/2: Running it · I look at the parser");
    assert_eq!(board.rows[0].lines[1].marks[0], (2, 19, Look::Ask));
    assert_eq!(board.rows[0].activity, Activity::Waiting);
}

#[test]
fn a_session_elsewhere_tells_the_call_that_it_waits_with() {
    let call = r#"{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"rm -r build"}}]}}"#;
    let mut one = Session { tally: Tally::of(&[call]), ..session("a", Activity::Waiting, 1) };
    one.live.as_mut().unwrap().state.waiting_for = Some(WaitingFor::Permission);
    let board = draw(vec![one], &options(80));
    assert_eq!(board.rows[0].lines[1].text, "  waits for your permission: Bash rm -r build");
    let works = Session { tally: Tally::of(&[call]), ..session("a", Activity::Working, 1) };
    assert_eq!(draw(vec![works], &options(80)).rows[0].lines[1].text, "  Bash rm -r build");
}

fn lines(sessions: Vec<(Session, Option<Known>)>, options: &Options) -> Vec<String> {
    list(&sessions, &options.screen).into_iter().map(|line| line.text).collect()
}

fn written(id: &str, title: &str, days: i64, more: &serde_json::Value) -> Session {
    let mut summary = serde_json::to_value(summary(id, title)).unwrap();
    summary["updated"] = json!(NOW - days * 24 * 60 * MINUTE);
    summary.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Session { summary: Some(serde_json::from_value(summary).unwrap()), ..session(id, Activity::Gone, 0) }
}

#[test]
fn a_list_has_a_line_for_each_in_its_order_and_what_the_title_says_once() {
    let mut waiting = written("w", "one", 0, &json!({ "last_prompt": "one" }));
    waiting.live = Some(running("w", Activity::Waiting, 1));
    waiting.live.as_mut().unwrap().state.waiting_for = Some(WaitingFor::Permission);
    let fork = json!({ "forked_from": "w", "last_prompt": "then this", "branch": "漢字" });
    let old = written("w", "one", 3, &json!({ "branch": null }));
    let mut renamed = written("g", "Explain it", 0, &json!({ "forked_from": "w", "branch": null }));
    renamed.live = Some(LiveSession { name: Some("The build".to_owned()), ..running("g", Activity::Idle, 1) });
    let sessions = [written("f", "The parser", 90, &fork), waiting, old, renamed].map(|session| (session, None));
    assert_eq!(
        lines(sessions.into(), &options(80)),
        [
            "3mo                       漢字  fork: The parser  then this",
            "now  waiting: permission  main  one",
            " 3d                             one",
            "now  idle                       fork: The build",
        ]
    );
}

#[test]
fn a_list_of_terminals_also_says_what_their_user_wants_to_know() {
    let mut options = options(120);
    options.screen.projects = true;
    let mut away = session("a", Activity::Working, 1);
    away.live.as_mut().unwrap().job = Some("0bd26e51".to_owned());
    let terminal = || Session { summary: None, ..session("", Activity::Gone, 0) };
    let known = |title: &str| Known { title: Some(title.to_owned()), cwd: Some("/p".into()), ..Known::default() };
    let fork = written("r", "Old", 3, &json!({ "cwd": "/q", "forked_from": "a" }));
    let sessions = vec![
        (away, Some(Known::default())),
        (terminal(), Some(Known { shown: true, review: 2, ..known("Claude 2") })),
        (terminal(), Some(known("Claude 3"))),
        (fork, Some(Known { remembered: true, ..Known::default() })),
    ];
    assert_eq!(
        lines(sessions, &options),
        [
            " 5m  working            background     34%               /p  main  Title a",
            "now                     on the screen       2 to review  /p        Claude 2",
            "now                                                      /p        Claude 3",
            " 3d  ended with Neovim                 34%               /q  main  fork: Old",
        ]
    );
}

#[test]
fn a_list_names_a_linked_worktree_or_the_folder_below_home() {
    let in_tree = |linked| Session { worktree: Some("/w/fix".into()), linked, ..written("a", "one", 0, &json!({})) };
    let shown = lines(vec![(in_tree(true), None), (in_tree(false), None)], &options(80));
    assert_eq!(shown, ["now  fix  main  one", "now       main  one"]);
    let home = std::env::var("HOME").unwrap();
    let mut options = options(80);
    options.screen.projects = true;
    for (cwd, folder) in [(home.clone(), "~"), (format!("{home}/a"), "~/a"), ("/".to_owned(), "/")] {
        let there = written("a", "one", 0, &json!({ "cwd": cwd }));
        assert_eq!(lines(vec![(there, None)], &options), [format!("now  {folder}  main  one")]);
    }
    let deep = written("a", "one", 0, &json!({ "cwd": "/a/very/long/folder/of/日本語/to/show" }));
    assert_eq!(lines(vec![(deep, None)], &options), ["now  …ng/folder/of/日本語/to/show  main  one"]);
}

#[test]
fn no_line_of_a_list_is_wider_than_the_screen() {
    let more = json!({ "branch": "b".repeat(60), "cwd": "/a/very/long/folder/of/日本語/to/show/in/a/list", "last_prompt": "漢字 ".repeat(30) });
    for (width, ambiguous_is_wide) in (21..120).flat_map(|width| [(width, false), (width, true)]) {
        let mut options = options(width);
        options.screen = Screen { projects: true, ambiguous_is_wide, ..options.screen };
        let long = written("a", &"a title that goes on … ".repeat(4), 0, &more);
        let sessions = vec![(long, None), (written("b", "漢字のタイトル", 800, &more), None)];
        for line in lines(sessions, &options) {
            assert!(options.screen.width_of(&line) <= width, "{width}: {line:?}");
        }
    }
}
