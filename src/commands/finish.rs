//! `git ralph finish`.

use super::choose::{AT_THE_END, by_flag, choose, closes};
use super::job_page::summarise;
use super::setup::{Console, here};
use crate::cli;
use crate::cli::complete::{choices_and_loops, offer_anywhere};
use crate::engine::question::Answered;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{self, Finish, Loop};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::summary::Summary;
use crate::names::{counted, typed};
use crate::remote::last_remote;
use crate::state::{Effect, Ending, Listed};
use crate::ui;
use crate::ui::choice::Choice;
use clap::ValueHint;
use std::path::PathBuf;

/// The arguments of `git ralph finish`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "git ralph finish [--cleanup [--index | --into <dir>] | --keep]\n       [--json] [<change>]"
)]
pub struct Args {
    /// The choice.
    #[command(flatten)]
    pub choice: cli::Choice,
    /// With --cleanup, stage again what was staged before the loop and the loop has not changed
    #[arg(long)]
    pub index: bool,
    /// With --cleanup, for a loop with a work tree of its own: bring the changes into this work tree, instead of the one
    /// that has the branch checked out on which the loop began
    #[arg(long, value_name = "DIR", conflicts_with_all = ["keep", "index"], value_hint = ValueHint::DirPath)]
    pub into: Option<PathBuf>,
    /// The change; `cleanup` or `keep` may stand before it as a word
    #[arg(num_args = 0..=2, value_name = "CHANGE", add = offer_anywhere(choices_and_loops))]
    pub words: Vec<String>,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let (choice, change) = chosen(&args);
    if choice.is_some() && change.is_some_and(|change| CHOICES.contains(&change)) && args.words.len() == 2 {
        return Err(FinishRefusal::TwoChoices.into());
    }
    let mut open = console.open(change).await?;
    if !open.state.is_live() {
        let asked = choice.map(|choice| match choice {
            Finish::Cleanup { .. } => Effect::Closed(Ending::Cleanup),
            Finish::Keep => Effect::Closed(Ending::Keep),
        });
        if asked.is_some() && open.completed == asked {
            // The same command was interrupted; opening the loop has completed it.
            summarise(&open).await;
            return Ok(Exit::Done);
        }
        if let Some((asked, was)) = choice.zip(open.state.here.closed)
            && let Some(refusal) = engine::refuse_other_way(&open, was, asked).await?
        {
            return Err(refusal.into());
        }
        return Err(StepRefusal::of_end(&open.state).into());
    }
    if choice.is_none() && !console.can_ask() {
        return Err(FinishRefusal::NoChoice(open.change().to_string()).into());
    }
    let choice = match choice {
        Some(choice) => choice,
        None => {
            let summary = Summary::of(&open).await?;
            console.say(&ui::summary::of(&summary, None));
            let answered = Box::pin(choose(console.screen, &mut open, &AT_THE_END, None, None)).await?;
            let choice = match answered {
                Answered::Here(choice) => choice,
                Answered::ToStop => Choice::Quit,
                Answered::ByOtherCommand | Answered::Lost => {
                    return Err(StepRefusal::AnsweredElsewhere(open.change().to_string()).into());
                }
            };
            match closes(choice) {
                Some(choice) => choice,
                None => return Ok(open.context.stop.signal().map_or(Exit::Done, Exit::Signal)),
            }
        }
    };
    let choice = match choice {
        Finish::Cleanup { .. } => Finish::Cleanup { index: args.index },
        Finish::Keep => Finish::Keep,
    };
    let into = args.into.as_ref().map(|dir| Ok::<_, Error>(here()?.join(dir)));
    let into = into.transpose()?;
    engine::finish(&mut open, choice, into.as_deref()).await?;
    tell_what_is_left(console, &open);
    summarise(&open).await;
    Ok(Exit::Done)
}

/// Reports how many stories are open in a closed loop, and how to push its end to its remote.
fn tell_what_is_left(console: &Console, open: &Loop<'_>) {
    if let Some(Listed { done, total, next }) = open.state.listed()
        && done < total
    {
        let stories = counted(*total, "story is", "stories are");
        let next = next.as_ref();
        let next = next.map_or_else(String::new, |next| format!("; story {next} is open"));
        console.say(&format!("{done} of {stories} complete{next}\n"));
    }
    if let Some(remote) = last_remote(open.repo(), open.change()) {
        let (change, named) = (typed(open.change()), typed(&remote));
        console.say(&format!(
            "the end is not on {remote} yet; to close the loop there: git ralph push {change} --remote {named}\n"
        ));
    }
}

/// The words for the choices.
const CHOICES: [&str; 2] = ["cleanup", "keep"];

/// Returns the choice, from a flag or the first word, and the change.
fn chosen(args: &Args) -> (Option<Finish>, Option<&str>) {
    let word = |at: usize| args.words.get(at).map(String::as_str);
    if let Some(choice) = by_flag(args.choice) {
        return (Some(choice), word(0));
    }
    match word(0) {
        Some("cleanup") => (Some(Finish::Cleanup { index: false }), word(1)),
        Some("keep") => (Some(Finish::Keep), word(1)),
        change => (None, change),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn both_choices_have_several_spellings() {
        let cleanup = Some(Finish::Cleanup { index: false });
        let keep = Some(Finish::Keep);
        for (line, choice, change) in [
            ("--cleanup c", cleanup, Some("c")),
            ("c --cleanup", cleanup, Some("c")),
            ("cleanup", cleanup, None),
            ("cleanup c", cleanup, Some("c")),
            ("--keep c", keep, Some("c")),
            ("keep", keep, None),
            ("keep c", keep, Some("c")),
            ("--keep keep", keep, Some("keep")),
            ("c", None, Some("c")),
            ("", None, None),
        ] {
            let command = Args::augment_args(clap::Command::new("finish").no_binary_name(true));
            let matches = command.try_get_matches_from(line.split_whitespace()).unwrap();
            let args = Args::from_arg_matches(&matches).unwrap();
            assert_eq!(chosen(&args), (choice, change), "{line}");
        }
    }
}
