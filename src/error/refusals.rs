//! The enums of errors: each variant with its message, its hint and its exit code.

use std::path::PathBuf;

use super::advice::{Advice, Advise};
use crate::names::{typed, typed_path};

/// A value that is a part of a command to type.
pub trait Word {
    /// Returns the value as a shell reads it.
    fn word(&self) -> String;
}

impl Word for String {
    fn word(&self) -> String {
        typed(self)
    }
}

impl Word for PathBuf {
    fn word(&self) -> String {
        typed_path(self)
    }
}

/// The directory in which a command has to be typed, if that is another one.
impl Word for Option<PathBuf> {
    fn word(&self) -> String {
        let go_there = |dir: &PathBuf| format!("cd {} && ", typed_path(dir));
        self.as_ref().map_or_else(String::new, go_there)
    }
}

/// Returns the advice of the error that another one shows as its own.
pub fn transparent(inner: &impl Advise) -> Advice {
    inner.advice()
}

/// Makes an error whose variants have message and advice together. After `=>` stands the exit code, where it is not 1, and
/// the hint, with the fields that are words of it; or, where that is not enough, what makes the advice of the fields. A
/// variant without either gives none, and a transparent one that of the error in it.
macro_rules! refusals {
    (
        $(#[$($about:tt)*])*
        pub enum $name:ident {$(
            $(#[$($meta:tt)*])*
            $variant:ident $({ $($fields:tt)* })? $(($($tuple:tt)*))?
            $(= $transparent:ident)?
            $(=> $($exit:ident,)? $hint:literal $(, ($only_word:ident))? $(, $word:ident)*)?
            $(=> |$(($only_field:ident))? $($field:ident),*| $advice:expr)?
            $(=> { $plain:expr })?;
        )*}
    ) => {
        $(#[$($about)*])*
        pub enum $name {$(
            $(#[$($meta)*])*
            $(#[error($transparent)])?
            $variant $({ $($fields)* })? $(($($tuple)*))?,
        )*}

        impl $crate::error::advice::Advise for $name {
            fn advice(&self) -> $crate::error::advice::Advice {
                $(
                    $(if let Self::$variant { 0: error, .. } = self {
                        return $crate::error::refusals::$transparent(error);
                    })?
                    $(if let Self::$variant { $(0: $only_word,)? $($word,)* .. } = self {
                        $(let $only_word = $crate::error::refusals::Word::word($only_word);)?
                        $(let $word = $crate::error::refusals::Word::word($word);)*
                        return $crate::error::advice::hint(format!($hint))$(.exit($crate::exit::Exit::$exit))?;
                    })?
                    $(if let Self::$variant { $(0: $only_field,)? $($field,)* .. } = self {
                        return $advice;
                    })?
                    $(if let Self::$variant { .. } = self {
                        return $plain;
                    })?
                )*
                $crate::error::advice::Advice::default()
            }
        }
    };
}
pub(crate) use refusals;
