//! The page that leads through a first loop. What it shows is run by a test: lines with `$ ` are typed, those with `> `
//! go on, and what follows is what is seen.

/// From an empty list to a finished change.
pub const TUTORIAL: &str = r#"
This leads through one loop, step by step, with a script in place of a coding agent, so that nothing has to be installed and
nothing costs anything. It takes a few minutes in any repository; one made for it will do:

    $ git init -q -b main greeter

All that follows is typed in its directory. git ralph demo shows a loop without any typing.
= THE STORIES
A change is a piece of work with a name, such as add-greeting. Its list of stories is a file that you write, or that a tool for
specifications writes; each section with boxes is a story:

    $ mkdir -p openspec/changes/add-greeting
    $ cat >openspec/changes/add-greeting/tasks.md <<'EOF'
    > ## 1. Script
    > - [ ] 1.1 Write greet.sh, which greets the person it is given
    >
    > ## 2. Test
    > - [ ] 2.1 Write test.sh, which checks what greet.sh prints
    >
    > ## 3. Documentation
    > - [ ] 3.1 Describe greet.sh in README.md
    > EOF
    $ git ralph stories add-greeting
    add-greeting (openspec/changes/add-greeting/tasks.md): 0 of 3 complete
      [ ] 1  0/1  1. Script
      [ ] 2  0/1  2. Test
      [ ] 3  0/1  3. Documentation

= THE AGENT
An agent is any command that reads a prompt on standard input, works on the files, and ends with a promise. This one can do two
of the three stories, the second one only when the prompt tells it what it did wrong:

    $ cat >../agent.sh <<'EOF'
    > prompt=$(cat)
    > case $RALPH_STORY in
    > 1) echo 'echo "Hello, $1."' >greet.sh ;;
    > 2) echo 'sh greet.sh Ada | grep -q Ada' >test.sh
    >    case $prompt in
    >    *'no comma'*) ;;
    >    *) echo '<promise>FAILED: there is no comma</promise>'; exit ;;
    >    esac ;;
    > *) exit 1 ;;
    > esac
    > echo '<promise>COMPLETE</promise>'
    > EOF
    $ git config ralph.agent 'sh ../agent.sh'

With a real one it is git config ralph.agent claude, and a gate says what must succeed before a story counts as complete: git config
ralph.verify 'make test'.
= STEP BY STEP
To start is to remember where you are. Everything you have is kept, the branch ralph/add-greeting is made, and no file is touched:

    $ git ralph start add-greeting -q
    add-greeting on ralph/add-greeting, from main
    last checkpoint a22b4f9407
    0 of 3 stories are complete

    story 1. Script
      (use "git ralph next add-greeting" to have the agent attempt it)

What the agent will be told is printed by git ralph prompt. Then it works, in a process of its own:

    $ git ralph next
    [1/3] 1. Script
    <promise>COMPLETE</promise>
      complete after 0s
      checkpoint 0f093fb1f3: 1
    1 of 3 stories are complete

A checkpoint is a commit on the loop's branch. The box of the story is ticked in it.
= WHEN IT FAILS
The second story fails. The work tree is at the checkpoint again, and what the agent did is not lost:

    $ git ralph next
    [2/3] 2. Test
    <promise>FAILED: there is no comma</promise>
      failed after 0s: there is no comma
      back at checkpoint 0f093fb1f3
      what was undone is kept: git ralph diff add-greeting 2@1
      3 of 3 retries left
    $ git ralph diff --stat 2@1
     test.sh | 1 +
     1 file changed, 1 insertion(+)

The next attempt finds the reason in its prompt:

    $ git ralph retry
    [2/3] 2. Test (attempt 2, retry 1 of 3)
    <promise>COMPLETE</promise>
      complete after 0s
      checkpoint 8b7ffc4ebb: 2
    2 of 3 stories are complete

= BY HAND
The third one is beyond this agent. It can be passed over with git ralph skip; or a person does it:

    $ git -c ralph.maxRetries=0 ralph next
    [3/3] 3. Documentation
      no signal after 0s: the agent promised nothing (exit code 1)
      still at checkpoint 8b7ffc4ebb: nothing was changed
    story 3 failed after 0 retries
    $ echo 'Call it: sh greet.sh Ada' >>README.md
    $ git ralph complete
    [3/3] 3. Documentation (attempt 2, retry 1 of 3)
      complete after 0s
      checkpoint e2968b33d0: 3
    3 of 3 stories are complete

= THE END
Back to the branch that you came from, with everything there and nothing committed:

    $ git ralph finish --cleanup
    finished: on main again, with all changes uncommitted
    the loop's commits are kept: git log refs/ralph/add-greeting/finished
    $ git status --short
    ?? README.md
    ?? greet.sh
    ?? openspec/
    ?? test.sh
    $ git ralph log
    1. Script
      @1   complete           0s           checkpoint 0f093fb1f3
    2. Test
      @1   failed             0s           git ralph diff add-greeting 2@1
           there is no comma
      @2   complete           0s           checkpoint 8b7ffc4ebb
    3. Documentation
      @1   no signal          0s           git ralph diff add-greeting 3@1
           the agent promised nothing (exit code 1)
      @2   complete           0s           checkpoint e2968b33d0
    5 attempts, 3 complete, 0s

= ALL AT ONCE
git ralph run add-greeting is these steps in a row: it begins or goes on, tries again while there are retries, and asks in the
end what shall become of the work. Ctrl-C stops the agent; the same command goes on later. For a night: set limits (ralph.timeout,
ralph.maxDuration, ralph.maxCost), and read the log in the morning.
= WHAT TO DO WHEN
* a story is too large: Divide it in the list, in an editor, between two steps; the next step reads the list again.
* the agent goes astray: Ctrl-C, then edit the story, or write down what it should know in .git/ralph/<change>/learnings.md, and run again.
* the failed work was good: git ralph restore 2@1 brings it back; git ralph complete makes it the checkpoint.
* all of it was a bad idea: git ralph abort brings back what was there before the loop, what was staged included.
* the computer went down: Type the same command again.
* you want to know what is wrong: git ralph doctor.
"#;
