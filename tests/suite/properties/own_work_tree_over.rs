//! Loops with a work tree of their own that are over: what the same command, or another one, does then.

use super::own_work_tree::worked;
use crate::support::CHANGE;

#[test]
fn a_loop_that_is_over_is_called_finished() {
    for first in [&["abort", CHANGE][..], &["finish", "--cleanup", CHANGE]] {
        let sandbox = worked();
        sandbox.ralph(first).exits(0);
        for then in [&["abort", CHANGE][..], &["finish", "--cleanup", CHANGE]] {
            let print = sandbox.print();
            sandbox
                .ralph(then)
                .exits(1)
                .says("loop 'add-login' is already finished");
            assert_eq!(sandbox.print(), print);
        }
    }
}
