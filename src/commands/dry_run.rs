//! `--dry-run`: what a command would begin, without any change.

use std::ffi::OsString;

use crate::cli;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::stories::{listing_from_head, story_to_do};
use crate::engine::{
    Context, Found, StartOptions, Step, agent_of, look, missing_agents, preview, require_step, usual_agent,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{RefInfo, Repo};
use crate::inspect::box_filters::loose;
use crate::inspect::stories::{ChosenAgent, NextAttempt, Preview, Stories};
use crate::inspect::wrong_values::wrong_values;
use crate::names::Change;
use crate::settings::{BoxMode, Options};
use crate::ui::{self, Screen};

/// Shows the loop that would be begun. Returns false if there is one already.
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

/// Shows the attempt that `step` would make in a loop; that of a run if it is `None`.
pub(super) async fn of_loop(
    screen: Screen,
    context: Context<'_>,
    change: &Change,
    step: Option<Step>,
    (typed, agent): (&cli::Settings, &[OsString]),
) -> Result<Exit, Error> {
    let (context, state) = look(context, change).await?;
    if !state.is_live() {
        return Err(StepRefusal::of_end(&state).into());
    }
    let mut settings = state.settings_in(&context.configuration);
    Options::from(typed).apply(&mut settings);
    let listing = listing_from_head(&state, &context.head, &context.repo).await?;
    if let Some(step) = step {
        require_step(&state, step)?;
    }
    let story = story_to_do(&state, &listing)?;
    let given = agent;
    let agent = usual_agent(&state, &story, given, &settings, &context.repo.top);
    let preview = Preview {
        next: Some(NextAttempt {
            failures: state.failures_of(&story.id),
            story: story.id,
            title: story.title,
        }),
        stories: Stories::of(change, state.source(), listing, Some(state.progress())),
        agent: agent.map(ChosenAgent::of),
        settings,
    };
    show(screen, &preview, given, &context.repo).await;
    Ok(Exit::Done)
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
        for filter in loose(top).await.unwrap_or_default() {
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
