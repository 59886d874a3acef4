"""Validates every example, and one live status file, with Python's jsonschema.

Usage: validate.py SCHEMAS STATUS_FILE
"""

import json
import pathlib
import sys

from jsonschema import Draft202012Validator

schemas, live = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def validator(file):
    schema = json.loads(file.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


wrong = []
count = 0
for file in sorted(schemas.glob("*.v1.schema.json")):
    name = file.name.removesuffix(".v1.schema.json")
    reader = validator(file)
    validator(schemas / "writer" / file.name)
    for kind, expected in (("valid", True), ("invalid", False)):
        examples = sorted((schemas / "examples" / name / "v1" / kind).glob("*.json"))
        if not examples:
            wrong.append(f"{name} has no {kind} example")
        for example in examples:
            count += 1
            if reader.is_valid(json.loads(example.read_text(encoding="utf-8"))) is not expected:
                wrong.append(f"{name}/{kind}/{example.stem}: expected {kind}")

status = json.loads(live.read_text(encoding="utf-8"))
for side in (".", "writer"):
    for error in validator(schemas / side / "status.v1.schema.json").iter_errors(status):
        wrong.append(f"live status file, {side}: {error.json_path}: {error.message}")

print("\n".join(wrong) if wrong else f"{count} examples and a live status file")
sys.exit(1 if wrong else 0)
