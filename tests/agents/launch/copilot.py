"""Copilot CLI: npm's launcher is a script of Node's, with the native program below it."""
import json

from kit import MODULES


class Launch:
    name = "copilot"
    version = "1.0.102"
    ready = (r"❯",)
    dialog = (r"Do you want to run this command",)
    approve = ("Enter",)
    # It wants to be told what to do instead, and asks its model again.
    no = r"❯ \d\. No"
    say_no = ("n", "o", "Enter")
    working = r"esc interrupt"
    interrupt = ("Escape", "", "Escape")
    asking = "DO-BASH"
    reports = False
    leave = "/exit"
    parts = ("--bus", "--guard")
    figures = {"model.id": "told", "context.tokens": 2421, "usage.cost": None}
    progress = "skipped"
    # Its question has a form of its own, which the scripted model does not write.
    question = None
    subagents = True
    differs = {"hooks": {"start": None, "started again": None}}

    def prepare(self, world):
        program = MODULES / "@github" / "copilot" / "npm-loader.js"
        (world.work / "bin" / "copilot").symlink_to(program)
        (world.home / ".copilot").mkdir(mode=0o700)
        trusted = [str(world.project)]
        (world.home / ".copilot" / "config.json").write_text(json.dumps({
            "trusted_folders": trusted, "trustedFolders": trusted, "banner": "never", "firstLaunchAt": "2026-01-01"}))
        world.env.update(
            COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false", COPILOT_MODEL="gpt-5.4",
            COPILOT_PROVIDER_BASE_URL=f"http://127.0.0.1:{world.model.port}/v1", COPILOT_PROVIDER_API_KEY="secret-key")

    def command(self, world):
        return ["copilot", "--allow-tool", "shell(./free:*)", "--allow-tool", "write"]

    def opened(self, tour):
        tour.settled()

    def end(self, world):
        pass
