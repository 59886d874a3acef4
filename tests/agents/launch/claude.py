"""Claude Code: one native program."""
import json

from kit import MODULES

KEY = "secret-key-0123456789abcdef"


class Launch:
    name = "claude"
    version = "2.1.332"
    ready = (r"❯\s",)
    dialog = (r"Do you want to proceed", r"Do you want to create")
    approve = ("Enter",)
    no = r"❯ 2\. No"
    say_no = ("Enter",)
    working = r"esc to interrupt"
    interrupt = ("Escape",)
    asking = "DO-BASH"
    reports = True
    leave = "/exit"
    parts = ("--bus", "--guard", "--statusline")
    figures = {"model.id": "told", "context.tokens": "told", "context.window": "told", "usage.cost": "told"}
    progress = "skipped"
    question = r"2\.\s+secret-two"
    subagents = True
    differs = {}

    def opened(self, tour):
        tour.settled()

    def prepare(self, world):
        program = MODULES / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
        (world.work / "bin" / "claude").symlink_to(program)
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        (world.home / ".claude.json").write_text(json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark", "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(world.project): project}}))
        (world.home / ".claude").mkdir(mode=0o700)
        (world.home / ".claude" / "settings.json").write_text(json.dumps({
            "permissions": {"defaultMode": "default", "disableAutoMode": "disable",
                            "allow": ["Bash(./free:*)", "Edit", "Write"], "ask": ["Bash(./asks:*)"]}}))
        world.env.update(
            ANTHROPIC_BASE_URL=f"http://127.0.0.1:{world.model.port}", ANTHROPIC_API_KEY=KEY,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1")

    def command(self, world):
        return ["claude"]

    def end(self, world):
        pass
