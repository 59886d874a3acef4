"""OpenCode: one native program, which loads our plugin."""
import json

from kit import MODULES


class Launch:
    name = "opencode"
    version = "1.18.33"
    ready = (r"Ask anything",)
    dialog = (r"Permission required",)
    approve = ("Enter",)
    no = None
    say_no = ("Right", "Right", "Enter")
    working = r"esc (again to )?interrupt"
    interrupt = ("Escape", "", "Escape")
    asking = "DO-BASH"
    reports = False
    leave = "/exit"
    parts = ()
    figures = {"model.id": "fake-model", "context.tokens": 2421, "usage.input": "told", "usage.output": "told",
               "usage.cost": "told"}
    progress = 33
    question = r"2\.\s+secret-two"
    subagents = True
    differs = {"hooks": {"start": None, "started again": None}}

    def prepare(self, world):
        program = MODULES / "opencode-linux-x64-baseline" / "bin" / "opencode"
        (world.work / "bin" / "opencode").symlink_to(program)
        folder = world.home / ".config" / "opencode"
        (folder / "node_modules" / "@opencode-ai").mkdir(mode=0o700, parents=True)
        # Without all of this at hand it waits for a registry.
        (folder / "node_modules" / "@opencode-ai" / "plugin").symlink_to(MODULES / "@opencode-ai" / "plugin")
        package = {"dependencies": {"@opencode-ai/plugin": self.version}}
        (folder / "package.json").write_text(json.dumps(package))
        (folder / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": {"": package}}))
        options = {"baseURL": f"http://127.0.0.1:{world.model.port}/v1", "apiKey": "secret-key"}
        model = {"name": "Fake", "limit": {"context": 128000, "output": 4096}, "cost": {"input": 1, "output": 2}}
        (folder / "opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model",
            "permission": {"edit": "allow", "bash": {"*": "ask", "./free *": "allow"}},
            "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options,
                                  "models": {"fake-model": model}}}}))
        world.env.update(OPENCODE_DISABLE_MODELS_FETCH="1", OPENCODE_DISABLE_AUTOUPDATE="1")

    def command(self, world):
        return ["opencode"]

    def opened(self, tour):
        tour.settled()

    def end(self, world):
        pass
