"""Qwen Code: a script of Node's."""
import json

from kit import MODULES


class Launch:
    name = "qwen"
    version = "0.24.4"
    ready = (r"Type your message",)
    dialog = (r"Allow execution", r"Apply this change")
    approve = ("Enter",)
    no = r"› \d\. No"
    say_no = ("Enter",)
    working = r"esc to cancel"
    interrupt = ("Escape",)
    asking = "DO-BASH"
    reports = False
    leave = "/quit"
    parts = ("--bus", "--guard")
    figures = {"model.id": "told", "context.tokens": 2421, "context.window": "told", "usage.cost": None}
    progress = 33
    question = r"2\.\s+secret-two"
    subagents = True
    differs = {}

    def prepare(self, world):
        program = MODULES / "@qwen-code" / "qwen-code" / "cli-entry.js"
        (world.work / "bin" / "qwen").symlink_to(program)
        (world.home / ".qwen").mkdir(mode=0o700)
        (world.home / ".qwen" / "settings.json").write_text(json.dumps({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "model": {"name": "fake-model"}, "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "tools": {"todoWrite": {"enabled": True}},
            "permissions": {"allow": ["Bash(./free *)", "Edit", "Agent"]},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}))
        world.env.update(OPENAI_API_KEY="secret-key", OPENAI_MODEL="fake-model",
                         OPENAI_BASE_URL=f"http://127.0.0.1:{world.model.port}/v1")

    def command(self, world):
        return ["qwen", "--approval-mode", "default"]

    def opened(self, tour):
        tour.settled()

    def end(self, world):
        pass
