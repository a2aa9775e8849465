"""Plays a coding agent: does the story as it was asked, and goes wrong as the fault says.

Runs as a program of its own behind a ``claude`` on PATH, with the options and the output of the real
command line. It knows nothing of the tool but its dialect: how stories are named in its prompt, who
ticks them, and what is printed when they are done. After a fault has happened, and only then, it
leaves a file ``fault-<n>`` in the directory of witnesses, outside of the repository.
"""

import json
import os
import sys
from pathlib import Path
from typing import List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trials.misdeeds import play  # noqa: E402
from trials.turn import Outcome, Turn  # noqa: E402


def prompt_of(arguments: List[str]) -> str:
    """Returns the prompt: what is no option, or else what comes on standard input."""
    takes_value = {"--output-format", "--input-format", "--model", "--max-turns", "--permission-mode", "--allowedTools",
                   "--disallowedTools", "--append-system-prompt", "--mcp-config", "--settings", "--session-id",
                   "--fallback-model", "--add-dir", "--resume", "-r", "--setting-sources"}
    words, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in takes_value:
            skip = True
        elif not argument.startswith("-"):
            words.append(argument)
    prompt = "\n".join(words)
    return prompt if prompt.strip() else sys.stdin.read()


def option(arguments: List[str], name: str) -> Optional[str]:
    """Returns the value of an option, or None."""
    for number, argument in enumerate(arguments):
        if argument == name and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(name + "="):
            return argument[len(name) + 1:]
    return None


def say(arguments: List[str], outcome: Outcome) -> None:
    """Prints the last message in the format that was asked for."""
    result = {
        "type": "result", "subtype": "success", "is_error": outcome.error, "duration_ms": 900, "duration_api_ms": 800,
        "num_turns": 1, "result": outcome.text, "session_id": "00000000-0000-4000-8000-000000000000",
        "total_cost_usd": 0.01, "usage": {"input_tokens": 100, "output_tokens": 20},
    }
    kind = option(arguments, "--output-format") or "text"
    if kind == "stream-json":
        message = {"type": "assistant", "session_id": result["session_id"], "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
            "content": [{"type": "text", "text": outcome.text}], "usage": result["usage"]}}
        for line in (message, result):
            print(json.dumps(line), flush=True)
    elif kind == "json":
        print(json.dumps(result), flush=True)
    else:
        print(outcome.text, flush=True)


def main() -> int:
    """Plays one turn of the agent."""
    config = json.loads(Path(sys.argv[1]).read_text())
    arguments = sys.argv[2:]
    if "--version" in arguments or "-v" in arguments:
        print("2.0.0 (Claude Code)")
        return 0
    prompt = prompt_of(arguments)
    turn = Turn(config, prompt)
    if option(arguments, "--output-format") == "stream-json":
        print(json.dumps({"type": "system", "subtype": "init", "cwd": os.getcwd(), "model": "scripted",
                          "session_id": "00000000-0000-4000-8000-000000000000", "tools": []}), flush=True)
    outcome = play(turn)
    say(arguments, outcome)
    return outcome.code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
