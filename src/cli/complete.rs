//! Completes words for a shell: names of changes, stories, attempts, agents and lists, each with a few words of help.
//!
//! Looks into the repository around the current directory; without one, or if something cannot be read, it offers less
//! and reports nothing. Takes no lock, changes nothing, and runs no command of the user's: the stories of the command
//! adapter are those that the loop has seen.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::path::Path;

use clap::builder::StyledStr;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use tokio::runtime::Runtime;

use crate::agent::presets;
use crate::engine::stories::listing_of;
use crate::events::log;
use crate::fs::is_seen_as_file;
use crate::git::{Git, Head, Repo, RepoLayout, discover};
use crate::names::Change;
use crate::settings::{Choice, Configuration};
use crate::state::{self, Phase, State, Store};
use crate::stories::Adapter;
use crate::ui::{cut, plain};

/// The words for an argument; `None` if there are none.
type Words = Option<Vec<CompletionCandidate>>;

/// Offers words for an argument.
pub fn offer(words: fn() -> Words) -> ArgValueCandidates {
    ArgValueCandidates::new(move || words().unwrap_or_default())
}

/// Offers words for an argument that names a story: those that begin with what is typed, else the only one whose title does.
/// Bash puts it there; other shells leave out what does not begin with the typed word.
pub fn offer_titled(words: fn() -> Words) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let begins = |text: &str| text.to_lowercase().starts_with(&typed.to_lowercase());
        let is_named = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(&*typed);
        let is_titled = |one: &CompletionCandidate| {
            let title = one.get_tag().and(one.get_help());
            title.is_some_and(|title| begins(&title.to_string()))
        };
        let all = words().unwrap_or_default().into_iter();
        let (named, others): (Vec<_>, Vec<_>) = all.partition(is_named);
        let titled: Vec<_> = others.into_iter().filter(is_titled).collect();
        match titled.len() {
            1 if named.is_empty() => titled,
            _ => named,
        }
    })
}

/// Offers words that do not depend on the place.
pub fn offer_anywhere(words: fn() -> Vec<CompletionCandidate>) -> ArgValueCandidates {
    ArgValueCandidates::new(words)
}

/// Returns the loops of this repository.
pub fn loops() -> Words {
    Some(Place::here()?.loops())
}

/// Returns the changes that have a story list.
pub fn changes() -> Words {
    Some(Place::here()?.changes())
}

/// Returns both, for a command that begins or continues a loop.
pub fn changes_and_loops() -> Words {
    let place = Place::here()?;
    let mut found = place.loops();
    for change in place.changes() {
        if !found.iter().any(|one| one.get_value() == change.get_value()) {
            found.push(change);
        }
    }
    found.sort();
    Some(found)
}

/// Returns `cleanup` and `keep`, and the loops.
pub fn choices_and_loops() -> Vec<CompletionCandidate> {
    let words = typed();
    let is_chosen = |choice: &str| words.iter().any(|word| word.trim_start_matches('-') == choice);
    let mut found = Vec::new();
    if !is_chosen("cleanup") && !is_chosen("keep") {
        found.push(candidate("cleanup", "the work comes back uncommitted"));
        found.push(candidate("keep", "the loop's branch and its commits stay"));
    }
    found.extend(loops().into_iter().flatten());
    found
}

/// Returns the loops, then the stories that one of them can skip, or skips.
pub fn loops_and_stories_to_skip() -> Words {
    let undo = typed().iter().any(|word| word == "--undo");
    after_the_change(|place, state| {
        let skipped = &state.progress().skipped;
        place.stories(state, |id, done| skipped.contains(id) == undo && (undo || !done))
    })
}

/// Returns the loops, then the stories of one of them that are complete.
pub fn loops_and_complete_stories() -> Words {
    after_the_change(|place, state| place.stories(state, |_, done| done))
}

/// Returns the stories of the loop that can have a prompt.
pub fn stories() -> Words {
    let place = Place::here()?;
    Some(place.stories(&place.state_of_line()?, |_, done| !done))
}

/// Returns the loops, then the attempts of one of them whose work can be shown.
pub fn loops_and_attempts() -> Words {
    after_the_change(|place, state| place.attempts(state, true))
}

/// Returns the loops, then the attempts of one of them whose work was undone and is kept.
pub fn loops_and_kept_attempts() -> Words {
    after_the_change(|place, state| place.attempts(state, false))
}

/// Returns the agents that are known by name, including those of the configuration.
pub fn agents() -> Vec<CompletionCandidate> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    if let (Ok(here), Some(runtime)) = (env::current_dir(), runtime())
        && !RepoLayout::is_waited_for(&here)
        && let Ok(read) = runtime.block_on(Configuration::read(&Git::at(&here)))
    {
        let agents = read.settings.agents.into_iter();
        found.extend(agents.filter_map(|(name, pieces)| Some((name, pieces.command?))));
    }
    let known = presets::ALL
        .iter()
        .filter(|preset| !found.contains_key(preset.name));
    let known = known.map(|preset| candidate(preset.name, &preset.line()));
    let own = found.iter().map(|(name, line)| candidate(name, line));
    known.chain(own).collect()
}

/// Returns the names of a setting's values.
pub fn names_of<C: Choice>() -> Vec<CompletionCandidate> {
    let words = C::WANTED.split(", ").flat_map(|words| words.split(" or "));
    words.map(CompletionCandidate::new).collect()
}

/// Returns the adapters.
pub fn adapters() -> Vec<CompletionCandidate> {
    let all = Adapter::ALL.iter();
    all.map(|adapter| candidate(adapter.name(), adapter.means()))
        .collect()
}

/// Returns story lists, relative to the current directory as for `--stories`; after the name of one, its possible
/// items.
pub fn story_lists(typed: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(_), Ok(here)) = (Place::here(), env::current_dir()) else {
        return Vec::new();
    };
    let mut found = PathCompleter::file().current_dir(&here).complete(typed);
    // Git's own directory has no story list.
    found.retain(|candidate| candidate.get_value() != ".git/");
    if let Some(text) = typed.to_str() {
        let path = text.split_once('#').map_or(text, |(path, _)| path);
        let is_json = Path::new(path).extension().is_some_and(|end| end == "json");
        if !is_json && is_seen_as_file(&here.join(path)) {
            let kinds = [
                ("#group", "each section is a story"),
                ("#whole", "the whole text is one story"),
                ("#item", "each item is a story"),
            ];
            let kinds = kinds.map(|(end, help)| candidate(&format!("{path}{end}"), help));
            found.extend(kinds.into_iter().filter(|candidate| {
                candidate
                    .get_value()
                    .to_str()
                    .is_some_and(|value| value.starts_with(text))
            }));
        }
    }
    found
}

/// Returns candidates for the words `[<change>] [<story>]`: the change may be left out.
fn after_the_change(rest: impl Fn(&Place, &State) -> Vec<CompletionCandidate>) -> Words {
    let place = Place::here()?;
    let words: Vec<String> = typed()
        .into_iter()
        .skip(2)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let state = place.state_of_line();
    let rest = state.map_or_else(Vec::new, |state| rest(&place, &state));
    match words.as_slice() {
        [] => Some(place.loops().into_iter().chain(rest).collect()),
        [change] if place.is_loop(change) => Some(rest),
        _ => None,
    }
}

/// Returns the words of the command line before the one to complete, the program and the verb first.
fn typed() -> Vec<String> {
    let mut words: Vec<String> = env::args_os()
        .skip_while(|word| word != "--")
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.pop();
    words
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    let help = plain(help.lines().next().unwrap_or_default());
    let shown = (!help.is_empty()).then(|| StyledStr::from(help.into_owned()));
    CompletionCandidate::new(plain(value).into_owned()).help(shown)
}

/// Returns the candidate of a story or an attempt, whose help begins with the title; a tag marks it.
fn titled(value: &str, help: &str) -> CompletionCandidate {
    candidate(value, help).tag(Some(StyledStr::from("story")))
}

/// Returns the beginning of a title or a reason, for one line beside others.
fn short(text: &str) -> String {
    cut(&plain(text.lines().next().unwrap_or_default()), 60)
}

fn runtime() -> Option<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()
}

/// The repository around the current directory.
struct Place {
    repo: Repo,
    head: Head,
    runtime: Runtime,
}

impl Place {
    fn here() -> Option<Self> {
        let dir = env::current_dir()
            .ok()
            .filter(|dir| !RepoLayout::is_waited_for(dir))?;
        let runtime = runtime()?;
        let (repo, head) = runtime.block_on(discover(&dir)).ok()?;
        Some(Self { repo, head, runtime })
    }

    fn known(&self) -> Vec<Change> {
        state::changes(&self.repo.common_dir).unwrap_or_default()
    }

    fn is_loop(&self, name: &str) -> bool {
        self.known().iter().any(|change| change.as_str() == name)
    }

    fn load(&self, change: &Change) -> Option<State> {
        Store::new(&self.repo.common_dir, change).load().ok().flatten()
    }

    fn loops(&self) -> Vec<CompletionCandidate> {
        state::loops_among(&self.repo.common_dir, &self.known())
            .iter()
            .map(|change| {
                let phase = self.load(change).map(|state| state.phase());
                candidate(change.as_str(), phase.map_or("", phase_words))
            })
            .collect()
    }

    fn changes(&self) -> Vec<CompletionCandidate> {
        crate::stories::changes(&self.repo.top)
            .iter()
            .map(|change| candidate(change, ""))
            .collect()
    }

    /// Returns the loop that the line names, else the default loop of a command without a name.
    fn state_of_line(&self) -> Option<State> {
        let known = self.known();
        let words = typed();
        if let Some(named) = known
            .iter()
            .find(|change| words.iter().skip(2).any(|word| word == change.as_str()))
        {
            return self.load(named);
        }
        let known = state::loops_among(&self.repo.common_dir, &known);
        let in_place = |change: &&Change| {
            self.load(change).is_some_and(|state| {
                let is_here = state.work_tree() == self.repo.top;
                state.is_live() && is_here && !state.has_branch()
            })
        };
        let on_branch = || {
            known
                .iter()
                .find(|change| Some(change.branch_ref()) == self.head.branch)
        };
        let on_branch = known.iter().find(in_place).or_else(on_branch);
        if let Some(change) = on_branch {
            return self.load(change);
        }
        let mut states: Vec<State> = known.iter().filter_map(|change| self.load(change)).collect();
        if states.iter().any(State::is_live) {
            states.retain(State::is_live);
        }
        states.pop().filter(|_| states.is_empty())
    }

    /// Returns the stories of a loop that are wanted, by their id and whether they are done.
    fn stories(&self, state: &State, is_wanted: impl Fn(&String, bool) -> bool) -> Vec<CompletionCandidate> {
        let stories = self.listed(state).into_iter();
        let wanted = stories.filter(|(id, _, done)| is_wanted(id, *done));
        wanted.map(|(id, title, _)| titled(&id, &short(&title))).collect()
    }

    /// Returns the ids and titles of the stories of a loop, and whether each is done, as far as they are known without a
    /// command of the user's.
    fn listed(&self, state: &State) -> Vec<(String, String, bool)> {
        if !state.source().is_by_command() {
            let listed = self.runtime.block_on(listing_of(state, &self.repo.top));
            let stories = listed.map(|listing| listing.stories).unwrap_or_default();
            let stories = stories.into_iter();
            return stories.map(|story| (story.id, story.title, story.done)).collect();
        }
        let progress = state.progress();
        let known = |id: &str, title: &str, done| (id.to_owned(), title.to_owned(), done);
        let current = progress.current().into_iter();
        let current = current.map(|story| known(&story.id, &story.title, false));
        let skipped = progress.skipped.iter().map(|id| known(id, "", false));
        let completed = progress
            .completed
            .iter()
            .map(|story| known(&story.id, &story.title, true));
        current.chain(skipped).chain(completed).collect()
    }

    /// Returns the attempts of a loop whose work still exists, the latest first; `checkpoints` selects those with a
    /// checkpoint as well.
    fn attempts(&self, state: &State, checkpoints: bool) -> Vec<CompletionCandidate> {
        let change = &state.change;
        let events = Store::new(&self.repo.common_dir, change).file("events.jsonl");
        let entries = log::attempts(&events).unwrap_or_default();
        let prefix = change.ralph_ref("attempts");
        let kept = self.runtime.block_on(self.repo.git.refs(&[&prefix]));
        let kept = kept.unwrap_or_default();
        let mut found: Vec<_> = entries
            .into_iter()
            .filter(|entry| match (&entry.checkpoint, &entry.kept) {
                (Some(_), _) => checkpoints,
                (None, Some(_)) => {
                    let name = change.attempt_ref(&entry.attempt.story, entry.attempt.attempt);
                    kept.iter().any(|one| one.name == name)
                }
                (None, None) => false,
            })
            .map(|entry| {
                let attempt = entry.attempt;
                let reason = attempt.reason.as_ref().map(|reason| format!(": {reason}"));
                let end = format!("{}{}", attempt.verdict, reason.unwrap_or_default());
                match entry.title {
                    Some(title) => titled(&attempt.name(), &format!("{} ({})", short(&title), short(&end))),
                    None => candidate(&attempt.name(), &end),
                }
            })
            .collect();
        found.reverse();
        found
    }
}

fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Ready => "stories are left",
        Phase::Running => "an attempt runs, or was cut off",
        Phase::Failed => "a story failed, retries are left",
        Phase::Exhausted => "a story failed, no retries are left",
        Phase::Complete => "no story is left",
        Phase::Finished => "finished",
    }
}
