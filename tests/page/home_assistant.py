#!/usr/bin/env python3
"""The Home Assistant example of docs/fleet.md: it is YAML of the shape that Home Assistant reads, and its templates give
what the page says, for the documents that a broker may hold."""
import ast
import json
import pathlib
import re
import sys

import jinja2
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOPIC = "jig-session/v1/build-1/s/0f3a"


def trigger_of(payload):
    """As Home Assistant makes it: `payload_json` is there only when the payload is JSON."""
    made = {"topic": TOPIC, "payload": payload}
    try:
        made["payload_json"] = json.loads(payload)
    except ValueError:
        pass
    return made


def document(**fields):
    return json.dumps({"schema": 1, "session": "0f3a", "folder": "api", "state": "busy", "attention": None, **fields})


WAITS = document(attention={"reason": "approval", "since": "2026-11-29T18:18:47.855Z"})
# What the broker holds, and whether it waits.
PAYLOADS = [(WAITS, True), (document(), False), ("", False), ("{", False), ("null", False), ("[]", False), ("7", False)]


def main():
    text = (ROOT / "docs/fleet.md").read_text()
    example = yaml.safe_load(re.search(r"```yaml\n(# configuration.yaml\n.*?)```", text, re.S).group(1))
    assert set(example) == {"mqtt", "template", "automation"}, example
    environment = jinja2.Environment()

    def give(template, **values):
        """As Home Assistant: the text without blanks around it, and a literal as what it stands for."""
        text = environment.from_string(template).render(**values).strip()
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    passed = 0

    sensor = example["mqtt"][0]["binary_sensor"]
    for online in (True, False):
        value = give(sensor["value_template"], value_json={"online": online})
        assert value == ("ON" if online else "OFF"), value
        passed += 1

    waiting = example["template"][0]["sensor"][0]
    for before in ([], [TOPIC], ["other"], ["other", TOPIC]):
        for payload, waits in PAYLOADS:
            this = {"attributes": {"waiting": before}}
            values = {"this": this, "trigger": trigger_of(payload)}
            after = give(waiting["attributes"]["waiting"], **values)
            expected = [topic for topic in before if topic != TOPIC] + ([TOPIC] if waits else [])
            assert after == expected, (payload, after, expected)
            assert give(waiting["state"], **values) == len(expected), payload
            passed += 1
    # At its first message the sensor has no attributes.
    first = {"this": {"attributes": {}}, "trigger": trigger_of(WAITS)}
    assert give(waiting["state"], **first) == 1

    rule = example["automation"][0]
    for payload, waits in PAYLOADS:
        assert give(rule["conditions"], trigger=trigger_of(payload)) is waits, payload
        passed += 1
    data = rule["actions"][0]["data"]
    said = [give(data[name], trigger=trigger_of(WAITS)) for name in ("title", "message")]
    assert said == ["build-1 waits", "api: approval"], said
    for trigger in (example["template"][0]["triggers"][0], rule["triggers"][0]):
        assert trigger == {"trigger": "mqtt", "topic": "jig-session/v1/+/s/+"}, trigger
    print(f"{passed + 2} passed")


if __name__ == "__main__":
    sys.exit(main())
