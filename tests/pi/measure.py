#!/usr/bin/env python3
"""Measures inside a real Pi, for `cargo xtask bench pi`: prints one JSON object with all samples in milliseconds.

  ends   from the key, the signal or the closed pane to the moment the status file is gone, by the way Pi ended
  exits  from the same moment to the end of Pi's own process
  trips  what the bridge took of Pi's events: `prompt` of the moment before a run, `at once` of one that follows the end
         of the run before within a millisecond, while the host writes down that end; `events` of the others. `asked`
         are prompts of which it asks the host, since something has changed on the session's bus, and `cat` what a line
         to `cat` and back takes at the same moment, which is what Node, the pipes and the machine take of a question
"""
import json
import os
import shutil
import signal
import time

from kit import ROOT, Kit, Rpc, Tmux, expect, lives, read_lines, wait_for

TIMES = int(os.environ.get("MEASURE_TIMES", "10"))
PROMPTS = int(os.environ.get("MEASURE_PROMPTS", "200"))  # of each kind, in each order
ASKED = PROMPTS // 2
WARM = 20  # an even number
ALL = WARM + 2 * PROMPTS + 1 + ASKED
PROMPT = "@call read {\"path\":\"AGENTS.md\"}\n@then\n@say x"
PAUSE = 0.03
ONLY = os.environ.get("MEASURE_ONLY")


def measured(kit, pid, act):
    """Milliseconds from before ACT until the file is gone, and until the process is."""
    paths = kit.status_files()
    expect(len(paths) == 1, "one file", paths)
    path, end = str(paths[0]), time.monotonic() + 60
    file_gone = pi_gone = None
    began = time.monotonic()
    act()
    while file_gone is None or pi_gone is None:
        now = time.monotonic()
        if file_gone is None and not os.path.exists(path):
            file_gone = (now - began) * 1000
        if pi_gone is None and not lives(pid):
            pi_gone = (now - began) * 1000
        expect(now < end, "the file and Pi to be gone", (file_gone, pi_gone))
        time.sleep(0.001)
    return file_gone, pi_gone


def ends():
    signals = {"SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGKILL": signal.SIGKILL}
    keys = {
        "/quit": lambda tui: tui.keys("Enter"),
        "Ctrl+C twice": lambda tui: tui.keys("C-c", "C-c"),
        "a killed tmux pane": lambda tui: tui.tmux("kill-pane"),
    }
    found, exits = {}, {}
    with Kit() as kit:
        for name in [*keys, *signals]:
            for _ in range(TIMES):
                tui = Tmux(kit)
                pid = kit.wait_status(lambda s: s.get("accepts"), "what it accepts")["pid"]
                tui.expect("scripted")
                if name == "/quit":
                    tui.type("/quit")
                act = (lambda: os.kill(pid, signals[name])) if name in signals else (lambda: keys[name](tui))
                file_gone, pi_gone = measured(kit, pid, act)
                found.setdefault(name, []).append(file_gone)
                exits.setdefault(name, []).append(pi_gone)
                tui.end()
    return found, exits


def trips():
    """What the bridge took, and what a line to `cat` and back took at the same moments of the same Pi, once asked after
    the bridge and once before it: who comes first finds colder caches."""
    found = {"prompt": [], "prompt at once": [], "events": [], "asked": [], "cat": []}
    # Pi loads its folder of extensions in the order of their names.
    last = ("l-echo.ts", ("a-1.ts", "k-2.ts", "m-3.ts"), (0, 1), (1, 2))
    first = ("b-echo.ts", ("a-1.ts", "c-2.ts", "k-3.ts"), (1, 2), (0, 1))
    for echo, stamps, ours, cat in (last, first):
        with Kit(extensions=()) as kit:
            folder = kit.agent / "extensions"
            for name in stamps:
                shutil.copy(ROOT / "extensions" / "stamp.ts", folder / name)
            shutil.copy(ROOT / "extensions" / "echo.ts", folder / echo)
            log = kit.work / "stamps.jsonl"
            pi = Rpc(kit, env={"PI_STAMP_LOG": str(log)})
            kit.wait_status(lambda s: s.get("accepts"), "what it accepts")
            for number in range(WARM + 2 * PROMPTS):
                if number % 2 == 0:
                    time.sleep(PAUSE)
                pi.prompt(PROMPT)
            pi.prompt("@call session {\"action\":\"join\"}\n@then\n@say joined")
            record, = (kit.state / "bus").glob("*/sessions/*.json")
            for _ in range(ASKED):
                time.sleep(PAUSE)
                os.utime(record)
                pi.prompt(PROMPT)
            pi.close()
            events = {}
            for stamp in sorted(read_lines(log), key=lambda stamp: stamp["at"]):
                events.setdefault(stamp["event"], []).append(stamp)
            for event, all_stamps in events.items():
                rounds = list(zip(all_stamps[::3], all_stamps[1::3], all_stamps[2::3]))
                expect(all(tuple(one["name"] for one in three) == stamps for three in rounds), "the order", rounds[:2])
                took = lambda three, pair: three[pair[1]]["at"] - three[pair[0]]["at"]
                # The first ones also pay for what is loaded and compiled late.
                if event != "before_agent_start":
                    found["events"] += [took(three, ours) for three in rounds[WARM * len(rounds) // ALL:]]
                    continue
                expect(len(rounds) == ALL, "each prompt once", len(rounds))
                prompts, asked = rounds[WARM:WARM + 2 * PROMPTS], rounds[-ASKED:]
                for name, rounds, pair in (("prompt", prompts[::2], ours), ("prompt at once", prompts[1::2], ours),
                                           ("asked", asked, ours), ("cat", asked, cat)):
                    found[name] += [took(three, pair) for three in rounds]
    return found


found, exits = ends() if ONLY != "trips" else ({}, {})
print(json.dumps({"ends": found, "exits": exits, "trips": trips()}))
