//! A terminal that tmux draws: types keys, and says what is seen.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use super::{Cmd, Sandbox, wait_for, wait_until};

/// A terminal with a shell in it, in a tmux server of its own.
pub struct Tmux<'s> {
    sandbox: &'s Sandbox,
    socket: PathBuf,
    commands: Cell<u32>,
}

impl<'s> Tmux<'s> {
    /// Starts one of this size; `None` if there is no tmux.
    pub fn new(sandbox: &'s Sandbox, columns: u16, rows: u16) -> Option<Self> {
        if !crate::installed("tmux") {
            return None;
        }
        let tmux = Self {
            sandbox,
            socket: sandbox.outside("tmux"),
            commands: Cell::new(0),
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = ["-x", &columns, "-y", &rows];
        let shell = "env PS1='$ ' ENV= sh -im";
        tmux.run(&[&["-f", "/dev/null", "new-session", "-d"], &size[..], &[shell]].concat());
        Some(tmux)
    }

    fn cmd(&self, args: &[&str]) -> Cmd {
        let socket = self.socket.to_str().unwrap();
        let cmd = self
            .sandbox
            .cmd("tmux")
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8");
        cmd.args(["-u", "-S", socket]).args(args)
    }

    #[track_caller]
    pub fn run(&self, args: &[&str]) -> String {
        self.cmd(args).run().exits(0).stdout
    }

    /// Types a line into the shell.
    pub fn types(&self, line: &str) {
        self.run(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    pub fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    pub fn seen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until this text is seen; returns the whole screen. What is drawn below it can come later, and a text that is
    /// there before a key waits for nothing.
    #[track_caller]
    pub fn sees(&self, text: &str) -> String {
        wait_until(text, || self.seen().contains(text));
        self.seen()
    }

    /// Has the shell run a command whose output is then read from a file, when whatever is before it has ended.
    #[track_caller]
    pub fn asks(&self, command: &str) -> String {
        self.commands.set(self.commands.get() + 1);
        let answer = self.sandbox.outside(&format!("answer-{}", self.commands.get()));
        let path = answer.display();
        self.types(&format!("{command} >{path}.part 2>&1; mv {path}.part {path}"));
        wait_for(&answer);
        fs::read_to_string(&answer).unwrap()
    }

    /// Fails if the terminal is not as a shell needs it, once the view has given it back: until then it reads whatever is
    /// typed.
    #[track_caller]
    pub fn is_right(&self) {
        wait_until("the screen is given back", || {
            self.run(&["display-message", "-p", "#{alternate_on}"]) == "0\n"
        });
        let modes = self.asks("stty -a");
        for mode in ["icanon", "echo", "isig"] {
            assert!(
                modes.split([' ', ';', '\n']).any(|word| word == mode),
                "{mode}: {modes}"
            );
        }
        assert_eq!(
            self.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]),
            "0 1\n"
        );
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.cmd(&["kill-server"]).run();
    }
}
