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
    leave = "/exit"
    parts = ("--bus", "--guard", "--statusline")
    figures = {"model.id": "told", "context.tokens": "told", "context.window": "told", "usage.cost": "told"}
    differs = {}

    def opened(self, tour):
        tour.settled()

    def end(self, world):
        pass
