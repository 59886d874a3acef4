"""Gemini CLI: a script of Node's that starts itself again as its child."""
import json

from kit import MODULES

POLICY = """[[rule]]
toolName = "run_shell_command"
commandPrefix = "./free"
decision = "allow"
priority = 200
[[rule]]
toolName = "write_todos"
decision = "allow"
priority = 200
[[rule]]
toolName = "write_file"
decision = "allow"
priority = 200
"""


class Launch:
    name = "gemini"
    version = "0.61.0"
    ready = (r"Type your message",)
    dialog = (r"Allow execution", r"Apply this change")
    approve = ("Enter",)
    no = r"● \d\. No"
    say_no = ("Enter",)
    working = r"esc to cancel"
    interrupt = ("Escape",)
    asking = "DO-BASH"
    reports = False
    leave = "/quit"
    parts = ("--bus", "--guard")
    figures = {"model.id": "told", "context.tokens": 2421, "context.window": None, "usage.cost": None}
    progress = 33
    question = r"2\.\s+secret-two"
    subagents = False
    differs = {
        # Only its screen tells that a call was approved, until the tool ends.
        mode: {"approved": {"state": "busy", "attention": "approval"}} for mode in ("hooks", "both")
    }

    def prepare(self, world):
        program = MODULES / "@google" / "gemini-cli" / "bundle" / "gemini.js"
        (world.work / "bin" / "gemini").symlink_to(program)
        folder = world.home / ".gemini"
        (folder / "policies").mkdir(mode=0o700, parents=True)
        (folder / "policies" / "tests.toml").write_text(POLICY)
        (folder / "settings.json").write_text(json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "ui": {"hideTips": True}, "ide": {"hasSeenNudge": True},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}))
        world.env.update(GEMINI_API_KEY="secret-key", GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{world.model.port}")

    def command(self, world):
        return ["gemini", "--skip-trust", "-m", "gemini-2.5-flash"]

    def opened(self, tour):
        tour.settled()

    def end(self, world):
        pass
