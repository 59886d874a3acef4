"""A session of very many entries: nothing of it is lost, and nothing that Pi is asked meanwhile waits for it."""
import json
import os
import pathlib
import re
import signal
import statistics
import time

from kit import Kit, Rpc, expect, main

ENTRIES = int(os.environ.get("LONG_ENTRIES", "200000"))
PROMPT = "two @say hi\n@usage 1000 50 0"


def build(kit, count):
    """The transcript of a session with COUNT entries."""
    pi = Rpc(kit)
    pi.prompt("one @call write {\"path\":\"a.txt\",\"content\":\"x\"}\n@usage 1000 50 0\n@then\n@say ok\n@usage 1000 50 0")
    path = pi.send("get_state")["data"]["sessionFile"]
    pi.close()
    kit.wait_no_status()
    entries = [json.loads(line) for line in open(path)]
    messages = [entry for entry in entries if entry["type"] == "message" and entry["message"]["role"] != "system"]
    last = entries[-1]["id"]
    with open(path, "a") as file:
        for number in range(count - len(entries)):
            entry = {**messages[number % len(messages)], "id": f"{0x10000000 + number:08x}", "parentId": last}
            last = entry["id"]
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
    return path


def prompts(pi, count):
    """Seconds from a prompt to its request's end, of COUNT prompts one after another."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        pi.prompt(PROMPT)
        took.append(time.monotonic() - began)
    return took


def every_entry_counts_and_no_prompt_waits():
    with Kit(extensions=()) as kit:
        path = build(kit, ENTRIES)
        # The same prompts in a Pi without the bridge: what they take by themselves.
        alone = Rpc(kit, "--session", path, env={"PI_DISABLED_EXTENSIONS": "jig-session"})
        alone.send("get_state")
        before = prompts(alone, 6)
        alone.close()
        pi = Rpc(kit, "--session", path)
        session = pi.session()
        kit.wait_status(what="its row")
        took = prompts(pi, 6)
        answer = kit.ask(session, id="off", tools={"bash": False})
        expect(answer["ok"], "a request is answered", answer)
        own = pi.send("get_session_stats")["data"]
        wanted = {name: own["tokens"][name] for name in ("input", "output", "cacheRead", "cacheWrite")}
        status = kit.wait_status(lambda s: {name: s["usage"][name] for name in wanted} == wanted, f"usage {wanted}")
        expect(abs(status["usage"]["cost"] - own["cost"]) < 1e-6 * own["cost"], "the cost is Pi's", (status["usage"], own["cost"]))
        print(f"{ENTRIES} entries: a prompt {statistics.median(before):.3f} s without the bridge, {statistics.median(took):.3f} s with it;"
              f" the slowest {max(before):.3f} and {max(took):.3f}")
        expect(statistics.median(took) - statistics.median(before) < 0.05, "no prompt is delayed", (before, took))
        pi.close()


def a_host_that_does_not_read_is_told_what_it_has_missed():
    with Kit(extensions=("flood",)) as kit:
        pi = Rpc(kit)
        pi.prompt("one @say hi\n@usage 1000 50 0")
        status = kit.wait_status(lambda s: s["usage"]["input"] == 1000, "the first sum")
        host = [int(folder.name) for folder in proc_folders() if b"jig-session\0host" in command_of(folder) and parent_of(folder) == pi.process.pid]
        expect(len(host) == 1, "one host", host)
        os.kill(host[0], signal.SIGSTOP)
        try:
            pi.send("prompt", message="/flood")
            pi.prompt("two @say hi\n@usage 1000 50 0")
        finally:
            os.kill(host[0], signal.SIGCONT)
        own = pi.send("get_session_stats")["data"]["tokens"]["input"]
        kit.wait_status(lambda s: s["usage"]["input"] == own, f"all of {own} is counted anew")
        log = (kit.state / "log" / "jig-session.log").read_text()
        expect(re.search(r"lines of the bridge did not come", log), "the log says so", log)
        doctor = kit.jig("doctor", ok=False)
        expect("lines of the bridge did not come" in doctor.stdout, "doctor says so", doctor.stdout)
        expect(kit.status()["session"] == status["session"] and kit.status()["state"] == "idle", "the state is right", kit.status())
        pi.close()


def proc_folders():
    return [entry for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def command_of(folder):
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


def parent_of(folder):
    try:
        return int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


main([every_entry_counts_and_no_prompt_waits, a_host_that_does_not_read_is_told_what_it_has_missed])
