#!/usr/bin/env python3
"""Hours of many sessions, in minutes or in hours: nothing may be torn, lost, left behind, or grow.

Sessions of every kind are played from recorded events; readers read, members of the bus write to each other, processes
are killed at random, clocks are set, the disk fills up, the state folder is moved away and comes back. Everything runs
in a mount namespace and a folder of its own, and nothing is touched that this program did not start.
"""
import argparse
import collections
import ctypes
import glob
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "crates/jig-session-publish/tests/fixtures"
HOOKS = ["claude", "codex", "copilot", "gemini", "qwen"]
KINDS = ["acme", "pi", "opencode", "acme", *HOOKS]
# The contract says ten seconds; the rest is for a loaded machine.
HEALED_WITHIN = 10 + 10
STEADY = 8


def say(text):
    print(text, flush=True)


def fields(pid, name):
    """The status file of /proc: a number in kB."""
    with open(f"/proc/{pid}/status") as lines:
        return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def measure(pid):
    return fields(pid, "VmRSS:"), len(os.listdir(f"/proc/{pid}/fd"))


class World:
    """A home, a state folder, and the environment of every program."""

    def __init__(self, base, program, faketime):
        self.base, self.program = base, program
        self.state = base / "state"
        self.sessions = self.state / "jig/sessions"
        self.repo = base / "repo"
        (self.repo / ".git/objects").mkdir(parents=True)
        (self.repo / ".git/refs").mkdir()
        (self.repo / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (base / "home").mkdir()
        (base / "bin").mkdir()
        self.env = {"HOME": str(base / "home"), "PATH": os.environ["PATH"], "XDG_STATE_HOME": str(self.state)}
        self.clock = base / "clock"
        if faketime:
            self.set_clock(0)
            self.env |= {"LD_PRELOAD": faketime, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                         "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        # An agent is known by its program's name.
        for agent in HOOKS:
            (base / "bin" / agent).symlink_to("/bin/sh")
        self.started = []

    def set_clock(self, seconds):
        temporary = self.clock.with_suffix(".new")
        temporary.write_text(f"{seconds:+d}s\n")
        temporary.replace(self.clock)

    def start(self, *args, **more):
        process = subprocess.Popen(args, env=self.env, cwd=self.repo, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **more)
        self.started.append(process)
        return process

    def jig(self, *args, text=None, timeout=120):
        return subprocess.run([self.program, *args], env=self.env, cwd=self.repo, input=text, text=True,
                              stdin=None if text is not None else subprocess.DEVNULL, capture_output=True,
                              timeout=timeout)


def sleeper(world):
    return world.start("sleep", "infinity")


class Recorded:
    """What agents said, read once: the events of an agent in their order, in a ring."""

    def __init__(self):
        self.hooks = {}
        for agent in HOOKS:
            calls = []
            for file in sorted(glob.glob(str(FIXTURES / "hooks" / agent / "trace-*.jsonl"))):
                for line in open(file):
                    call = json.loads(line)
                    if call.get("argv") and isinstance(call.get("stdin"), dict):
                        calls.append((call["argv"], call["stdin"]))
            self.hooks[agent] = calls
        bridge = FIXTURES / "pi/1.6.0/bridge.jsonl"
        self.bridge = [line["line"] for line in map(json.loads, open(bridge)) if line.get("way") == "in"]


class Slot:
    """One place in which session after session lives."""

    numbers = itertools.count()

    def __init__(self, world, recorded, kind, steady=False):
        self.world, self.recorded, self.kind, self.steady = world, recorded, kind, steady
        self.begin()

    def begin(self):
        self.session = f"{self.kind}-{next(self.numbers):06d}"
        self.count = 0
        self.publisher = None
        if self.kind in HOOKS:
            # The agent calls its hooks one after the other, as agents do.
            script = f'while read -r event file; do "{self.world.program}" hook {self.kind} "$event" < "$file"; rm -f "$file"; done'
            self.agent = self.world.start(str(self.world.base / "bin" / self.kind), "-c", script)
            self.calls = itertools.cycle(self.recorded.hooks[self.kind])
            return
        self.agent = sleeper(self.world)
        if self.kind == "pi":
            self.publisher = self.world.start(self.world.program, "host")
            self.lines = iter(self.recorded.bridge)
        else:
            self.publisher = self.world.start(self.world.program, "publish", "--agent", self.kind)
            self.tell({"event": "session", "schema": 1, "session": self.session, "pid": self.agent.pid,
                       "cwd": str(self.world.repo), "name": self.session})

    def tell(self, line):
        pipe = (self.publisher or self.agent).stdin
        pipe.write(line.encode() + b"\n" if isinstance(line, str) else json.dumps(line).encode() + b"\n")
        pipe.flush()

    def step(self, clock):
        """The next recorded event; true when it was told."""
        try:
            if self.kind in HOOKS:
                self.hook()
            elif self.kind == "pi":
                self.bridge()
            else:
                self.event(clock)
            return True
        except (BrokenPipeError, OSError):
            return False

    def hook(self):
        argv, payload = next(self.calls)
        payload = dict(payload)
        for key in ("session_id", "sessionId"):
            if key in payload:
                payload[key] = self.session
        if "cwd" in payload:
            payload["cwd"] = str(self.world.repo)
        event = argv[0].removeprefix("P:")
        # A call's end is the session's: what follows it in the recording is of the next one.
        if event in ("statusline", "SessionEnd", "sessionEnd"):
            return
        self.count += 1
        file = self.world.base / "payloads" / f"{self.session}-{self.count}"
        file.write_text(json.dumps(payload))
        self.tell(f"{event} {file}")

    def bridge(self):
        line = next(self.lines, None)
        while line is not None and (line.get("t") == "bye" or line.get("event") == "session_shutdown"):
            line = next(self.lines, None)
        if line is None:
            self.lines = (line for line in self.recorded.bridge if line.get("t") == "event"
                          and line.get("event") not in ("session_start", "session_shutdown"))
            return
        line = dict(line)
        if line.get("t") == "hello":
            line |= {"pid": self.agent.pid, "session": self.session, "cwd": str(self.world.repo)}
        elif "session" in line and isinstance(line["session"], str):
            line["session"] = self.session
        self.count += 1
        self.tell(line)

    def event(self, clock):
        self.count += 1
        turn = self.count % 4
        call = f"c{self.count - turn}"
        at = {"at": stamp(clock)} if self.count % 16 < 2 else {}
        self.tell({"event": "background", "count": self.count})
        self.tell([
            {"event": "turn", "phase": "start", **at},
            {"event": "tool", "phase": "start", "tool": "edit", "id": call, **at},
            {"event": "usage", "mode": "add", "input": self.count, "output": 1, "cost": 0.001},
            {"event": "turn", "phase": "settled", **at},
        ][turn])

    def expected(self):
        """What the file must say, where this program knows it: the last number that was told."""
        return self.count if self.publisher is not None and self.kind != "pi" else None

    def alive(self):
        return all(one.poll() is None for one in (self.agent, self.publisher) if one is not None)

    def end(self):
        """As an agent ends: the pipes close, then the process goes."""
        for one in (self.publisher, self.agent):
            if one is not None:
                try:
                    one.stdin.close()
                except OSError:
                    pass
        if self.publisher is not None:
            wait(self.publisher)
        if self.kind not in HOOKS:
            self.agent.kill()
        wait(self.agent)

    def kill(self, what):
        for one in {"agent": [self.agent], "publisher": [self.publisher], "both": [self.publisher, self.agent]}[what]:
            if one is not None:
                one.kill()
        self.end()


def wait(process):
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


class Readers(threading.Thread):
    """Reads every file again and again with nothing but a JSON reader, as a program of another author does."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.reads, self.torn, self.stopped = world, 0, [], threading.Event()
        self.kinds = set()

    def run(self):
        while not self.stopped.wait(0.3):
            try:
                names = os.listdir(self.world.sessions)
            except OSError:
                continue
            for name in names:
                if not name.endswith(".json") or name.startswith("."):
                    continue
                try:
                    content = (self.world.sessions / name).read_bytes()
                except OSError:
                    continue
                self.reads += 1
                self.kinds.add(name.split("-")[0])
                try:
                    json.loads(content)
                except ValueError as error:
                    self.torn.append(f"{name}: {error}")


class Bus:
    """Members that write to each other; each text is one of a kind, so that what is lost or twice is seen."""

    def __init__(self, world, members):
        self.world = world
        self.agents = [sleeper(world) for _ in range(members)]
        self.sent, self.perhaps, self.taken, self.refused = set(), set(), collections.Counter(), 0
        self.numbers = itertools.count()
        for number, agent in enumerate(self.agents):
            joined = self.bus("join", f"member-{number}", "--id", f"bus-{number}", "--pid", str(agent.pid), "--agent", "acme")
            if joined.returncode != 0:
                raise SystemExit(f"bus join: {joined.stderr}")

    def bus(self, *args, **more):
        return self.world.jig("bus", *args, **more)

    def step(self, random):
        sender, receiver = random.sample(range(len(self.agents)), 2)
        text = f"message {next(self.numbers)}"
        command = [self.world.program, "bus", "send", f"bus-{receiver}", text, "--as", f"bus-{sender}", "--json"]
        if random.random() < 0.1:
            # Killed on its way: sent or not, but not half of it.
            process = subprocess.Popen(command, env=self.world.env, cwd=self.world.repo, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            time.sleep(random.random() * 0.05)
            process.kill()
            process.wait()
            self.perhaps.add(text)
        else:
            done = self.bus(*command[2:])
            (self.sent if done.returncode == 0 else self.perhaps).add(text)
            self.refused += done.returncode != 0
        if random.random() < 0.5:
            self.take(random.randrange(len(self.agents)))

    def take(self, member):
        done = self.bus("inbox", "--as", f"bus-{member}", "--limit", "50", "--json")
        if done.returncode != 0:
            return 0
        messages = json.loads(done.stdout).get("messages", [])
        for message in messages:
            self.taken[message["text"]] += 1
        return len(messages)

    def drain(self):
        for member in range(len(self.agents)):
            while self.take(member) > 0:
                pass

    def wrong(self):
        lost = sorted(self.sent - set(self.taken))
        twice = [text for text, times in self.taken.items() if times > 1]
        strange = sorted(set(self.taken) - self.sent - self.perhaps)
        return {"lost": lost, "twice": twice, "strange": strange}


class Soak:
    def __init__(self, world, args, clock_is_set):
        self.world, self.args, self.clock_is_set = world, args, clock_is_set
        self.random = random.Random(args.seed)
        self.wrong, self.figures = [], collections.Counter()
        self.recorded = Recorded()
        (world.base / "payloads").mkdir()
        self.steady = [Slot(world, self.recorded, ["acme", "pi"][n % 2], steady=True) for n in range(STEADY)]
        kinds = itertools.cycle(KINDS)
        self.slots = self.steady + [Slot(world, self.recorded, next(kinds)) for _ in range(args.sessions - STEADY)]
        self.watch = world.start(world.program, "watch", "--json")
        self.bus = Bus(world, 8)
        self.readers = Readers(world)
        self.readers.start()
        self.offset = 0

    def play(self, seconds, bus=True, kills=True):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            slot = self.random.choice(self.slots)
            if not slot.step(time.time() + self.offset) or not slot.alive():
                self.renew(slot, "both")
                continue
            self.figures["events"] += 1
            if slot in self.steady:
                continue
            if kills and self.random.random() < 0.01:
                what = self.random.choice(["agent", "publisher", "both", "end"])
                self.renew(slot, what)
                self.figures["ends" if what == "end" else "kills"] += 1
            if bus and self.random.random() < 0.02:
                self.bus.step(self.random)
            if self.random.random() < 0.005:
                self.list()
            time.sleep(0.002)

    def renew(self, slot, what):
        slot.end() if what == "end" else slot.kill(what)
        slot.begin()

    def list(self):
        done = self.world.jig("ls", "--json")
        self.figures["lists"] += 1
        if done.returncode != 0 or "panicked" in done.stderr:
            self.wrong.append(f"ls ended with {done.returncode}: {done.stderr[:300]}")

    def healed(self, after, within=HEALED_WITHIN):
        """Every session that tells a number has it in its file."""
        began = time.monotonic()
        behind = [slot for slot in self.slots if slot.expected() is not None and slot.alive()]
        while behind and time.monotonic() < began + within:
            behind = [slot for slot in behind if self.said(slot) != slot.expected()]
            time.sleep(0.2)
        took = time.monotonic() - began
        for slot in behind[:5]:
            self.wrong.append(f"after {after}: {slot.session} says {self.said(slot)}, not {slot.expected()}")
        self.figures["states compared"] += sum(slot.expected() is not None for slot in self.slots)
        self.figures["states lost"] += len(behind)
        say(f"  after {after}: {len(behind)} behind, all looked at in {took:.1f} s")

    def said(self, slot):
        try:
            return json.loads((self.world.sessions / f"{slot.session}.json").read_bytes()).get("background", 0)
        except (OSError, ValueError):
            return None

    def full_disk(self, seconds):
        filler = self.world.base / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
            except OSError:
                pass
            try:
                while True:
                    file.write(b"\0" * 512)
            except OSError:
                pass
        # Payloads of hooks are this program's own files: without room there are none.
        hooks, self.slots = self.slots, [slot for slot in self.slots if slot.kind not in HOOKS]
        self.play(seconds, bus=False, kills=False)
        self.slots = hooks
        filler.unlink()
        # A failed write is tried again after at most thirty seconds.
        self.healed("a full disk", within=30 + 15)

    def moved(self):
        away = self.world.state.with_name("away")
        self.world.state.rename(away)
        self.play(15, bus=False, kills=False)
        self.healed("the folder was moved away")
        # A restore puts the old folder in the place of what was made meanwhile.
        shutil.move(self.world.state, self.world.base / "meanwhile")
        away.rename(self.world.state)
        self.play(15, bus=False, kills=False)
        self.healed("the folder came back")
        shutil.rmtree(self.world.base / "meanwhile")

    def plant(self):
        """The control: one fault of each kind. A soak that does not see them sees nothing."""
        (self.world.sessions / "torn.json").write_text('{"schema": 1, "session": "torn", "sta')
        os.kill(self.steady[0].publisher.pid, signal.SIGSTOP)
        for _ in range(20):
            self.bus.step(self.random)
        letters = [file for file in (self.world.state / "jig/bus").rglob("*.json") if b'"message ' in file.read_bytes()]
        letters[0].unlink()
        self.play(5)
        self.healed("a planted fault", within=3)
        os.kill(self.steady[0].publisher.pid, signal.SIGCONT)

    def step_clock(self):
        if not self.clock_is_set:
            return
        self.offset = self.random.choice([-86400, -3600, -60, 60, 3600, 86400 * 30])
        self.world.set_clock(self.offset)
        self.figures["clock steps"] += 1

    def sizes(self):
        return {slot.session: measure(slot.publisher.pid) for slot in self.steady} | {"watch": measure(self.watch.pid)}

    def run(self):
        whole = self.args.minutes * 60
        say(f"{len(self.slots)} sessions, {self.args.minutes} min, seed {self.args.seed}")
        began = time.monotonic()
        self.play(whole * 0.15)
        self.healed("the beginning")
        before = self.sizes()
        self.figures["processes"] = len(self.slots)
        left = lambda: whole - (time.monotonic() - began)
        disturbances = [lambda: self.full_disk(60 if whole > 600 else 10), self.moved]
        while left() > whole * 0.15 or disturbances:
            self.step_clock()
            self.play(min(60, whole * 0.1))
            self.healed("a stretch")
            if disturbances:
                disturbances.pop(0)()
            elif left() > whole * 0.4:
                disturbances = [self.moved]
        if self.args.control:
            self.plant()
        self.world.set_clock(0)
        self.play(max(5, left()))
        after = self.sizes()
        for name, (memory, descriptors) in after.items():
            had, held = before.get(name, (memory, descriptors))
            say(f"  {name}: {had} -> {memory} kB, {held} -> {descriptors} descriptors")
            if memory > had * 1.15 + 2048:
                self.wrong.append(f"{name} grew from {had} to {memory} kB")
            if descriptors > held + 2:
                self.wrong.append(f"{name} holds {descriptors} descriptors, not {held}")
        self.finish()

    def finish(self):
        self.bus.drain()
        for what, texts in self.bus.wrong().items():
            self.figures[f"letters {what}"] = len(texts)
            self.wrong += [f"{what}: {text}" for text in texts[:5]]
        self.figures["letters sent"] = len(self.bus.sent)
        self.figures["letters killed or refused on their way"] = len(self.bus.perhaps)
        if self.watch.poll() is not None:
            self.wrong.append(f"watch ended with {self.watch.returncode}")
        # All at once, as when a terminal server is ended.
        for slot in self.slots:
            for one in (slot.publisher, slot.agent):
                if one is not None:
                    try:
                        one.stdin.close()
                    except OSError:
                        pass
        for slot in self.slots:
            if slot.publisher is not None:
                wait(slot.publisher)
            elif slot.kind in HOOKS:
                wait(slot.agent)
        own = {slot.session for slot in self.slots if slot.publisher is not None}
        names = [name for name in self.names() if name.removesuffix(".json") in own]
        self.figures["left by publishers that ended at once"] = len(names)
        self.wrong += [f"{name} is left by its own publisher" for name in names[:5]]
        for process in self.world.started:
            process.kill()
            wait(process)
        self.readers.stopped.set()
        self.readers.join()
        self.figures["reads"], self.figures["torn"] = self.readers.reads, len(self.readers.torn)
        self.wrong += [f"torn: {torn}" for torn in self.readers.torn[:5]]
        self.wrong += [f"no file of {kind} was ever seen" for kind in sorted(set(KINDS) - self.readers.kinds)]
        for _ in range(2):
            done = self.world.jig("prune")
            if done.returncode != 0:
                self.wrong.append(f"prune ended with {done.returncode}: {done.stderr[:300]}")
        left = self.names()
        self.figures["left after prune"] = len(left)
        self.wrong += [f"{name} is left" for name in left[:8]]
        # The clock of this program is no sessions': what a temporary's age says is not looked at here.
        log = self.world.state / "jig/log/jig-session.log"
        if log.exists() and b"panicked" in log.read_bytes():
            self.wrong.append("the log tells of a panic")
        say("  " + ", ".join(f"{count} {what}" for what, count in self.figures.items()))
        for line in self.wrong:
            say(f"{'seen' if self.args.control else 'FAILED'} {line}")
        if self.args.control:
            blind = [kind for kind in ("states lost", "letters lost", "torn", "left after prune") if not self.figures[kind]]
            for kind in blind:
                say(f"FAILED the planted fault was not seen: {kind}")
            self.wrong = blind
        say("1 passed" if not self.wrong else "0 passed")

    def names(self):
        try:
            return sorted(name for name in os.listdir(self.world.sessions) if name != ".jig-session")
        except OSError:
            return []


def own_mounts(base, size):
    """A small file system in a mount namespace of its own; false where a process may not have one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x00020000) != 0:
        return False
    # What is mounted here is nobody else's.
    libc.mount(None, b"/", None, 0x4000 | 0x40000, None)
    return libc.mount(b"tmpfs", str(base).encode(), b"tmpfs", 0, f"size={size}m,mode=700".encode()) == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--control", action="store_true", help="plant faults, all of which must be seen")
    args = parser.parse_args()
    args.seed = args.seed or random.randrange(1 << 31)
    base = pathlib.Path(tempfile.mkdtemp(prefix="jig-soak-"))
    if not own_mounts(base, 48):
        base.rmdir()
        say("SKIPPED soak: no file system can be mounted here")
        say("0 passed")
        return 0
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not found:
        say("SKIPPED soak, clock steps: libfaketime is not installed: apt-get install faketime")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    world = World(base, args.program, found[0] if found else None)
    try:
        soak = Soak(world, args, bool(found))
        soak.run()
        return 1 if soak.wrong else 0
    finally:
        for process in world.started:
            process.kill()
        ctypes.CDLL(None).umount2(str(base).encode(), 2)
        try:
            base.rmdir()
        except OSError:
            pass


sys.exit(main())
