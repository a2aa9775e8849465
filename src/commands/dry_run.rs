//! `--dry-run`: shows what a command would begin, without any change.

use std::ffi::OsString;

use crate::cli;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::stories::{listing_from_head, story_to_do};
use crate::engine::{
    Context, Found, StartOptions, Step, agent_of, judged_first, look, missing_agents, preview, raised_by,
    require_step, require_step_here, usual_agent,
};
use crate::error::Error;
use crate::events::News;
use crate::events::tally::Tally;
use crate::exit::Exit;
use crate::git::{RefInfo, Repo};
use crate::inspect::box_filters::unboxed_filters;
use crate::inspect::stories::{ChosenAgent, NextAttempt, Preview, Stories};
use crate::inspect::wrong_values::wrong_values;
use crate::names::Change;
use crate::settings::{BoxMode, OnFailure, Options, Settings};
use crate::state::{Phase, State, Store};
use crate::ui::{self, Screen};

/// Shows the loop that would begin. Returns false if there already is one.
pub(super) async fn of_new_loop(
    screen: Screen,
    context: &Context<'_>,
    change: &Change,
    options: &StartOptions,
    refs: Option<Vec<RefInfo>>,
) -> Result<bool, Error> {
    let Some(Found { source, listing, .. }) = preview(context, change, options, refs).await? else {
        return Ok(false);
    };
    let preview = Preview {
        next: None,
        stories: Stories::of(change, &source, listing, None),
        agent: agent_of(&options.agent, &options.settings, &context.repo.top).map(ChosenAgent::of),
        settings: options.settings.clone(),
    };
    show(screen, &preview, &options.agent, &context.repo).await;
    Ok(true)
}

/// The command whose attempt is shown.
pub(super) enum Planned<'a> {
    /// `next` or `retry`.
    Step(Step),
    /// `run`, which sets its own options.
    Run(&'a dyn Fn(&mut Settings)),
}

/// Shows the attempt that a command would make in a loop.
pub(super) async fn of_loop(
    screen: Screen,
    context: Context<'_>,
    change: &Change,
    planned: Planned<'_>,
    (typed, agent): (&cli::Settings, &[OsString]),
) -> Result<Exit, Error> {
    let (context, mut state) = look(context, change).await?;
    if !state.is_live() {
        return Err(StepRefusal::of_end(&state).into());
    }
    let mut settings = state.settings_in(&context.configuration);
    Options::from(typed).apply(&mut settings);
    let listing = listing_from_head(&state, &context.head, &context.repo).await?;
    context.observer.hear(News::Names(&listing.short_names()));
    require_step_here(&context, &state).await?;
    let stops = match planned {
        Planned::Step(step) => {
            // With any step, unreviewed work is judged.
            if state.unreviewed().is_none() {
                require_step(&state, step)?;
            }
            None
        }
        Planned::Run(set_options) => {
            set_options(&mut settings);
            give_way(&mut state, &settings).err()
        }
    };
    let events = Store::new(&context.repo.common_dir, change).file("events.jsonl");
    let cost = Tally::read(&events).map_or(0.0, |tally| tally.cost);
    let limited = raised_by(&state, cost, &settings)
        .map(|option| format!("git ralph run {} {option}", crate::names::typed(change)));
    let story = story_to_do(&state, &listing)?;
    let unreviewed = judged_first(&state, &story.id, &settings)?.map(str::to_owned);
    let given = agent;
    let agent = usual_agent(&state, &story, given, &settings, &context.repo.top);
    let preview = Preview {
        next: (stops.is_none() && limited.is_none()).then(|| NextAttempt {
            failures: state.failures_of(&story.id),
            story: story.id,
            title: story.title,
            unreviewed,
        }),
        stories: Stories::of(change, state.source(), listing, Some(state.progress())),
        agent: agent.map(ChosenAgent::of),
        settings,
    };
    if !(screen.json && stops.is_some()) {
        show(screen, &preview, given, &context.repo).await;
    }
    match (stops, limited) {
        (Some(refusal), _) => Err(refusal),
        (None, Some(option)) => {
            screen.say(&format!(
                "no attempt: a limit is reached\n  (use \"{option}\" to continue with a higher limit)\n"
            ));
            Ok(Exit::Limit)
        }
        (None, None) => Ok(Exit::Done),
    }
}

/// Puts off or skips a story without retries left, as a run would; refuses it where the run would stop.
fn give_way(state: &mut State, settings: &Settings) -> Result<(), Error> {
    let progress = &mut state.common.progress;
    // During an attempt the limit does not change.
    let _ = progress.limit(settings.max_retries);
    let spent = progress.current().filter(|_| progress.phase == Phase::Exhausted);
    let Some(id) = spent.map(|story| story.id.clone()) else {
        return Ok(());
    };
    let given = match settings.on_failure {
        OnFailure::Skip => progress.skip(&id).is_ok(),
        OnFailure::Later => progress.put_off(progress.completed.len()).is_ok(),
        OnFailure::Stop | OnFailure::Finish => false,
    };
    if given {
        Ok(())
    } else {
        require_step(state, Step::Retry)
    }
}

async fn show(screen: Screen, preview: &Preview, given: &[OsString], repo: &Repo) {
    let top = repo.top.as_path();
    for (key, missing) in missing_agents(given, &preview.settings, top) {
        screen.say(&format!(
            "warning: {key}: cannot find the agent '{missing}'\nhint: install it, or name another: git config {key} <name>\n"
        ));
    }
    for wrong in wrong_values(&preview.settings, repo).await {
        screen.say(&format!("warning: {}\nhint: {}\n", wrong.message, wrong.hint));
    }
    if preview.settings.boxing.mode != BoxMode::Off {
        for filter in unboxed_filters(top).await.unwrap_or_default() {
            screen.say(&format!("warning: {}\n", filter.message()));
        }
    }
    if screen.json {
        screen.document(preview);
        return;
    }
    screen.answer(&ui::preview::table(preview, screen.columns()));
    screen.say(&ui::stories::warnings(&preview.stories));
}
