//! The arguments of a verb, built only if it was typed.

use clap::builder::Resettable;
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments of a verb, which keeps its own description: where arguments are built late (`defer`), clap would
/// replace it by the comment on them.
#[derive(Debug)]
pub struct Verb<A>(pub A);

impl<A: Args> Args for Verb<A> {
    fn augment_args(verb: Command) -> Command {
        describe_as_before(verb, A::augment_args)
    }

    fn augment_args_for_update(verb: Command) -> Command {
        describe_as_before(verb, A::augment_args_for_update)
    }
}

fn describe_as_before(verb: Command, with_arguments: impl FnOnce(Command) -> Command) -> Command {
    let (short, long) = (verb.get_about().cloned(), verb.get_long_about().cloned());
    with_arguments(verb)
        .about(Resettable::from(short))
        .long_about(Resettable::from(long))
}

impl<A: FromArgMatches> FromArgMatches for Verb<A> {
    fn from_arg_matches(typed: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(typed).map(Self)
    }

    fn update_from_arg_matches(&mut self, typed: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(typed)
    }
}
