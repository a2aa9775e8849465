//! What a story of `run` costs beside the agent, against a shell loop with plain git as people write it.

use std::fs;
use std::time::Duration;

use super::measure::{Line, RALPH, counted, median, ratio, timed};
use super::repository::Repository;

const STORIES: u32 = 8;
const ROUNDS: usize = 5;

/// The agent: edits a few files and promises that the story is complete.
const AGENT: &str = "for file in d0/e0/file-1.txt d0/e0/file-2.txt fresh; do echo more >>$file; done\n\
                     echo '<promise>COMPLETE</promise>'\n";

/// The loop, as people write it.
const LOOP: &str = "while grep -q -F -e '- [ ]' tasks.md; do\n\
                    if sh \"$1\" | grep -q '<promise>COMPLETE</promise>'; then\n\
                    sed -i '0,/- \\[ \\]/s//- [x]/' tasks.md\n\
                    git add -A && git commit -q -m checkpoint\n\
                    else git reset -q --hard; git clean -q -fd; fi; done\n";

pub fn table() {
    println!("\n| a story of `run`, agent excluded | ratio | ms | git processes |");
    println!("|---|---:|---:|---:|");
    for files in [100, 10_000] {
        row(files);
    }
}

fn row(files: usize) {
    let home = tempfile::tempdir().unwrap();
    let [plain, ralph] = ["plain", "ralph"].map(|name| Repository::make(home.path(), name, files, 0));
    let agent = home.path().join("agent.sh");
    fs::write(&agent, AGENT).unwrap();
    let agent = agent.to_str().unwrap();
    let alone = vec![Line::new(&[
        "sh",
        "-c",
        &format!("for i in 1 2 3 4 5 6 7 8; do sh {agent}; done"),
    ])];
    let by_hand = vec![Line::new(&["bash", "-c", LOOP, "loop", agent])];
    let run = vec![Line::new(&[RALPH.as_str(), "run", "bench", "--", "sh", agent])];
    let start = Line::new(&[RALPH.as_str(), "start", "bench", "--stories", "tasks.md"]);
    let prepare = || {
        for repository in [&plain, &ralph] {
            repository.reset();
            repository.keep_stories(STORIES);
        }
        timed(&ralph.dir, std::slice::from_ref(&start));
    };
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        prepare();
        let agents = timed(&plain.dir, &alone);
        plain.reset();
        plain.keep_stories(STORIES);
        let story = |whole: Duration| whole.saturating_sub(agents) / STORIES;
        theirs.push(story(timed(&plain.dir, &by_hand)));
        mine.push(story(timed(&ralph.dir, &run)));
    }
    prepare();
    let stories = usize::try_from(STORIES).unwrap();
    let processes = [(&ralph, &run), (&plain, &by_hand)]
        .map(|(repository, lines)| counted(&repository.dir, lines).processes / stories);
    let (mine, theirs) = (median(mine), median(theirs));
    println!(
        "| {files} files | {:.2} | {:.1} / {:.1} | {} / {} |",
        ratio(mine, theirs),
        mine.as_secs_f64() * 1e3,
        theirs.as_secs_f64() * 1e3,
        processes[0],
        processes[1],
    );
}
