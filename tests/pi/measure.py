#!/usr/bin/env python3
"""Measures inside a real Pi, for `cargo xtask bench pi`: prints one JSON object with all samples in milliseconds.

  ends   from the key, the signal or the closed pane to the moment the status file is gone, by the way Pi ended
  exits  from the same moment to the end of Pi's own process
  trips  what the bridge took of the moment before a run, in which it asks the host
"""
import json
import os
import shutil
import signal
import time

from kit import ROOT, Kit, Rpc, Tmux, expect, read_lines, wait_for

TIMES = int(os.environ.get("MEASURE_TIMES", "10"))
PROMPTS = int(os.environ.get("MEASURE_PROMPTS", "300"))


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
    with Kit(extensions=()) as kit:
        # Pi loads its folder of extensions in the order of their names.
        folder = kit.agent / "extensions"
        for name in ("a-before.ts", "z-after.ts"):
            shutil.copy(ROOT / "extensions" / "stamp.ts", folder / name)
        log = kit.work / "stamps.jsonl"
        pi = Rpc(kit, env={"PI_STAMP_LOG": str(log)})
        kit.wait_status(lambda s: s.get("accepts"), "what it accepts")
        for _ in range(PROMPTS + 1):
            pi.prompt("@say x")
        pi.close()
        wait_for(lambda: len(read_lines(log)) == 2 * (PROMPTS + 1), "the stamps")
        stamps = sorted(read_lines(log), key=lambda stamp: stamp["at"])
        pairs = list(zip(stamps[::2], stamps[1::2]))
        expect(all((a["name"], b["name"]) == ("a-before.ts", "z-after.ts") for a, b in pairs), "the order", pairs[:2])
        # The first one also pays for what is loaded late.
        return [b["at"] - a["at"] for a, b in pairs[1:]]


found, exits = ends()
print(json.dumps({"ends": found, "exits": exits, "trips": trips()}))
