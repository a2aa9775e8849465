//! Takes in the results of a side: an attempt of the loop whose agent has ended.

use std::collections::HashSet;
use std::path::Path;

use jiff::SignedDuration;

use super::Made;
use super::keep::{copy_log, keep};
use super::list::put_list_back;
use super::merge::merged;
use super::notices::repeat_notices;
use super::ready::OWN_TREE_ALONE;
use crate::agent::Agent;
use crate::agent::decode::{Decoder, Report};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::facts::Facts;
use crate::engine::attempt::learnings;
use crate::engine::attempt::outcome::{Beside, Outcome};
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::attempt::verdict::Judgement;
use crate::engine::output_tail::OutputTail;
use crate::engine::steps::attempt::{
    AttemptOptions, Concluded, StepEnd, after_agent, agent_of_attempt, begin_at, conclude, put_branch_back,
    take_record, unjudged,
};
use crate::engine::steps::manual_edits::commit_manual_edits;
use crate::engine::steps::skip::{SkipWatch, is_asked_to_skip};
use crate::engine::stories::listing_of;
use crate::engine::transition::place;
use crate::engine::{Loop, list_growth, numbers, submodules, unmarked_stories};
use crate::error::Error;
use crate::events::{Basis, News};
use crate::fs::{Links, read_regular};
use crate::git::{StagedEntry, added_in, discover};
use crate::names::Oid;
use crate::paths::{first_few, shown};
use crate::protect::KeptModes;
use crate::refs::KeptRef;
use crate::signal::SKIPPED;
use crate::state::{Phase, Verdict};
use crate::stories::Story;

/// Maximum number of bytes of a log in which the agent's message is searched.
const MOST_OF_A_LOG: u64 = 64 << 20;

/// The result of taking in an attempt.
pub enum Taken {
    /// The attempt ended its step.
    End(StepEnd),
    /// Something other than the agent ended it; it does not count. The refusal is for a second one in a row.
    Broken(AttemptRefusal),
    /// Its story is no longer to be done; the work is kept.
    Obsolete,
}

/// Turns the results of a side into an attempt of the loop, with the side's verdict; if that is `complete`, the work is
/// merged with the last checkpoint, and judged there.
///
/// # Errors
/// As for an attempt. After an error the work tree is at a checkpoint, or the next command brings it there; the side is
/// unchanged.
pub async fn take_in(open: &mut Loop<'_>, made: Made, options: &AttemptOptions) -> Result<Taken, Error> {
    let (settings, id) = (&options.settings, made.attempt.story.clone());
    // As long as nothing is moved.
    let listing = listing_of(&open.state, &open.repo().top).await;
    if let Some(story) = listing.ok().as_ref().and_then(|listing| listing.find(&id)) {
        agent_of_attempt(open, story, options)?;
    }
    open.advance(|progress| progress.turn_to(&id))?;
    put_list_back(open).await?;
    if open.held_list.is_some() {
        // The list of the checkpoint is read, and then has the user's additions.
        put_branch_back(open).await?;
        commit_manual_edits(open, &id).await?;
    }
    let listing = unmarked_stories::require_marks(open, settings).await?;
    list_growth::note_between(&mut open.state, &mut open.open_stories, &listing);
    open.context.observer.hear(News::Names(&listing.short_names()));
    let is_open = |story: &&Story| story.id == id && !story.done;
    let story = listing.stories.iter().find(is_open).cloned();
    let story = story.filter(|_| !open.state.progress().skipped.contains(&id));
    let Some(story) = story else {
        keep(open, &made, "the story is not to be done any more").await?;
        return Ok(Taken::Obsolete);
    };
    let is_open = |id: &&String| listing.find(id).is_some_and(|other| !other.done);
    if let Some(other) = story.depends_on.iter().flatten().find(is_open) {
        let why = format!("story {other}, for which it waits, is open again");
        keep(open, &made, &why).await?;
        return Ok(Taken::Obsolete);
    }
    if made.base != *open.state.checkpoint()
        && !open.git().is_ancestor(open.state.initial(), &made.base).await?
    {
        keep(open, &made, "it was made for an earlier loop").await?;
        return Ok(Taken::Obsolete);
    }
    open.advance(|progress| progress.turn_to(&id))?;
    if open.state.phase() == Phase::Exhausted {
        keep(open, &made, "the story has no retries left").await?;
        return Ok(Taken::Obsolete);
    }
    let step = open.state.progress().next_step();
    put_branch_back(open).await?;
    commit_manual_edits(open, &id).await?;
    let agent = agent_of_attempt(open, &story, options)?;
    let mut outcome = outcome_of(open, &made, &agent);
    let beside = completed_since(open, &made).len();
    open.puts_off = open.puts_off.map(|_| beside);
    let (mut beside, tree) = read_work(open, &made, &story, &mut outcome).await?;
    // Decided before the verdict names the ref that keeps the work.
    let name = open.change().attempt_ref(&id, numbers::next_number(open, &id)?);
    let kept = beside
        .kept
        .iter()
        .map(|kept| KeptRef::new(name.clone(), kept.clone()));
    let commits = made.commits.iter().map(|tip| KeptRef::beside(&name, tip));
    let others = made.beside.iter().map(|other| {
        let role = other.name.strip_prefix(&made.kept_as).unwrap_or_default();
        KeptRef::new(format!("{name}{role}"), other.oid.clone())
    });
    let wanted: Vec<KeptRef> = others.chain(kept).chain(commits).collect();
    let found = open
        .keep_refs(&wanted, "ralph: an attempt that was made beside others")
        .await?;
    if moves_list(open, &made) && made.base == *open.state.checkpoint() {
        // As with one attempt at a time, the loop follows a list that was moved.
        open.held_list = None;
    }
    open.state.show_messages_of(&id, &made.shown);
    let mut facts = take_record(open, &id, settings).await?;
    hold(open, &mut facts).await?;
    let (since, chosen) = ((made.attempt.started, Some(made.slot)), (listing, story));
    let mut begun = Begun {
        facts,
        ..begin_at(open, since, step, chosen, Some(&agent), settings)?
    };
    // If this process dies, the next judgement counts the cost of the agent.
    let cost = made.attempt.cost_usd.map(|_| 0.0);
    open.state.note_running(|running| running.cost_usd = cost);
    let mut names: Vec<(String, String)> = made
        .beside
        .iter()
        .zip(found)
        .map(|(there, here)| (there.name.clone(), here.name))
        .collect();
    let log = numbers::log_of(open, &id, begun.number);
    names.push((made.log.display().to_string(), log.display().to_string()));
    names.push((made.kept_as.clone(), name));
    repeat_notices(open, &made, begun.number, &names).await?;
    let known = learnings::newest_in(&learnings::file(open));
    // Notes of the loop begin with their attempt.
    let text = |line: &str| line.split_once("] ").map_or(line, |(_, text)| text).to_owned();
    let known: HashSet<String> = known
        .lines()
        .flat_map(|line| [line.to_owned(), text(line)])
        .collect();
    let is_new = |line: &&String| !line.is_empty() && !known.contains(*line);
    let learned: Vec<String> = made.learned.iter().filter(is_new).cloned().collect();
    learnings::learn(open, &id, begun.number, &learned);
    copy_log(open, &made, &mut begun.log);
    after_agent(open, &mut begun, true).await?;
    if let Some(tree) = tree
        && let Some(judgement) = put_in_place(open, &tree, &beside, &made.top).await?
    {
        let words = judgement.verdict.words();
        beside.kept = Some(keep_as_failed(open, &made, &beside.own, words).await?);
        beside.reason = (judgement.reason.clone(), None);
        outcome.judgement = judgement;
    }
    outcome.beside = Some(beside);
    let _watch = SkipWatch::begin(open, &id);
    Ok(match Box::pin(conclude(open, outcome, begun)).await? {
        Concluded::End(end) => Taken::End(end),
        Concluded::Broken { refusal, .. } => Taken::Broken(refusal),
        Concluded::Unavailable(_) if open.is_asked_to_stop() => Taken::End(StepEnd::Asked),
        Concluded::Unavailable(unavailable) => Taken::End(StepEnd::Limited(unavailable.reason)),
    })
}

/// Returns whether the attempt has moved the story list.
fn moves_list(open: &Loop<'_>, made: &Made) -> bool {
    made.list != open.state.source().path
}

/// Records the checkpoint's list, if held, as the one before the attempt: attempts may write to the file at any time.
async fn hold(open: &Loop<'_>, facts: &mut Facts) -> Result<(), Error> {
    let list = facts.list.as_mut().filter(|_| open.held_list.is_some());
    let path = &open.state.source().path;
    if let Some(list) = list
        && let Some(bytes) = open.git().file_of(open.state.checkpoint(), path).await?
    {
        list.bytes = bytes;
    }
    Ok(())
}

/// Returns whether the last checkpoint's list has the story with the words that the side's agent was given, whatever
/// its marks and blanks.
async fn has_same_words(open: &Loop<'_>, made: &Made, id: &str) -> Result<bool, Error> {
    if made.base == *open.state.checkpoint() {
        return Ok(true);
    }
    let source = open.state.source();
    let git = open.git();
    let base = git.file_of(&made.base, &source.path).await?.unwrap_or_default();
    let tip = git.file_of(open.state.checkpoint(), &source.path).await?;
    let tip = tip.unwrap_or_default();
    // The members of a JSON story have no order.
    if source.has_same_story(&base, &tip, id) {
        return Ok(true);
    }
    let mut words = Vec::new();
    for list in [base, tip] {
        let listing = source.list_in(&list)?;
        let story = listing.stories.into_iter().find(|story| story.id == id);
        words.push(story.map(|story| {
            let body = story.body.replace("[x]", "[ ]").replace("[X]", "[ ]");
            let body: String = body.split_whitespace().collect();
            (story.title, body)
        }));
    }
    Ok(words[0] == words[1])
}

/// Finds the work that an attempt has made for this loop. Returns the tree to judge, if it promised one that can be
/// merged with the last checkpoint; otherwise the outcome has the judgement.
async fn read_work(
    open: &Loop<'_>,
    made: &Made,
    story: &Story,
    outcome: &mut Outcome,
) -> Result<(Beside, Option<Oid>), Error> {
    let mut beside = Beside {
        attempt: made.attempt.clone(),
        slot: made.slot,
        reason: made.reason.clone(),
        base: made.base.clone(),
        own: made.base.clone(),
        merged: None,
        published: published_since(open, made),
        kept: made.commit.clone(),
    };
    let is_promised = made.attempt.verdict == Verdict::Complete;
    let Some(commit) = made.commit.as_ref().filter(|_| is_promised) else {
        return Ok((beside, None));
    };
    beside.own = open.git().tree_of(commit).await?;
    if !has_same_words(open, made, &story.id).await? {
        let why = "the words of the story were changed meanwhile: it was made for those before";
        outcome.judgement = Judgement::new(Verdict::Conflict, why);
        beside.kept = Some(keep_as_failed(open, made, &beside.own, outcome.judgement.verdict.words()).await?);
        beside.reason = (outcome.judgement.reason.clone(), None);
        return Ok((beside, None));
    }
    let is_behind = made.base != *open.state.checkpoint();
    let judgement = if moves_list(open, made) && is_behind {
        let list = shown(made.list.as_bytes());
        let others = &beside.published;
        Judgement::new(
            Verdict::Conflict,
            format!("it moves the story list to {list}{others}"),
        )
    } else {
        match merged(open, (made, story), &beside.own).await? {
            Ok(tree) => match new_submodule(open, &tree).await? {
                None => {
                    (beside.merged, beside.kept) =
                        (Some(tree.clone()).filter(|tree| *tree != beside.own), None);
                    return Ok((beside, Some(tree)));
                }
                Some(path) => Judgement::new(
                    Verdict::Conflict,
                    format!("{OWN_TREE_ALONE} {path}: it is attempted there next time"),
                ),
            },
            Err(paths) => {
                let (paths, others) = (first_few(&paths).join(", "), &beside.published);
                let whose = match others.as_str() {
                    "" => "what changed in the loop's work tree",
                    _ => "what other stories changed",
                };
                let why = format!("git cannot merge it with {whose} meanwhile{others}: {paths}");
                Judgement::new(Verdict::Conflict, why)
            }
        }
    };
    beside.kept = Some(keep_as_failed(open, made, &beside.own, judgement.verdict.words()).await?);
    beside.reason = (judgement.reason.clone(), None);
    outcome.judgement = judgement;
    Ok((beside, None))
}

/// Puts the judged tree into the work tree; returns the judgement if git cannot reproduce it exactly.
async fn put_in_place(
    open: &Loop<'_>,
    tree: &Oid,
    beside: &Beside,
    side: &Path,
) -> Result<Option<Judgement>, Error> {
    let (git, checkpoint) = (open.git(), open.checkpoint());
    let site = open.site();
    let trash = site.trash().join(open.trash_name());
    let changes = git.diff_trees(&checkpoint.tree, tree).await?;
    let in_the_way = open.repo().in_the_way(&changes)?;
    let (of_gates, others): (Vec<_>, Vec<_>) = in_the_way
        .into_iter()
        .partition(|path| checkpoint.gate_files.contains_key(path));
    if !others.is_empty() {
        let paths = first_few(&others).join(", ");
        let why =
            format!("files that git ignores in the loop's work tree are in the way of its own: {paths}");
        return Ok(Some(Judgement::new(Verdict::Failed, why)));
    }
    checkpoint.put_new_away(&of_gates, &trash)?;
    let is_there = |file: &StagedEntry| !of_gates.contains(&file.path);
    open.state.here.gate_files.borrow_mut().retain(is_there);
    let new = match discover(side).await {
        Ok((found, _)) if found.top == side => KeptModes::of_new(&found, open.repo(), &changes)?,
        // The side's work tree may be gone.
        _ => KeptModes::default(),
    };
    let stays = place(open, tree).await?;
    new.give(open.repo())?;
    if let Some(why) = stays {
        return Ok(Some(Judgement::new(Verdict::Conflict, why)));
    }
    let list = [format!(":(top,literal){}", open.state.source().path)];
    let mut seen = open.read_work_tree().await?.tree;
    if open.held_list.is_some() {
        // Another attempt may write to the list at any time.
        let scratch = open.site().file("merge.index");
        seen = open
            .repo()
            .tree_with_those_of(&scratch, [&seen, tree], &list)
            .await?;
    }
    if seen == *tree {
        return Ok(None);
    }
    // A file that an ignore rule of another story hides stays known to git, as in its side.
    let entries = git.changes_among(&seen, tree, &[]).await?;
    let entries: Vec<StagedEntry> = entries.into_iter().filter_map(|change| change.is).collect();
    let index = open.repo().index();
    open.repo().set_entries(&index, &entries).await?;
    open.view.drop_all();
    seen = open.read_work_tree().await?.tree;
    if seen == *tree {
        return Ok(None);
    }
    let hidden = git.diff_trees(&seen, tree).await?;
    let paths = first_few(hidden.iter().map(|(_, path)| path)).join(", ");
    let unseen: Vec<Vec<u8>> = added_in(&hidden).cloned().collect();
    open.checkpoint().put_new_away(&unseen, &trash)?;
    let (verdict, others) = match &beside.merged {
        Some(_) => (Verdict::Conflict, &beside.published),
        None => (Verdict::Failed, &beside.published),
    };
    let why = format!(
        "git ignores or converts these files by other rules than where they were made{others}: {paths}"
    );
    Ok(Some(Judgement::new(verdict, why)))
}

/// Makes the commit that keeps promised work that was not accepted, without its mark in the list.
async fn keep_as_failed(open: &Loop<'_>, made: &Made, own: &Oid, words: &str) -> Result<Oid, Error> {
    let repo = open.repo();
    let list = [format!(":(top,literal){}", open.state.source().path)];
    let scratch = open.site().file("merge.index");
    let base = repo.git.tree_of(&made.base).await?;
    let tree = repo.tree_with_those_of(&scratch, [own, &base], &list).await?;
    let message = format!("attempt at {}: {words}", made.attempt.story);
    Ok(repo.commit_tree(&tree, &[&made.base], &message).await?)
}

/// Returns the path of a submodule that only this tree or only the last checkpoint has, or of a moved nested one.
async fn new_submodule(open: &Loop<'_>, tree: &Oid) -> Result<Option<String>, Error> {
    let checkpoint = open.state.checkpoint_tree();
    let changes = open.git().changes_among(checkpoint, tree, &[]).await?;
    let is_one = |entry: &Option<StagedEntry>| entry.as_ref().is_some_and(StagedEntry::is_submodule);
    let new = changes
        .iter()
        .find(|change| is_one(&change.was) != is_one(&change.is));
    match new {
        Some(new) => Ok(Some(shown(&new.path))),
        None => submodules::nested_move(open, checkpoint, tree).await,
    }
}

/// Returns the outcome of an attempt: the verdict is the side's, and the log has the agent's message.
fn outcome_of(open: &Loop<'_>, made: &Made, agent: &Agent) -> Outcome {
    let attempt = &made.attempt;
    let log = read_regular(&made.log, Links::Refused, MOST_OF_A_LOG).unwrap_or_default();
    let printed = attempt
        .output
        .and_then(|output| output.of(&log))
        .unwrap_or_default();
    let prompt = made.log.with_extension("prompt.md");
    let prompt = read_regular(&prompt, Links::Refused, MOST_OF_A_LOG).unwrap_or_default();
    let mut decoder = Decoder::new(agent.format, &String::from_utf8_lossy(&prompt));
    decoder.push(printed);
    let mut tail = OutputTail::default();
    tail.push(printed);
    let skipped = is_asked_to_skip(&open.store, &attempt.story).then_some(SKIPPED);
    let stopped = open.context.stop.signal().or(skipped);
    let is_more = |basis: &&Basis| matches!(basis, Basis::Confirmed | Basis::UnchangedSaid | Basis::Doubtful);
    let judgement = Judgement {
        reason: attempt.reason.clone(),
        also: attempt.rests_on.iter().find(is_more).copied(),
        wrong_form: attempt.verdict == Verdict::NoSignal && made.reason.0.is_some(),
        signal: stopped.filter(|_| attempt.verdict == Verdict::Interrupted),
        unjudged: made
            .stopped
            .as_deref()
            .filter(|_| attempt.verdict == Verdict::Interrupted)
            .and_then(unjudged),
        ..Judgement::bare(attempt.verdict)
    };
    let rounds = attempt.rounds.unwrap_or(1);
    Outcome {
        judgement,
        ended: attempt.started + SignedDuration::try_from_secs_f64(attempt.duration).unwrap_or_default(),
        exit_code: attempt.exit_code,
        report: Some(Report {
            cost_usd: attempt.cost_usd,
            input_tokens: attempt.input_tokens,
            output_tokens: attempt.output_tokens,
            ..decoder.finish()
        }),
        agent: made.begun.as_ref().and_then(|begun| begun.agent.clone()),
        tail: tail.text(),
        output: attempt.output,
        rounds,
        // The messages of earlier rounds are unknown.
        is_closed: rounds > 1,
        ..Outcome::default()
    }
}

/// Returns the stories that were completed since the attempt began.
fn completed_since<'l>(open: &'l Loop<'_>, made: &Made) -> Vec<&'l str> {
    let is_new = |id: &&str| made.completed.iter().all(|done| done.id != **id);
    let completed = open.state.progress().completed.iter();
    completed.map(|done| done.id.as_str()).filter(is_new).collect()
}

/// Returns the words about the stories that were completed since the attempt began; empty if none was.
fn published_since(open: &Loop<'_>, made: &Made) -> String {
    let new = completed_since(open, made);
    if new.is_empty() {
        return String::new();
    }
    format!(" (complete since: {})", new.join(", "))
}
