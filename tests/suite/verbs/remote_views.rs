//! `git ralph report --all --remote` and `git ralph watch --remote`: loops are looked at where they are.

use std::fs;

use serde_json::{Value, json};

use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, wait_until};

/// Returns whether a clone has no loop and no ref of one.
fn has_no_loop(clone: &Clone<'_>) -> bool {
    let files = fs::read_dir(clone.dir.join(".git/ralph")).into_iter().flatten();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let refs = clone.git(&["for-each-ref", "refs/ralph"]);
    refs.is_empty()
        && names
            .into_iter()
            .all(|name| name == ".listed" || name == "report.html")
}

#[test]
fn report_of_a_remote_agrees_with_the_report_of_its_origin() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    let sandbox = &remote.sandbox;
    one.ralph(&["start", CHANGE]).exits(0);
    let failing = sandbox.failing("echo kept >wrong");
    one.ralph(&["next", CHANGE, "--", &failing]).exits(3);
    one.ralph(&["retry", CHANGE, "--", &sandbox.completing("echo x >f")])
        .exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let viewer = remote.clone("viewer", &["--depth=1"]);
    let report = |code: i32| -> Value {
        let args = ["report", "--all", "--remote", "--json"];
        viewer.ralph(&args).exits(code).json()
    };
    let (seen, own) = (report(0), one.ralph(&["report", "--json"]).exits(0).json());
    assert_eq!(seen.as_array().unwrap().len(), 1);
    let (seen, branch) = (&seen[0], "ralph/add-login");
    assert_eq!(
        (&seen["change"], &seen["branch"]),
        (&json!(CHANGE), &json!(branch))
    );
    assert_eq!(seen["outcome"]["kind"], "open");
    for field in ["totals", "started", "final", "stories"] {
        let both = [seen, &own].map(|report| {
            let mut part = report[field].clone();
            for attempt in part.as_array_mut().into_iter().flatten() {
                // What was printed stays where it was.
                for one in attempt["attempts"].as_array_mut().unwrap() {
                    for local in ["output", "message", "log"] {
                        one[local] = Value::Null;
                    }
                }
            }
            part
        });
        assert_eq!(both[0], both[1], "{field}");
    }
    assert_eq!(seen["stories"][0]["attempts"][0]["diff"][0]["path"], "wrong");
    assert!(has_no_loop(&viewer));
    let page = viewer
        .ralph(&["report", "--all", "--remote", "origin"])
        .exits(0)
        .stdout;
    let page = fs::read_to_string(page.trim_end()).unwrap();
    assert!(page.contains(CHANGE) && page.contains("wrong"));
    // One that somebody holds, beside one that is none.
    let mut held = remote.state(CHANGE);
    held.message
        .push_str("Ralph-Holder: process 7 on a <b>\nRalph-Token: 1\n");
    remote.put_state(CHANGE, &held);
    remote.git(&["update-ref", "refs/ralph/broken/state", "main"]);
    let told = viewer
        .ralph(&["report", "--all", "--remote", "--markdown"])
        .exits(1);
    told.says("cannot read the state of 'broken' on origin: its message is not that of a state");
    let seen = report(1);
    assert_eq!(seen[0]["outcome"]["kind"], "running", "{seen}");
    let text = "running: 1 of 3 stories; process 7 on a <b> holds it on origin";
    assert_eq!(seen[0]["outcome"]["text"], text);
    assert!(has_no_loop(&viewer));
}

#[test]
fn watch_follows_a_remote_until_no_loop_runs() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let viewer = remote.clone("viewer", &[]);
    let args = ["ralph", "watch", "--remote", "--interval=200ms"];
    let watching = viewer.cmd(&args).on_terminal(200).start();
    wait_until("the loop", || watching.seen().contains("0/3  ready"));
    one.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    wait_until("its step", || watching.seen().contains("1/3  ready"));
    // A holder that renews its lease does this; it is seen at the next look that is answered.
    let oid = remote.git(&["rev-parse", "refs/ralph/add-login/state"]);
    let mut renewed = remote.state(CHANGE);
    renewed.message = renewed.message.replace("Generation: 2", "Generation: 3");
    remote.put_state(CHANGE, &renewed);
    let away = remote.sandbox.outside("away.git");
    fs::rename(&remote.bare, &away).unwrap();
    wait_until("the silence", || {
        watching.seen().contains("all of this was seen at ")
    });
    fs::rename(&away, &remote.bare).unwrap();
    wait_until("the answer", || watching.seen().contains("origin answers again"));
    remote.point(CHANGE, oid.trim());
    one.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    let seen = watching.end().exits(0).stdout;
    assert!(seen.contains("3/3  finished"), "{seen}");
    let told = seen
        .lines()
        .filter(|line| line.trim_end().ends_with("1/3  ready"));
    assert_eq!(told.count(), 1, "{seen}");
    let lines = viewer.ralph(&["watch", "--remote", "--json"]).exits(0).stdout;
    let line: Value = serde_json::from_str(lines.trim()).unwrap();
    let of = |key: &str| line[key].clone();
    assert_eq!(
        [of("change"), of("phase"), of("remote")],
        [CHANGE, "finished", "origin"]
    );
    assert!(line["t"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    assert!(has_no_loop(&viewer));
    remote.git(&["update-ref", "refs/ralph/broken/state", "main"]);
    viewer.ralph(&["watch", "--remote"]).exits(7);
}

#[test]
fn lists_say_what_only_the_message_of_a_state_claims() {
    let remote = Remote::new();
    let (one, viewer) = (remote.clone("one", &[]), remote.clone("viewer", &[]));
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let claim =
        "count and phase come from the commit message on origin; git ralph pull compares them with the state";
    let own = one.ralph(&["queue"]).exits(0).stdout;
    assert!(!own.contains(claim), "{own}");
    let mut state = remote.state(CHANGE);
    state.message = state.message.replace("Stories: 0/3", "Stories: 3/3");
    state.message = state.message.replace("Phase: ready", "Phase: complete");
    let older = |text: &str| {
        let (head, tail) = text.split_once("[loop.listed]\n").unwrap();
        let rest = tail.split_once("\n[").map_or("", |(_, rest)| rest);
        format!("{head}[{rest}")
    };
    remote.put_state(CHANGE, &state);
    let listed = viewer.ralph(&["queue"]).exits(0).stdout;
    assert!(listed.contains(&format!("of 1 change: {claim}\n")), "{listed}");
    let entry = viewer.ralph(&["queue", "--json"]).exits(0).json()["changes"][0].clone();
    assert_eq!(
        [&entry["done"], &entry["claimed"]],
        [&Value::from(3), &Value::from(true)]
    );
    let seen = viewer.ralph(&["watch", "--remote"]).exits(7).stdout;
    assert!(seen.contains(claim), "{seen}");
    viewer
        .ralph(&["pull", CHANGE])
        .exits(1)
        .says("its message and its state.toml say different things");
    // One of an earlier version has no count.
    state.message = state.message.replace("Phase: complete", "Phase: ready");
    state.edit("state.toml", older);
    remote.put_state(CHANGE, &state);
    let pulled = viewer.ralph(&["pull", CHANGE]).exits(0);
    pulled.says("add-login is here: 0 of 3 stories are complete");
}
