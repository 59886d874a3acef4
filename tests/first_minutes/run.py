#!/usr/bin/env python3
"""A new user's first ten minutes, with nothing but the installed program: `run.py PROGRAM`.

An empty home, a PATH with the system's tools and the program, a terminal of tmux. The steps are those of
`docs/install.md`: demo, hooks of one agent, two sessions, `ls`, `watch`, a conflict of claims, a status line, and taking
everything away again, by the commands that stand there.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 60.0

work = pathlib.Path(tempfile.mkdtemp(prefix="jig-first-"))
home, bin_dir, repo = work / "home", work / "bin", work / "home" / "shop"
socket = str(work / "tmux.sock")
env = {"HOME": str(home), "PATH": f"{bin_dir}:/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8",
       "SHELL": "/bin/sh", "TMPDIR": str(work)}


def wait_for(check, what):
    end = time.monotonic() + DEADLINE
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < end, f"timed out waiting for {what}"
        time.sleep(0.05)


def shell(line, code=0, stdin="", folder=None):
    done = subprocess.run(["sh", "-c", line], env=env, cwd=folder or repo, input=stdin, text=True, capture_output=True,
                          timeout=DEADLINE)
    assert done.returncode == code, f"{line}: ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def tmux(*args):
    return subprocess.run(["tmux", "-S", socket, *args], env=env, cwd=repo, text=True, capture_output=True,
                          check=True).stdout


def files(below):
    return sorted(str(path.relative_to(below)) for path in below.rglob("*") if not path.is_dir())


def sessions():
    return json.loads(shell("jig-session ls --json"))["sessions"]


def begins():
    for folder in (home, bin_dir, repo):
        folder.mkdir()
    shutil.copy(sys.argv[1], bin_dir / "jig-session")
    shell("git init -q -b main")
    said = shell("jig-session ls")
    assert "no live sessions" in said and "jig-session demo" in said and "jig-session run" in said, said
    shell("jig-session doctor", code=0)


def plays_the_demo():
    said = shell("jig-session demo")
    assert "busy" in said and "idle" in said, said
    assert not (home / ".local").exists(), "the demo leaves nothing"


def installs_hooks():
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{\n  // mine\n  "theme": "dark"\n}\n')
    # An agent on PATH is named without being asked for.
    (bin_dir / "claude").write_text('#!/bin/sh\n[ "$1" = --version ] && echo "2.1.0 (Claude Code)" || exec sleep 600\n')
    (bin_dir / "claude").chmod(0o755)
    assert "hooks install claude" in shell("jig-session ls")
    assert "to make it publish: jig-session hooks install claude" in shell("jig-session hooks status")
    assert "installed" in shell("jig-session hooks install claude")
    assert "installed" in shell("jig-session hooks status claude")


def has_two_sessions():
    tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "30", "jig-session run -- claude")
    tmux("set-option", "-g", "default-shell", "/bin/sh")
    tmux("new-window", "-d", "jig-session run -- sh -c 'exec sleep 600'")
    wait_for(lambda: len(sessions()) == 2, "two sessions")
    said = shell("jig-session ls")
    assert "claude" in said and "~/shop" in said, said
    assert "alive" in shell(f"jig-session explain {sessions()[0]['session']}")


def watches():
    watch = subprocess.Popen(["jig-session", "watch", "--json"], env=env, cwd=repo, text=True, stdout=subprocess.PIPE)
    seen = []
    while not seen or seen[-1]["change"] != "ready":
        seen.append(json.loads(watch.stdout.readline()))
    assert [line["change"] for line in seen[:-1]] == ["added", "added"], seen
    tmux("new-window", "-d", "-n", "third", "jig-session run -- sh -c 'exec sleep 600'")
    assert json.loads(watch.stdout.readline())["change"] == "added"
    tmux("kill-window", "-t", "third")
    wait_for(lambda: json.loads(watch.stdout.readline())["change"] == "removed", "the third to go")
    watch.kill()
    watch.wait()


def claims():
    shell("jig-session bus --as one join && jig-session bus --as two join")
    shell("jig-session bus --as one claim src --reason 'moving the parser'")
    said = shell("jig-session bus --as two claim src/main.rs", code=3)
    assert "one" in said and "moving the parser" in said, said
    shell("jig-session bus --as one release src && jig-session bus --as two claim src/main.rs")


def has_a_status_line():
    page = (ROOT / "docs" / "bars.md").read_text()
    lines = re.search(r"```tmux\n(.*?)```", page, re.S).group(1)
    (home / ".tmux.conf").write_text(lines)
    tmux("source-file", str(home / ".tmux.conf"))
    tmux("set-option", "-g", "status-interval", "1")
    # The bar is the client's: a terminal of another server shows it.
    outer = ["tmux", "-S", str(work / "outer.sock")]
    subprocess.run([*outer, "-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "20",
                    f"env -u TMUX tmux -S {socket} attach"], env=env, check=True)
    shown = re.sub(r"#\[[^]]*\]", "", shell("jig-session statusline --format tmux").strip())
    assert shown, "two sessions live"
    capture = [*outer, "capture-pane", "-p"]
    wait_for(lambda: shown in subprocess.run(capture, env=env, text=True, capture_output=True).stdout, f"{shown} in the bar")
    subprocess.run([*outer, "kill-server"], env=env, check=True)


def takes_it_away():
    page = (ROOT / "docs" / "install.md").read_text().split("## Take it away")[1]
    blocks = [block.split(" # ")[0].strip() for block in re.findall(r"```sh\n(.*?)```", page, re.S)]
    uninstall, remove = blocks
    tmux("kill-server")
    wait_for(lambda: not sessions(), "all sessions to end")
    shell(uninstall)
    assert (home / ".claude" / "settings.json").read_text() == '{\n  // mine\n  "theme": "dark"\n}\n'
    shutil.rmtree(bin_dir)
    left = [path for path in files(home) if not path.startswith((".local/state/jig/", "shop/.git/"))]
    assert left == [".claude/settings.json", ".tmux.conf"], left
    shell(remove)
    assert not (home / ".local" / "state" / "jig").exists()
    assert [path for path in files(home) if "jig" in path] == []


def main():
    steps = (begins, plays_the_demo, installs_hooks, has_two_sessions, watches, claims, has_a_status_line, takes_it_away)
    if shutil.which("tmux") is None or shutil.which("git") is None:
        print("SKIPPED the first ten minutes: tmux or git is missing")
        return 0
    try:
        for step in steps:
            begun = time.monotonic()
            step()
            print(f"ok {step.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], env={**env, "PATH": os.environ["PATH"]},
                       capture_output=True)
        shutil.rmtree(work, ignore_errors=True)
    print(f"{len(steps)} passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
