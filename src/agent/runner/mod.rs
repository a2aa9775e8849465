//! A process between git-ralph and one process of an attempt.

#![expect(dead_code, reason = "the two that speak by it follow")]

mod channel;
