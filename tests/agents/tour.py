"""One agent through every moment that a person sees, and what `ls` has to say at each.

Each step waits until something is true by other evidence (a dialog on the screen, a file that a tool made, a request
that the model holds), and only then holds the row to it.
"""
import json
import os
import pathlib
import signal
import time

from kit import matches, wait_for

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

IDLE = {"state": "idle", "attention": (None, "finished")}
BUSY = {"state": "busy", "attention": None}
APPROVAL = {"state": "busy", "attention": "approval"}
QUESTION = {"state": "busy", "attention": "question"}
ERROR = {"state": "idle", "attention": "error"}
GONE = None

#: What a person sees, and what is shown of it. An agent's launcher names where it differs, and why.
TABLE = {
    "start": IDLE, "streaming": BUSY, "finished": IDLE, "tool runs": BUSY, "tool ended": IDLE,
    "asked": APPROVAL, "approved": BUSY, "approved ended": IDLE, "denied by Esc": IDLE, "denied by No": IDLE,
    "Esc in a stream": IDLE, "Esc in a tool": IDLE, "API error": ERROR, "after the error": IDLE,
    "a question": QUESTION, "left by Esc": IDLE, "subagent ended": IDLE, "denied by the guard": IDLE, "told of mail": IDLE, "ended": GONE, "started again": IDLE, "killed": GONE,
}


#: Moments at which a turn is over once the agent says so on its own screen: how long it takes until then (OpenCode takes
#: one to three seconds from a tool's end, for the next request and for what it writes down) is no lateness of ours.
RESTS = ("finished", "tool ended", "approved ended", "after the error", "API error", "left by Esc", "subagent ended",
         "denied by Esc", "denied by No", "denied by the guard", "told of mail")


class Tour:
    def __init__(self, world, mode):
        self.world, self.mode, self.launch = world, mode, world.launch
        # A plugin brings the hooks: what differs with them differs with it.
        self.table = {**TABLE, **self.launch.differs.get("hooks" if mode == "plugin" else mode, {})}

    def moment(self, what):
        wanted = self.table[what]
        if wanted == "skipped":
            return None
        if what in RESTS:
            wait_for(lambda: not self.world.shows(self.launch.working), f"{what}: the agent to show that it rests")
        return self.world.moment(f"{self.launch.name} {self.mode}: {what}", wanted)

    def start(self):
        world, words = self.world, self.launch.command(self.world)
        if self.mode in ("run", "both"):
            words = ["jig-session", "run", "--", *words]
        world.start(*words)
        self.launch.opened(self)

    def prompt(self, name, text):
        # The model is asked before any dialog opens that another Enter could answer.
        self.world.say(f"secret-prompt-{name} {text}", lambda: self.world.asked(f"secret-prompt-{name} "))

    def settled(self):
        """The composer is there, empty."""
        self.world.wait_screen(*self.launch.ready)

    def escape(self, until):
        self.world.press(("Escape",), until, "the call to be denied")

    def interrupt(self):
        """Breaks the turn off; the agent says on its screen how, for as long as it works."""
        self.world.press(self.launch.interrupt, lambda: not self.world.shows(self.launch.working),
                         "the turn to be broken off")

    def let(self, name):
        """Lets a tool end, and waits until the model was asked what to make of it."""
        before = len(self.world.model.requests)
        self.world.go(name)
        wait_for(lambda: len(self.world.model.requests) > before, "the model to be asked again")

    def no_dialog(self):
        return not self.world.shows(*self.launch.dialog)

    def heard(self, before, text):
        """Whether a request to the model since then holds a text."""
        return any(text in request["body"] for request in self.world.model.requests[before:])

    # The moments

    def turns(self):
        world = self.world
        self.prompt("h1", "DO-HOLD h1")
        wait_for(lambda: "h1" in world.model.held, "a request that streams")
        self.moment("streaming")
        world.model.release("h1")
        world.wait_screen("END-h1")
        self.moment("finished")
        if self.mode != "run":
            self.figures()

    def figures(self):
        """The model, the context and what it has cost: what the agent tells is there, and nothing is guessed."""
        def right():
            row = self.world.row()
            told = {name: (row.get(name.split(".")[0]) or {}).get(name.split(".")[1]) for name in self.launch.figures}
            return told if all(value is not None if self.launch.figures[name] == "told"
                               else value == self.launch.figures[name] for name, value in told.items()) else None
        wait_for(right, f"the figures {self.launch.figures}", 20)

    def tool(self):
        world = self.world
        self.prompt("t1", "DO-BASH ./free t1 secret-argument")
        world.wait_runs("t1")
        self.moment("tool runs")
        self.let("t1")
        return self.moment("tool ended")

    def approval(self):
        world = self.world
        self.prompt("t2", f"{self.launch.asking} ./asks t2 secret-argument")
        world.wait_screen(*self.launch.dialog)
        self.moment("asked")
        world.press(self.launch.approve, lambda: world.runs("t2"), "the call to be approved")
        self.moment("approved")
        self.let("t2")
        return self.moment("approved ended")

    def denials(self):
        world = self.world
        self.prompt("t3", f"{self.launch.asking} ./asks t3 secret-argument")
        world.wait_screen(*self.launch.dialog)
        self.moment("asked")
        self.escape(self.no_dialog)
        self.moment("denied by Esc")
        self.prompt("t4", f"{self.launch.asking} ./asks t4 secret-argument")
        world.wait_screen(*self.launch.dialog)
        self.moment("asked")
        if self.launch.no is None:
            world.press(self.launch.say_no, self.no_dialog, "the call to be denied")
        else:
            world.choose(self.launch.no, self.launch.say_no, self.no_dialog, "the call to be denied")
        self.moment("denied by No")
        for name in ("t3", "t4"):
            assert not world.file(f"{name}.runs").exists(), f"{name} ran although it was denied"

    def interrupts(self):
        world = self.world
        self.prompt("h2", "DO-HOLD h2")
        wait_for(lambda: "h2" in world.model.held, "a request that streams")
        world.wait_screen("secret-beginning")
        self.moment("streaming")
        self.interrupt()
        self.moment("Esc in a stream")
        self.prompt("t5", "DO-BASH ./free t5 secret-argument")
        world.wait_runs("t5")
        self.moment("tool runs")
        self.interrupt()
        self.moment("Esc in a tool")
        world.go("t5")

    def failure(self):
        world = self.world
        self.prompt("f1", "DO-FAIL")
        world.wait_screen("secret-failure")
        self.moment("API error")
        self.prompt("h3", "DO-HOLD h3")
        wait_for(lambda: "h3" in world.model.held, "a request that streams")
        self.moment("streaming")
        world.model.release("h3")
        world.wait_screen("END-h3")
        self.moment("after the error")

    def outputs(self):
        """What the agent writes is listed, by its path."""
        world = self.world
        self.prompt("w2", f"DO-WRITE {world.file('new.txt')}")
        wait_for(world.file("new.txt").exists, "the file that the agent writes")
        self.moment("tool ended")
        if self.mode != "run":
            wait_for(lambda: str(world.file("new.txt")) in [output["path"] for output in world.status()["outputs"]],
                     "the file among the outputs", 20)

    def progress(self):
        """Of a list of things to do the share that is done is shown, as long as the turn runs."""
        if self.mode == "run" or self.launch.progress == "skipped":
            return False
        world = self.world
        self.prompt("h6", "DO-TODO h6")
        wait_for(lambda: "h6" in world.model.held, "a request that streams after the list")
        self.moment("streaming")
        wait_for(lambda: world.status().get("progress") == self.launch.progress, "the list's progress", 20)
        world.model.release("h6")
        world.wait_screen("END-h6")
        self.moment("finished")
        assert world.status().get("progress") is None, "a turn that has ended has no progress"

    def question(self):
        """A person is asked a question by the model, and leaves it with Esc."""
        if self.launch.question is None:
            return False
        world = self.world
        self.prompt("q1", "DO-ASK")
        world.wait_screen(self.launch.question)
        self.moment("a question")
        self.escape(lambda: not world.shows(self.launch.question))
        self.moment("left by Esc")

    def subagent(self):
        """A subagent is counted while it works, and is no session of its own."""
        if self.mode == "run" or not self.launch.subagents:
            return False
        world = self.world
        self.prompt("s1", "DO-SUB")
        wait_for(lambda: "sub" in world.model.held, "the subagent's request")
        wait_for(lambda: (world.row() or {}).get("background"), "the subagent to be counted", 20)
        assert len(world.rows()) == 1, f"a subagent is no session: {world.rows()}"
        world.model.release("sub")
        wait_for(lambda: world.row() and not world.row().get("background"), "the subagent to have ended", 60)
        self.moment("subagent ended")

    def bus(self):
        """Another session holds a file and has written: the edit is denied, and the model reads of the mail."""
        if self.mode == "run":
            return False
        world = self.world
        row = world.row()
        world.file("held.txt").write_text("as it was\n")
        world.jig("bus", "join", "--as", "other", "other")
        world.jig("bus", "claim", "--as", "other", "held.txt")
        world.jig("bus", "join", "--as", row["session"], "--guard", "driven")
        before = len(world.model.requests)
        self.prompt("w1", f"DO-WRITE {world.file('held.txt')}")
        wait_for(lambda: self.heard(before, "held.txt is held by"), "the model to read of the denial", 20)
        self.moment("denied by the guard")
        assert world.file("held.txt").read_text() == "as it was\n", "the guard did not hold"
        world.jig("bus", "send", "--as", "other", "driven", "the build is broken, see main")
        before = len(world.model.requests)
        self.prompt("h4", "DO-HOLD h4")
        wait_for(lambda: "h4" in world.model.held, "a request that streams")
        world.model.release("h4")
        assert self.heard(before, "jig-session bus inbox"), "the model did not read of the mail"
        self.moment("told of mail")

    def ends(self):
        world = self.world
        world.say(self.launch.leave, lambda: world.shows("ENDED"))
        self.moment("ended")

    def killed(self):
        world = self.world
        self.start()
        self.moment("started again")
        self.prompt("h5", "DO-HOLD h5")
        wait_for(lambda: "h5" in world.model.held, "a request that streams")
        row = self.moment("streaming")
        os.kill(row["pid"], signal.SIGKILL)
        self.moment("killed")

    STEPS = ("turns", "tool", "approval", "denials", "interrupts", "failure", "outputs", "progress", "question", "subagent",
             "bus", "ends", "killed")
    #: With hooks and `run` at once, for an agent that reports nothing itself: only who it is comes from `run`.
    SHORT = ("turns", "approval", "ends", "killed")

    #: The plugin brings the same hooks: that they come is what is to be seen.
    PLUGIN = ("turns", "tool", "ends", "unplugged")

    def steps(self):
        if "KIT_STEPS" in os.environ:
            return os.environ["KIT_STEPS"].split()
        if self.mode == "plugin":
            return self.PLUGIN
        return self.STEPS if self.mode != "both" or self.launch.reports else self.SHORT

    # The agent's own plugin command

    def plugin_commands(self):
        """How the plugin comes and goes, as the page of the plugins says it, from this clone."""
        rows = (line.split("|") for line in (REPOSITORY / "plugins" / "README.md").read_text().splitlines())
        cells = [[cell.strip() for cell in row] for row in rows if len(row) == 5]
        begins = f"`{self.launch.name} "
        install, remove = next(row[2:4] for row in cells if row[2].startswith(begins))
        in_clone = lambda cell: cell.split("`")[1].replace("jig-session/jig-session", str(REPOSITORY)).replace(
            "PATH/", f"{REPOSITORY}/")
        return in_clone(install), in_clone(remove)

    def plugged(self):
        """Installs the plugin, and holds `hooks` to what it says then."""
        if self.launch.name == "opencode":
            path = self.world.home / ".config" / "opencode" / "opencode.json"
            settings = json.loads(path.read_text())
            path.write_text(json.dumps({**settings, "plugin": [str(REPOSITORY / "plugins" / "opencode")]}))
        else:
            self.world.shell(self.plugin_commands()[0])
        assert self.session_entry() == "plugin", self.session_entry()
        refused = self.world.jig("hooks", "install", self.launch.name, ok=False)
        assert refused.returncode == 4 and "twice" in refused.stdout, refused
        # What the plugin does not bring comes beside it.
        if self.launch.parts:
            self.world.jig("hooks", "install", self.launch.name, *self.launch.parts)

    def session_entry(self):
        agent = json.loads(self.world.jig("--json", "hooks", "status", self.launch.name).stdout)["agents"][0]
        return next(entry["state"] for entry in agent["entries"] if entry["part"] == "session")

    def unplugged(self):
        if self.launch.name == "opencode":
            return False
        self.world.shell(self.plugin_commands()[1])
        assert self.session_entry() == "absent", self.session_entry()
        return None

    def run(self):
        if self.mode == "plugin":
            self.plugged()
        elif self.mode != "run":
            self.world.jig("hooks", "install", self.launch.name)
            if self.launch.parts:
                self.world.jig("hooks", "install", self.launch.name, *self.launch.parts)
        self.start()
        self.moment("start")
        for step in self.steps():
            begun = time.monotonic()
            if getattr(self, step)() is False:
                # It is no test that passed: this agent offers nothing of the kind to the scripted model, or not under `run`.
                print(f"not offered: {self.launch.name} {self.mode} {step}", flush=True)
                continue
            print(f"ok {self.launch.name} {self.mode} {step} ({time.monotonic() - begun:.1f} s)", flush=True)
        leaks = self.world.leaks()
        assert not leaks, f"texts of the session were written down: {json.dumps(leaks)}"
        print(f"ok {self.launch.name} {self.mode} nothing leaks", flush=True)
