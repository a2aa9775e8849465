//! Finds the scripts in the shell line of a gate: pure.
//!
//! This is no shell: expansions and functions are not evaluated. A path that is no file of the last checkpoint is
//! ignored, so a wrong path does no harm.

use std::collections::BTreeSet;

/// Interpreters that run the first argument that is no option as a script. A number at the end is a version.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "python", "node", "deno", "ruby", "perl", "php", "lua", "Rscript",
];
/// The interpreters that read shell lines.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];
/// Words before a command that do not change the command.
const BEFORE: &[&str] = &[
    "!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "exec", "env", "command",
    "nohup", "nice", "timeout",
];
/// Maximum depth of nested lines (`sh -c`).
const DEPTH: u8 = 4;

/// A word of a shell line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    text: String,
    /// True if a shell would expand a part of it: its value is unknown.
    expands: bool,
}

impl Word {
    fn known(&self) -> Option<&str> {
        (!self.expands).then_some(self.text.as_str())
    }
}

/// Returns the paths of the scripts that a gate runs: from the top directory, or absolute.
pub(super) fn scripts_of(gate: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    read(gate, "", DEPTH, &mut found);
    found
}

/// Adds the scripts of a line that runs in the directory `base`.
fn read(line: &str, base: &str, depth: u8, found: &mut BTreeSet<String>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let mut base = Some(base.to_owned());
    for command in commands(line) {
        let words = without_prefix(&command);
        let Some((program, args)) = words.split_first() else {
            continue;
        };
        let Some(name) = program.known() else {
            continue;
        };
        if name == "cd" {
            let to = args
                .iter()
                .find(|word| !word.text.starts_with('-') || word.text == "-");
            base = to.and_then(|to| joined(base.as_deref()?, to.known()?));
            continue;
        }
        let Some(base) = &base else {
            continue;
        };
        let mut add = |word: Option<&Word>| found.extend(word.and_then(|word| joined(base, word.known()?)));
        if name.contains('/') {
            add(Some(program));
        }
        if name == "." || name == "source" {
            add(args.first());
            continue;
        }
        let called = name.rsplit('/').next().unwrap_or(name);
        let called = called.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !INTERPRETERS.contains(&called) {
            continue;
        }
        match argument(called, args) {
            Argument::Script(word) => add(Some(word)),
            Argument::Line(word) => {
                if let Some(line) = word.known() {
                    read(line, base, depth, found);
                }
            }
            Argument::None => {}
        }
    }
}

/// The argument that an interpreter runs.
enum Argument<'a> {
    Script(&'a Word),
    /// A shell line.
    Line(&'a Word),
    None,
}

fn argument<'a>(interpreter: &str, args: &'a [Word]) -> Argument<'a> {
    let is_shell = SHELLS.contains(&interpreter);
    let (ends, takes): (&[&str], &[&str]) = match interpreter {
        "python" => (&["-c", "-m"], &["-W", "-X"]),
        "node" => (
            &["-e", "-p", "--eval", "--print"],
            &["-r", "--require", "--import", "--loader"],
        ),
        "ruby" | "perl" => (&["-e", "-E"], &["-I", "-r"]),
        "php" => (&["-r"], &["-d"]),
        "lua" => (&[], &["-e", "-l"]),
        "Rscript" => (&["-e"], &[]),
        _ => (&[], &["-o", "+o", "-O"]),
    };
    let mut is_line = false;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            return words.next().map_or(Argument::None, Argument::Script);
        }
        if ends.contains(&text) {
            return Argument::None;
        }
        if takes.contains(&text) {
            words.next();
            continue;
        }
        if text.starts_with('-') || is_shell && text.starts_with('+') {
            is_line |= is_shell && !text.starts_with("--") && text.contains('c');
            continue;
        }
        if interpreter == "deno" && matches!(text, "run" | "test") {
            continue;
        }
        return if is_line {
            Argument::Line(word)
        } else {
            Argument::Script(word)
        };
    }
    Argument::None
}

/// Removes the words before a program: assignments, keywords, and commands that run the rest.
fn without_prefix(mut words: &[Word]) -> &[Word] {
    while let Some((first, rest)) = words.split_first() {
        let text = first.text.as_str();
        if is_assignment(text) {
            words = rest;
            continue;
        }
        if !BEFORE.contains(&text) {
            break;
        }
        words = rest;
        let takes: &[&str] = match text {
            "env" => &["-u", "-C"],
            "exec" => &["-a"],
            "nice" => &["-n"],
            "timeout" => &["-k", "-s"],
            _ => &[],
        };
        while let Some((option, after)) = words.split_first()
            && option.text.starts_with('-')
        {
            words = if takes.contains(&option.text.as_str()) {
                after.get(1..).unwrap_or_default()
            } else {
                after
            };
        }
        if text == "timeout" {
            words = words.get(1..).unwrap_or_default();
        }
    }
    words
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Joins a path to a directory, without `.` and `..`; `None` if the result is above the top directory.
fn joined(base: &str, path: &str) -> Option<String> {
    let is_absolute = path.starts_with('/') || base.starts_with('/');
    let base = if path.starts_with('/') { "" } else { base };
    if path.starts_with('~') || path == "-" {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let root = if is_absolute { "/" } else { "" };
    Some(format!("{root}{}", parts.join("/")))
}

/// Splits a line into its simple commands. Omits redirections.
fn commands(line: &str) -> Vec<Vec<Word>> {
    let mut split = Split::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let quoted = chars.by_ref().take_while(|c| *c != '\'');
                split.word().text.extend(quoted);
            }
            '"' => {
                split.word();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    match c {
                        '\\' => split.word().text.extend(chars.next()),
                        c => split.push(c, matches!(c, '$' | '`')),
                    }
                }
            }
            // A continued line.
            '\\' if chars.peek() == Some(&'\n') => drop(chars.next()),
            '\\' => {
                if let Some(c) = chars.next() {
                    split.push(c, false);
                }
            }
            '#' if split.current.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '>' | '<' => {
                split.redirect();
                while chars.next_if(|c| matches!(c, '>' | '<' | '&' | '|')).is_some() {}
            }
            '&' if chars.peek() == Some(&'>') => {}
            '\n' | ';' | '|' | '&' | '(' | ')' | '`' => split.end_command(),
            c if c.is_whitespace() => split.end_word(),
            c => split.push(c, matches!(c, '$' | '*' | '?' | '[')),
        }
    }
    split.end_command();
    split.commands
}

#[derive(Default)]
struct Split {
    commands: Vec<Vec<Word>>,
    words: Vec<Word>,
    current: Option<Word>,
    /// True if the next word is the target of a redirection.
    is_target: bool,
}

impl Split {
    fn word(&mut self) -> &mut Word {
        self.current.get_or_insert_default()
    }

    fn push(&mut self, c: char, expands: bool) {
        let word = self.word();
        word.text.push(c);
        word.expands |= expands;
    }

    fn end_word(&mut self) {
        if let Some(word) = self.current.take()
            && !std::mem::take(&mut self.is_target)
        {
            self.words.push(word);
        }
    }

    fn redirect(&mut self) {
        // A number right before a redirection names a stream.
        let is_number = |word: &Word| word.text.chars().all(|c| c.is_ascii_digit());
        if self.current.as_ref().is_some_and(is_number) {
            self.current = None;
        }
        self.end_word();
        self.is_target = true;
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_target = false;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.commands.push(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_a_gate_are_found() {
        for (gate, scripts) in [
            ("./check.sh", "check.sh"),
            ("check.sh", ""),
            ("make test", ""),
            ("sh check.sh", "check.sh"),
            ("bash -eu ./ci/check.sh --fast x.sh", "ci/check.sh"),
            ("bash -o pipefail check.sh", "check.sh"),
            ("FOO=1 BAR='a b' ./check.sh", "check.sh"),
            ("env -i -u X PATH=/bin FOO=1 sh check.sh", "check.sh"),
            ("exec -a name ./check.sh", "check.sh"),
            ("time -p ./check.sh", "check.sh"),
            ("timeout -k 5 60 ./check.sh", "check.sh"),
            ("nice -n 5 ./check.sh", "check.sh"),
            ("python -m pytest tests", ""),
            ("python3 -W error tests/run.py -v", "tests/run.py"),
            ("python3.12 run.py", "run.py"),
            ("/usr/bin/python3 run.py", "/usr/bin/python3 run.py"),
            ("node --test tests/all.js", "tests/all.js"),
            ("node -r ./hook.js tests/all.js", "tests/all.js"),
            ("node -e 'x' y.js", ""),
            ("deno run -A check.ts", "check.ts"),
            ("perl -Ilib t/all.t", "t/all.t"),
            ("php -d x=1 check.php", "check.php"),
            ("Rscript check.R", "check.R"),
            ("ruby -- check.rb", "check.rb"),
            (
                "cargo test && ./a.sh || ./b.sh; ./c.sh | ./d.sh\n./e.sh & ./f.sh",
                "a.sh b.sh c.sh d.sh e.sh f.sh",
            ),
            ("(cd app && ./check.sh)", "app/check.sh"),
            ("cd app; cd ../lib; sh ./x/../check.sh", "lib/check.sh"),
            ("cd \"$DIR\" && ./check.sh", ""),
            ("cd -- app && ./check.sh", "app/check.sh"),
            ("../check.sh", ""),
            ("if ! ./check.sh; then exit 1; fi", "check.sh"),
            ("out=$(./check.sh) && test -n \"$out\"", "check.sh"),
            ("echo ./check.sh '; ./no.sh' # ; ./neither.sh", ""),
            ("./check.sh >out/log 2>&1 <in/put", "check.sh"),
            ("2>&1 ./check.sh", "check.sh"),
            ("./check.sh &>out/log", "check.sh"),
            ("sh -c './check.sh && sh other.sh'", "check.sh other.sh"),
            ("bash -lc \"cd app && ./check.sh\"", "app/check.sh"),
            ("'./my check.sh'", "my check.sh"),
            ("./my\\ check.sh", "my check.sh"),
            ("$HOME/check.sh; ./*.sh; ~/x/y.sh", ""),
            (". ./env.sh && ./check.sh", "check.sh env.sh"),
            ("./check.sh \\\n --fast", "check.sh"),
            ("/top/check.sh", "/top/check.sh"),
            ("", ""),
            ("'", ""),
            ("sh -c", ""),
        ] {
            let found = scripts_of(gate);
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            assert_eq!(found.join(" "), scripts, "{gate}");
        }
    }

    #[test]
    fn scripts_of_limits_the_depth_of_nested_lines() {
        let mut line = "./check.sh".to_owned();
        for _ in 0..6 {
            line = format!("sh -c '{}'", line.replace('\'', "'\\''"));
        }
        assert!(scripts_of(&line).is_empty());
    }
}
