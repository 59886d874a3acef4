"""Which Pi is another session's child and writes nothing, and which only looks like one."""
import json
import shutil
import subprocess

from kit import Kit, Rpc, expect, main, quote, wait_for

MARKERS = ("PI_SUBAGENT_RUN_ID", "PI_SUBAGENT_CHILD_AGENT", "PI_SUBAGENT_CHILD_INDEX", "PI_CREW_WORKER")


def bash(command):
    return "@call bash " + json.dumps({"command": command}) + "\n@then\n@say end"


def starts(kit):
    return len(kit.events("session_start"))


def a_pi_that_the_bash_tool_starts_writes_nothing():
    with Kit() as kit:
        kit.env["TMUX_PANE"] = "%7"
        pi = Rpc(kit)
        session = pi.session()
        kit.wait_status()
        child = " ".join(quote(part) for part in kit.command("-p", "--no-session", "nested\n@sleep 1500\n@say child"))
        begin = len(pi.lines)
        pi.send("prompt", message=bash(child))
        wait_for(lambda: starts(kit) == 2, "the child's start")
        wait_for(lambda: any("nested" in request["last"] for request in kit.model_requests()), "the child at work")
        expect([status["session"] for status in kit.statuses()] == [session], "the parent alone", kit.statuses())
        pi.settled(begin)
        expect([status["session"] for status in kit.statuses()] == [session], "the parent's file is left alone", kit.statuses())
        expect("child" in kit.model_requests()[-1]["last"], "the child's own run is as ever", kit.model_requests()[-1]["last"])


def a_marked_pi_writes_nothing():
    with Kit() as kit:
        for marker in MARKERS:
            pi = Rpc(kit, env={marker: "1"})
            pi.prompt("@say marked")
            expect(kit.status_files() == [], marker, kit.status_files())
            names = [item["name"] for item in pi.send("get_commands")["data"]["commands"]]
            expect("session-file" not in names, "no command of ours", names)
            expect(pi.close() == 0, "the end")


def a_pi_in_a_pane_that_the_parent_opened_is_no_child():
    with Kit() as kit:
        pi = Rpc(kit)
        session = pi.session()
        kit.wait_status()
        socket = kit.work / "panes.sock"
        other = " ".join(quote(part) for part in kit.command("--mode", "rpc"))
        # The pane holds the parent's environment, PI_SESSION_ID included, and none of its processes.
        pi.prompt(bash(f"tmux -S {socket} -f /dev/null new-session -d {quote('sleep 600 | ' + other)}"))
        try:
            wait_for(lambda: len(kit.statuses()) == 2, "two sessions")
            expect(session in [status["session"] for status in kit.statuses()], "both", kit.statuses())
        finally:
            pi.prompt(bash(f"tmux -S {socket} kill-server"))
        wait_for(lambda: len(kit.statuses()) == 1, "the pane's session to go")


def an_agent_below_a_dispatcher_that_publishes_is_no_child():
    """A dispatcher publishes from its own terminal and starts agents in theirs."""
    if not shutil.which("script"):
        print("SKIPPED an_agent_below_a_dispatcher_that_publishes_is_no_child: there is no script(1) to give it a terminal")
        return
    with Kit() as kit:
        socket = kit.work / "dispatch.sock"
        agent = " ".join(quote(part) for part in kit.command())
        # `script` gives the agent a terminal of its own, below the dispatcher's process.
        inner = f"script -qec {quote(agent)} /dev/null"
        publish = kit.work / "dispatcher.sh"
        publish.write_text(
            "#!/bin/sh\n"
            f"(printf '{{\"event\":\"session\",\"schema\":1,\"session\":\"dispatcher\",\"pid\":%d}}\\n' $$; sleep 600) "
            f"| jig-session publish --agent dispatcher &\n{inner}\n")
        publish.chmod(0o755)
        exports = "".join(f"export {key}={quote(value)}\n" for key, value in kit.env.items() if key.isidentifier() and key not in ("PWD", "OLDPWD", "_"))
        start = kit.work / "start.sh"
        start.write_text(f"#!/bin/sh\n{exports}cd {quote(kit.project)}\nexec {publish}\n")
        start.chmod(0o755)

        subprocess.run(["tmux", "-S", str(socket), "-f", "/dev/null", "new-session", "-d", str(start)], check=True)
        try:
            wait_for(lambda: {status["agent"]["name"] for status in kit.statuses()} == {"dispatcher", "pi"}, "both sessions")
        finally:
            subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=False)
        wait_for(lambda: not [status for status in kit.statuses() if status["agent"]["name"] == "pi"], "the agent's file to go")


main([a_pi_that_the_bash_tool_starts_writes_nothing, a_marked_pi_writes_nothing,
      a_pi_in_a_pane_that_the_parent_opened_is_no_child, an_agent_below_a_dispatcher_that_publishes_is_no_child])
