"""A reader that mypy checks strictly: `change` narrows the line."""

import json
import sys
from typing import cast

from watch import WatchLine


def session_of(line: WatchLine) -> str | None:
    if line["change"] == "added" or line["change"] == "changed" or line["change"] == "removed":
        return line["session"]["session"]
    return None


def main() -> None:
    for text in sys.stdin:
        print(session_of(cast(WatchLine, json.loads(text))))


if __name__ == "__main__":
    main()
