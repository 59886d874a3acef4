"""A session of very many entries: nothing of it is lost, and nothing that Pi is asked meanwhile waits for it."""
import json
import os
import pathlib
import re
import shutil
import signal
import time

from kit import ROOT, Kit, Rpc, expect, main, read_lines, wait_for

ENTRIES = int(os.environ.get("LONG_ENTRIES", "200000"))
PROMPTS = 20
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

    def entry_after(entry, number):
        nonlocal last
        entry = {**entry, "id": f"{0x10000000 + number:08x}", "parentId": last}
        last = entry["id"]
        return json.dumps(entry, separators=(",", ":")) + "\n"
    with open(path, "a") as file:
        for number in range(count - len(entries)):
            file.write(entry_after(messages[number % len(messages)], number))
        # As in every session of that length, most of it is summarized: Pi itself is quick then.
        compaction = {"type": "compaction", "timestamp": entries[-1]["timestamp"], "summary": "A summary.",
                      "firstKeptEntryId": last, "tokensBefore": 50000}
        file.write(entry_after(compaction, count))
    return path


def lag(kit, pi):
    """The longest time that Pi was kept, since it was asked last, in milliseconds."""
    file = kit.work / "lag"
    file.unlink(missing_ok=True)
    pi.send("prompt", message="/lag")
    return wait_for(lambda: file.exists() and file.read_text().endswith("\n") and float(file.read_text()), "the lag")


def every_entry_counts_and_nothing_waits():
    with Kit(extensions=("lag",)) as kit:
        kit.env["PI_LAG_FILE"] = str(kit.work / "lag")
        path = build(kit, ENTRIES)
        # The same in a Pi without the bridge: what it takes by itself.
        alone = Rpc(kit, "--session", path, env={"PI_DISABLED_EXTENSIONS": "jig-session"})
        alone.session()
        lag(kit, alone)
        time.sleep(3)
        own_lag = lag(kit, alone)
        alone.prompt(PROMPT)
        prompt_lag = lag(kit, alone)
        alone.close()
        pi = Rpc(kit, "--session", path)
        session = pi.session()
        lag(kit, pi)
        began = time.monotonic()
        status = kit.wait_status(lambda s: s["usage"]["input"], "the sums of all entries")
        counted = time.monotonic() - began
        with_host = lag(kit, pi)
        own = pi.send("get_session_stats")["data"]
        wanted = {name: own["tokens"][name] for name in ("input", "output", "cacheRead", "cacheWrite")}
        expect({name: status["usage"][name] for name in wanted} == wanted, f"usage {wanted}", status["usage"])
        expect(abs(status["usage"]["cost"] - own["cost"]) < 1e-6 * own["cost"], "the cost is Pi's", (status["usage"], own["cost"]))
        answer = kit.ask(session, id="off", tools={"bash": False})
        expect(answer["ok"], "a request is answered", answer)
        lag(kit, pi)
        pi.prompt(PROMPT)
        prompt_with_host = lag(kit, pi)
        print(f"{ENTRIES} entries are counted {counted:.1f} s after the start; at a time Pi is kept {with_host:.0f} ms by it,"
              f" {own_lag:.0f} ms by itself; by a prompt {prompt_with_host:.0f} and {prompt_lag:.0f} ms")
        # A line of entries takes 5 ms. What is measured holds the collector's work on what Pi has read, too, on all cores.
        expect(with_host < own_lag + 250, "nothing that Pi is asked waits for it", (with_host, own_lag))
        pi.close()


def no_prompt_is_kept():
    """What the bridge takes of a prompt, between an extension that Pi asks before it and one that it asks after it: of
    one in the first moment, which waits for the host to start, of prompts while the entries are read, and after that."""
    first = {}
    for count in (PROMPTS * 10, ENTRIES):
        took, early = prompts_in(count)
        first[count] = took[0]
        print(f"{PROMPTS} prompts in {count} entries, {early} of them while they are read: the bridge takes {took[0]:.1f} ms"
              f" of the first, {sorted(took)[len(took) // 2]:.2f} ms of the median, {max(took[1:]):.1f} ms of the slowest"
              " after it")
        expect(sorted(took)[len(took) // 2] < 50, "no prompt waits", took)
    # The first prompt waits for the host's start and for one look at the entries, not for what is read of each.
    short, long = first.values()
    expect(long < 4 * short + 250, "the first prompt waits for the host, and not for all entries", first)


def prompts_in(count):
    with Kit(extensions=()) as kit:
        path = build(kit, count)
        folder = kit.agent / "extensions"
        # Pi loads its folder of extensions in the order of their names, and `jig-session` stands between these.
        for name in ("a-1.ts", "k-2.ts"):
            shutil.copy(ROOT / "extensions" / "stamp.ts", folder / name)
        log = kit.work / "stamps.jsonl"
        pi = Rpc(kit, "--session", path, env={"PI_STAMP_LOG": str(log)})
        early = 0
        for _ in range(PROMPTS):
            pi.prompt(PROMPT)
            early += not kit.wait_status()["usage"]["input"]
        kit.wait_status(lambda s: s["usage"]["input"] and s["state"] == "idle", "the sums of all entries")
        pi.close()
        stamps = sorted(read_lines(log), key=lambda stamp: stamp["at"])
        asked = [stamp for stamp in stamps if stamp["event"] == "before_agent_start"]
        pairs = list(zip(asked[::2], asked[1::2]))
        expect([(one["name"], two["name"]) for one, two in pairs] == [("a-1.ts", "k-2.ts")] * PROMPTS, "the order", asked)
        return [two["at"] - one["at"] for one, two in pairs], early


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
        expect(re.search(r"lines of the bridge were lost", log), "the log says so", log)
        doctor = kit.jig("doctor", ok=False)
        expect("lines of the bridge were lost" in doctor.stdout, "doctor says so", doctor.stdout)
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


main([every_entry_counts_and_nothing_waits, no_prompt_is_kept, a_host_that_does_not_read_is_told_what_it_has_missed])
