"""Pi's terminal interface, driven by keys: what a reader sees of it, the panel, a dialog, a reload, a new session."""
import json
import os
import signal
import subprocess
import threading

from kit import PROGRAM, Kit, Tmux, expect, main, wait_for


class Watch:
    """`jig-session watch --json` beside it: what a reader is told, in order."""

    def __init__(self, kit):
        self.lines = []
        self.process = subprocess.Popen([str(PROGRAM), "--json", "watch"], env=kit.env, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()
        wait_for(lambda: any(line["change"] == "ready" for line in self.lines), "the first scan")

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def saw(self, check, what):
        return wait_for(lambda: next((line for line in self.lines if check(line)), None), what)

    def end(self):
        self.process.kill()
        self.process.wait()


def row(line):
    return line.get("session") if isinstance(line.get("session"), dict) else {}


def what_a_reader_sees_of_a_session():
    with Kit(extensions=("ask", "probe")) as kit:
        watch = Watch(kit)
        kit.open.append(watch)
        tui = Tmux(kit)
        status = kit.wait_status()
        tui.expect("scripted")
        added = watch.saw(lambda line: line["change"] == "added", "the session")
        expect(row(added)["session"] == status["session"] and row(added)["state"] == "idle", "added", added)

        # A tool call that a person must allow.
        tui.say("please ;; @call bash {\"command\":\"touch allowed.txt\"} ;; @then ;; @say done")
        tui.expect("Allow bash?")
        watch.saw(lambda line: row(line).get("state") == "busy", "busy")
        waits = watch.saw(lambda line: row(line).get("attention"), "attention")
        expect(row(waits)["attention"]["reason"] == "approval" and row(waits)["state"] == "busy", "an approval, still busy", waits)
        mark = len(watch.lines)
        tui.keys("Enter")
        wait_for(lambda: any(row(line).get("state") == "idle" and not row(line).get("attention") for line in watch.lines[mark:]), "idle again")
        call = kit.wait_status(lambda s: s["state"] == "idle")["recent"][0]
        expect((call["tool"], call["decision"], call["outcome"]) == ("bash", "ask", "ok"), "the call", call)
        expect((kit.project / "allowed.txt").exists(), "it ran")

        # A tool off, then a reload while a prompt is half typed.
        tui.type("half-typed prompt")
        done = kit.jig("request", status["session"], "--tool", "bash=off", "--reload")
        expect(done.stdout == "tools: bash off; reload when idle\n", "the request", done.stdout)
        wait_for(lambda: kit.events("session_start")[-1]["payload"]["reason"] == "reload", "the reload")
        kit.wait_status(lambda s: s["lastRequest"].get("reload") == "done" and s["tools"]["active"] == 3, "bash is off")
        watch.saw(lambda line: "tools" in line.get("fields", []), "the switch")
        # The answer and the reload may be one look.
        watch.saw(lambda line: "lastRequest" in line.get("fields", []), "the answer")
        tui.expect("half-typed prompt")
        tui.keys("C-u")
        tui.expect_not("half-typed prompt")
        tui.say("next @say fine")
        wait_for(lambda: "next" in kit.model_requests()[-1]["last"], "the next prompt")
        expect("bash" not in kit.model_requests()[-1]["tools"], "not offered", kit.model_requests()[-1]["tools"])

        # Another session in the same Pi.
        kit.wait_status(lambda s: s["state"] == "idle")
        tui.say("/new")
        second = kit.wait_status(lambda s: s["session"] != status["session"], "the new session")
        watch.saw(lambda line: line["change"] == "removed" and line["session"]["session"] == status["session"], "the old one's end")
        watch.saw(lambda line: line["change"] == "added" and row(line)["session"] == second["session"], "the new one")
        expect(len(kit.status_files()) == 1, "one file", kit.status_files())
        tui.keys("C-d")
        tui.expect("pi ended")
        gone = watch.saw(lambda line: line["change"] == "removed" and line["session"]["session"] == second["session"], "its end")
        expect(gone["why"] in ("ended", "gone"), "why", gone)


def commands_and_the_panel():
    with Kit() as kit:
        tui = Tmux(kit)
        kit.wait_status()
        tui.expect("scripted")
        tui.say("hello @say hi")
        kit.wait_status(lambda s: s["state"] == "idle" and s["contextDetail"], "the first answer")
        tui.say("/session-file")
        tui.expect("state/sessions/")
        tui.say("/context")
        tui.expect("of 100.0k tokens")
        tui.expect("q closes")
        # The panel is ours: nobody has to be called for it.
        expect("attention" not in kit.status(), "our own panel", kit.status())
        tui.keys("Down", "Down")
        # Narrower than any line: Pi would end on a line that is too wide.
        tui.tmux("resize-window", "-x", "34", "-y", "24")
        wait_for(lambda: kit.status() and "q closes" in tui.screen(), "the narrow panel")
        tui.keys("q")
        tui.expect_not("q closes")
        tui.tmux("resize-window", "-x", "100", "-y", "30")
        tui.say("/context")
        tui.expect("q closes")
        tui.keys("C-c")
        tui.expect_not("q closes")
        tui.say("still there @say yes")
        wait_for(lambda: "still there" in kit.model_requests()[-1]["last"], "Pi goes on")


def the_board_in_a_panel():
    """`/sessions` is the board: the same keys, in Pi's own terminal."""
    with Kit() as kit:
        tui = Tmux(kit)
        session = kit.wait_status()["session"]
        tui.expect("scripted")
        tui.say("hello @say hi")
        kit.wait_status(lambda s: s["state"] == "idle" and s["contextDetail"], "the first answer")
        tui.say("/sessions")
        tui.expect("[Sessions]")
        tui.expect("1 session")
        expect("attention" not in kit.status(), "our own panel", kit.status())
        tui.keys("?")
        tui.expect("Everywhere")
        tui.keys("Escape")
        tui.expect_not("Everywhere")
        tui.keys("Enter")
        tui.expect("[Work]")
        for section in ("Context", "Requests", "Evidence"):
            tui.keys("Tab")
            tui.expect(f"[{section}]")
        tui.keys("Escape")
        tui.expect_not("[Evidence]")
        tui.keys("2")
        tui.expect("[Inbox]")
        tui.keys("3")
        tui.expect("[Claims]")
        tui.keys("1", "/")
        tui.tmux("send-keys", "-l", "nothing-is-called-so")
        tui.expect("none of 1 session")
        tui.keys("Escape")
        tui.expect_not("nothing-is-called-so")
        # Narrower than any line: Pi would end on a line that is too wide.
        tui.tmux("resize-window", "-x", "34", "-y", "20")
        tui.expect("[Sessions]")
        tui.tmux("resize-window", "-x", "100", "-y", "30")
        tui.keys("q")
        tui.expect_not("[Sessions]")
        tui.say("still there @say yes")
        wait_for(lambda: "still there" in kit.model_requests()[-1]["last"], "Pi goes on")
        expect(kit.status()["session"] == session, "the same session", kit.status())


def a_panel_closes_when_the_host_dies():
    with Kit() as kit:
        tui = Tmux(kit)
        kit.wait_status()
        tui.expect("scripted")
        tui.say("/context")
        tui.expect("q closes")
        pid = tui.tmux("list-panes", "-F", "#{pane_pid}").strip()
        children = subprocess.run(["ps", "-e", "-o", "pid,ppid,args"], text=True, capture_output=True, check=True).stdout
        rows = [line.split(None, 2) for line in children.splitlines()[1:]]
        pi = next(row[0] for row in rows if row[1] == pid)
        host = next(row[0] for row in rows if row[1] == pi and row[2].startswith(f"{PROGRAM} host"))
        os.kill(int(host), signal.SIGKILL)
        tui.expect_not("q closes")
        tui.say("on we go @say yes")
        wait_for(lambda: any("on we go" in request["last"] for request in kit.model_requests()), "Pi goes on")


main([what_a_reader_sees_of_a_session, commands_and_the_panel, the_board_in_a_panel, a_panel_closes_when_the_host_dies])
