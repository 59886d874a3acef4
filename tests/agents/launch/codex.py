"""Codex: npm's launcher is a script of Node's, with the native program below it."""
from kit import MODULES

CONFIG = """model = "fake-model"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
[projects."{project}"]
trust_level = "trusted"
[tui]
screen_reader_detection_done = true
"""


class Launch:
    name = "codex"
    version = "0.171.0"
    ready = (r"› ",)
    dialog = (r"Would you like to run",)
    approve = ("y",)
    no = r"› \d\. No"
    say_no = ("Enter",)
    working = r"esc to interrupt"
    interrupt = ("Escape",)
    asking = "DO-ESCALATE"
    reports = True
    leave = "/quit"
    parts = ("--bus", "--guard")
    figures = {"model.id": "fake-model", "context.tokens": 2421, "context.window": "told", "usage.input": "told",
               "usage.output": "told", "usage.cost": None}
    # This model is offered no list.
    progress = "skipped"
    question = None
    subagents = False
    differs = {
        "hooks": {
            # It tells of a session with the first prompt.
            "start": None, "started again": None,
            # Only its screen tells that a call was approved, until the tool ends.
            "approved": {"state": "busy", "attention": "approval"},
        },
    }

    def prepare(self, world):
        program = MODULES / "@openai" / "codex" / "bin" / "codex.js"
        (world.work / "bin" / "codex").symlink_to(program)
        (world.home / ".codex").mkdir(mode=0o700)
        config = CONFIG.format(port=world.model.port, project=world.project)
        (world.home / ".codex" / "config.toml").write_text(config)
        world.env["FAKE_KEY"] = "secret-key"

    def command(self, world):
        return ["codex", "--dangerously-bypass-hook-trust"]

    def opened(self, tour):
        tour.settled()

    def end(self, world):
        pass
