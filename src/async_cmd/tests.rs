use super::*;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn sh(script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script)
}

#[test]
fn output_and_code_come_back() {
    let output = block_on(run(sh("cat; echo err >&2; exit 3").stdin("in"))).unwrap();
    assert_eq!(output.code, Some(3));
    assert_eq!(output.stdout, b"in");
    assert_eq!(output.stderr, b"err\n");
}

#[test]
fn the_limit_reaches_grandchildren() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", pid_file.display());
    let mut limit = Duration::from_millis(500);
    // On a busy machine it is up before the shell has come that far.
    let pid: i32 = loop {
        let error = block_on(run(sh(&script).limit(limit))).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
        let noted = std::fs::read_to_string(&pid_file).unwrap_or_default();
        match noted.trim().parse() {
            Ok(pid) => break pid,
            Err(_) => limit *= 2,
        }
    };
    // It was sent SIGKILL, and ends when it is scheduled.
    let is_alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let begun = std::time::Instant::now();
    while is_alive() {
        assert!(begun.elapsed() < Duration::from_secs(300), "{pid} is still alive");
        std::thread::yield_now();
    }
}

#[test]
fn error_names_a_missing_program() {
    let error = block_on(run(Command::new("no-such-program-here"))).unwrap_err();
    assert!(error.to_string().contains("no-such-program-here"), "{error}");
}

#[test]
fn the_last_setting_of_a_variable_wins() {
    let command = sh("printf %s \"$A\"").env("A", "1").env_remove("A").env("A", "2");
    assert_eq!(block_on(run(command)).unwrap().stdout, b"2");
    let command = sh("printf %s \"${A-gone}\"").env("A", "1").env_remove("A");
    assert_eq!(block_on(run(command)).unwrap().stdout, b"gone");
}

#[test]
fn the_display_can_be_pasted() {
    let command = Command::new("git").arg("-m").arg("it's").env("X", "a b");
    assert_eq!(command.to_string(), r"X='a b' git -m 'it'\''s'");
}

#[test]
fn a_child_that_passes_a_bound_is_ended() {
    let bounds = Bounds {
        output: 1 << 20,
        memory: 64 << 20,
    };
    let end = |script: &str| block_on(run(sh(script).within(bounds))).map_err(|error| error.to_string());
    assert_eq!(end("printf x").unwrap().stdout, b"x");
    let printed = "printed more than 1 MiB, and was ended";
    // It ends at once, or never.
    for script in ["head -c 2000000 /dev/zero", "yes", "yes >&2"] {
        let error = end(script).unwrap_err();
        assert!(error.ends_with(printed), "{error}");
    }
    let error = end("sh -c 'x=0123456789abcdef; while :; do x=$x$x; done' & wait").unwrap_err();
    assert!(
        error.ends_with("took more than 64 MiB of memory, and was ended"),
        "{error}"
    );
}
