"""What Pi does besides turns is told: compactions, commands of the user's, dialogs wherever they are opened."""
import json
import os
import signal

from kit import Kit, Tmux, expect, main


def of(status):
    return status["state"], (status.get("attention") or {}).get("reason")


def wait(kit, state, reason, what):
    return kit.wait_status(lambda status: of(status) == (state, reason), what)


def a_compaction_is_work_however_it_ends():
    with Kit() as kit:
        settings = json.loads((kit.agent / "settings.json").read_text())
        settings["compaction"] = {"enabled": True, "reserveTokens": 1000, "keepRecentTokens": 10}
        (kit.agent / "settings.json").write_text(json.dumps(settings))
        tui = Tmux(kit)
        wait(kit, "idle", None, "a session")
        for number in range(3):
            tui.say(f"hello {number} @say answer {number}")
            tui.expect(f"answer {number}")
        wait(kit, "idle", None, "the end of the runs")
        os.kill(kit.model.pid, signal.SIGSTOP)
        tui.say("/compact")
        wait(kit, "busy", None, "a compaction is work")
        expect(kit.jig("wait", kit.status()["session"], "--for", "settled", "--timeout", "1", ok=False).returncode == 124, "not settled")
        tui.keys("Escape")
        wait(kit, "idle", None, "one that was broken off has ended")
        os.kill(kit.model.pid, signal.SIGCONT)
        tui.say("/compact")
        kit.wait_status(lambda status: status["state"] == "idle" and status["context"]["tokens"] is None, "one that is done has ended")
        tui.say("after @say yes again")
        tui.expect("yes again")
        wait(kit, "idle", None, "the run after it")


def a_command_of_the_users_is_work():
    with Kit() as kit:
        tui = Tmux(kit)
        wait(kit, "idle", None, "a session")
        tui.say(f"!while [ ! -e {kit.work}/go ]; do sleep 0.05; done; echo over-and-out")
        wait(kit, "busy", None, "it runs")
        (kit.work / "go").touch()
        wait(kit, "idle", None, "it has ended")
        tui.say("!!sleep 600")
        wait(kit, "busy", None, "one that the model is not told of")
        tui.keys("Escape")
        wait(kit, "idle", None, "it was broken off")


def a_dialog_is_attention_wherever_it_is_opened():
    with Kit(extensions=("dialogs",)) as kit:
        tui = Tmux(kit)
        wait(kit, "idle", None, "a session")
        for text, shows in [("/pick", "Which one?"), ("/colour", "which colour")]:
            tui.say(text)
            tui.expect(shows)
            wait(kit, "idle", "question", f"{text} asks")
            rows = json.loads(kit.jig("ls", "--json").stdout)["sessions"]
            expect(rows[0]["attention"]["reason"] == "question", "ls says so", rows)
            tui.keys("Escape")
            wait(kit, "idle", None, f"{text} is answered")
        tui.say("/loader")
        tui.expect("loading things")
        wait(kit, "busy", None, "a component that waits for nobody is work")
        tui.keys("Escape")
        wait(kit, "idle", None, "the component has gone")
        tui.say("sure @say then go")
        tui.expect("Are you sure?")
        wait(kit, "idle", "question", "an input handler asks, before any turn")
        tui.keys("Enter")
        tui.expect("then go")
        wait(kit, "idle", None, "the run has ended")


def a_session_that_asks_at_its_start_has_its_row():
    with Kit(extensions=("dialogs",)) as kit:
        tui = Tmux(kit, env={"ASK_AT_START": "1"})
        tui.expect("Trust it?")
        wait(kit, "idle", "question", "its row says that it asks")
        tui.keys("Enter")
        wait(kit, "idle", None, "it was answered")
        tui.say("hello @say good day")
        tui.expect("good day")
        kit.wait_status(lambda status: status["usage"]["input"], "the session goes on")
        expect(len(kit.status_files()) == 1, "one file", kit.status_files())


main([a_compaction_is_work_however_it_ends, a_command_of_the_users_is_work, a_dialog_is_attention_wherever_it_is_opened,
      a_session_that_asks_at_its_start_has_its_row])
