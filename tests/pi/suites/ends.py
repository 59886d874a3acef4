"""Every way Pi ends, and a host that dies: the file is gone in the first case and goes on in the second."""
import json
import os
import signal
import subprocess
import sys
import time

from kit import PROGRAM, Kit, Rpc, Tmux, expect, left, main, wait_for

def gone(kit, what, began):
    wait_for(lambda: not kit.status_files(), f"the file to go after {what}")
    print(f"   {what}: gone after {time.monotonic() - began:.2f} s")
    expect(not left(kit.state / "sessions"), f"{what}: nothing is left", left(kit.state / "sessions"))


def by_signal_and_by_end_of_input():
    with Kit() as kit:
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP"), (signal.SIGINT, "SIGINT"), (signal.SIGKILL, "SIGKILL")):
            pi = Rpc(kit)
            kit.wait_status()
            began = time.monotonic()
            pi.kill(number)
            gone(kit, name, began)
        pi = Rpc(kit)
        kit.wait_status()
        began = time.monotonic()
        expect(pi.close() == 0, "the end of RPC's input")
        gone(kit, "the end of RPC's input", began)
        # In the middle of a run.
        pi = Rpc(kit)
        kit.wait_status()
        pi.send("prompt", message="@call bash {\"command\":\"sleep 30\"}\n@then\n@say never")
        kit.wait_status(lambda s: s["recent"] and s["recent"][0]["outcome"] == "running", "the running call")
        began = time.monotonic()
        pi.kill(signal.SIGKILL)
        gone(kit, "SIGKILL in a run", began)


def by_keys_and_with_the_terminal():
    def ctrl_d(tui):
        tui.keys("C-d")
        tui.expect("pi ended")

    def ctrl_c(tui):
        tui.keys("C-c", "C-c")
        tui.expect("pi ended")

    def quit_command(tui):
        tui.say("/quit")
        tui.expect("pi ended")

    def kill_pane(tui):
        tui.tmux("kill-pane")

    def kill_server(tui):
        tui.end()

    with Kit() as kit:
        for name, end in (("Ctrl+D", ctrl_d), ("Ctrl+C twice", ctrl_c), ("/quit", quit_command), ("kill-pane", kill_pane), ("kill-server", kill_server)):
            tui = Tmux(kit)
            status = kit.wait_status()
            expect((status["terminal"], status["terminalFrom"]) == ("%0", "TMUX_PANE") and status["tmuxPane"] == "%0", "its terminal", status)
            expect(status["tmuxSocket"] == tui.socket, "its tmux", status.get("tmuxSocket"))
            tui.expect("scripted")
            began = time.monotonic()
            end(tui)
            gone(kit, name, began)
            tui.end()


def a_host_that_dies_is_started_anew():
    with Kit() as kit:
        pi = Rpc(kit)
        session = pi.session()
        pi.prompt("@call write {\"path\":\"a.txt\",\"content\":\"x\"}\n@then\n@say done")
        before = kit.wait_status(lambda s: s["state"] == "idle" and s["recent"])
        for number in (signal.SIGKILL, signal.SIGTERM):
            old = host_of(kit, pi.process)
            os.kill(old, number)
            wait_for(lambda: host_of(kit, pi.process) not in (None, old), "the next host")
            starts = kit.wait_status(lambda s: s["session"] == session)
            expect(starts["startedAt"] == before["startedAt"] and starts["recent"] == before["recent"], "it goes on", starts)
        answer = kit.ask(session, id="after", tools={"bash": False})
        expect(answer["ok"], "requests are taken again", answer)
        # One that dies while Pi works: the state is right afterwards.
        begin = len(pi.lines)
        pi.send("prompt", message="@sleep 1500\n@say slow")
        kit.wait_status(lambda s: s["state"] == "busy", "busy")
        os.kill(host_of(kit, pi.process), signal.SIGKILL)
        pi.settled(begin)
        kit.wait_status(lambda s: s["state"] == "idle", "idle after the run")
        pi.close()
        kit.wait_no_status()


def a_host_that_dies_in_a_tool_call_ends_it_with_an_error():
    """The model is told, the call after it is answered by the next host, and Pi goes on; in print mode as well."""
    calls = "@call session {\"action\":\"status\"}\n@then\n@call session {\"action\":\"status\"}\n@then\n@say went on"

    def die_in_the_call(kit, process):
        host = wait_for(lambda: host_of(kit, process), "the host")
        # It takes no line any more, so the call is certainly under way when it dies.
        os.kill(host, signal.SIGSTOP)
        yield
        wait_for(lambda: kit.events("tool_call"), "the call")
        os.kill(host, signal.SIGKILL)
        yield

    def check(kit):
        first, second = [line["payload"] for line in kit.events("tool_execution_end")]
        told = json.dumps(first["result"])
        expect(first["isError"] and "ended before it answered" in told and "may have been done" in told, "a clear error", first)
        expect(not second["isError"], "the next call is answered", second)

    with Kit() as kit:
        pi = Rpc(kit)
        kit.wait_status(lambda s: s.get("accepts"), "what it accepts")
        steps = die_in_the_call(kit, pi.process)
        next(steps)
        begin = len(pi.lines)
        pi.send("prompt", message=calls)
        next(steps)
        pi.settled(begin)
        check(kit)
        pi.prompt("@say alive")
        status = kit.wait_status(lambda s: s["state"] == "idle" and s["recent"] and s["recent"][0]["outcome"] == "ok", "the calls in the file")
        expect([call["tool"] for call in status["recent"]][:1] == ["session"], "recent", status["recent"])
        pi.close()
        kit.wait_no_status()
    with Kit() as kit:
        process = subprocess.Popen(kit.command("-p", f"work\n@sleep 3000\n{calls}"), cwd=kit.project, env=kit.env, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        steps = die_in_the_call(kit, process)
        wait_for(kit.model_requests, "the first request")
        next(steps)
        next(steps)
        out, err = process.communicate(timeout=60)
        expect((process.returncode, out, err) == (0, "went on\n", ""), "the run ends as ever", (process.returncode, out, err))
        check(kit)
        kit.wait_no_status()


def host_of(kit, process):
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            command = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
            parent = open(f"/proc/{entry}/stat").read().rpartition(")")[2].split()
        except OSError:
            continue
        if command[:2] == [str(PROGRAM).encode(), b"host"] and int(parent[1]) == process.pid and parent[0] != "Z":
            return int(entry)
    return None


def what_a_crashed_session_left_is_removed_by_the_next():
    with Kit() as kit:
        pi = Rpc(kit)
        session = pi.session()
        kit.wait_status()
        # Both at once: nobody is left to remove the file.
        host = host_of(kit, pi.process)
        os.kill(host, signal.SIGSTOP)
        pi.kill()
        os.kill(host, signal.SIGKILL)
        expect(kit.status_files() and kit.status()["session"] == session, "a leftover")
        left = kit.jig("ls", "--json").stdout
        expect(session not in left, "it is not listed", left)
        pi = Rpc(kit)
        wait_for(lambda: [s["session"] for s in kit.statuses()] not in ([], [session]) and session not in [s["session"] for s in kit.statuses()], "the sweep")


def memory_stays_small():
    with Kit() as kit:
        # A transcript of 50 MB: Pi reads it all, the host must not.
        pi = Rpc(kit)
        state = pi.send("get_state")["data"]
        pi.prompt("@say one")
        pi.prompt("@say two")
        pi.close()
        kit.wait_no_status()
        path = state["sessionFile"]
        script = """
import json, sys
path = sys.argv[1]
lines = open(path).read().splitlines()
last = json.loads(lines[-1])
parent = last["id"]
with open(path, "a") as out:
    for number in range(10000):
        user = {"type": "message", "id": f"{number * 2:08x}", "parentId": parent, "timestamp": last["timestamp"],
                "message": {"role": "user", "content": [{"type": "text", "text": "x" * 4900}], "timestamp": 1}}
        parent = user["id"]
        out.write(json.dumps(user) + "\\n")
"""
        subprocess.run([sys.executable, "-c", script, path], check=True)
        expect(os.path.getsize(path) > 49e6, "50 MB", os.path.getsize(path))
        pi = Rpc(kit, "--session", path)
        kit.wait_status(lambda s: s["session"] == state["sessionId"] and s["usage"]["input"], "the resumed session")
        host = host_of(kit, pi.process)
        values = dict(line.split(":", 1) for line in open(f"/proc/{host}/status").read().splitlines() if ":" in line)
        resident, peak = (int(values[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
        own = int(values["RssAnon"].split()[0]) / 1024
        print(f"   resident {resident:.1f} MB, at most {peak:.1f} MB, its own {own:.1f} MB")
        # What is mapped of the program itself depends on the build; its own memory does not grow with the transcript.
        expect(own < 6, "memory", (own, resident, peak))


main([by_signal_and_by_end_of_input, by_keys_and_with_the_terminal, a_host_that_dies_is_started_anew,
      a_host_that_dies_in_a_tool_call_ends_it_with_an_error, what_a_crashed_session_left_is_removed_by_the_next, memory_stays_small])
