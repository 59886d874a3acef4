"""Print, JSON and RPC mode; hosts that are missing, silent, rubbish or dying; the ways to switch the bridge off."""
import json
import os
import shutil
import subprocess

from kit import NODE, PI, PROGRAM, ROOT, Kit, Rpc, expect, lives, main, read_lines, wait_for

BRIDGE = ROOT.parent.parent / "crates" / "jig-session-host" / "assets" / "index.ts"


def watched(kit, *args):
    """A run of Pi to its end, and the status as it was while the model answered."""
    process = subprocess.Popen(kit.command(*args), cwd=kit.project, env=kit.env, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = []

    def look():
        seen.extend(status for status in kit.statuses() if status["state"] == "busy")
        return process.poll() is not None or seen
    wait_for(look, "the run")
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err, seen


def print_mode():
    with Kit() as kit:
        code, out, err, seen = watched(kit, "-p", "work\n@sleep 700\n@call write {\"path\":\"a.txt\",\"content\":\"x\"}\n@then\n@say done")
        expect((code, out) == (0, "done\n"), "the run is as without us", (code, out, err))
        expect(seen, "a print run publishes")
        expect(kit.status_files() == [], "its file goes", kit.status_files())


def json_mode():
    with Kit() as kit:
        code, out, err, seen = watched(kit, "--mode", "json", "-p", "work\n@say fine\n@sleep 700")
        lines = [json.loads(line) for line in out.splitlines()]
        expect(code == 0 and lines[0]["type"] == "session", "one JSON object a line", (code, out[:300], err))
        expect(seen and seen[0]["session"] == lines[0]["id"], "a JSON run publishes")
        expect(kit.status_files() == [], "its file goes")


def a_session_without_a_file_publishes():
    with Kit() as kit:
        code, out, _err, seen = watched(kit, "--no-session", "-p", "hello\n@sleep 700\n@say fine")
        expect((code, out) == (0, "fine\n") and seen, "a session that Pi does not store", (code, out))
        expect("transcript" not in seen[0], "it has no transcript", seen[0])


def session_file_is_told_where_notify_is_silent():
    with Kit() as kit:
        done = kit.run("-p", "/session-file")
        expect(done.returncode == 0 and str(kit.state / "sessions") in done.stdout and done.stderr == "", "print", (done.stdout, done.stderr))
        done = kit.run("--mode", "json", "-p", "/session-file")
        expect(done.returncode == 0, "json", done.stderr)
        for line in done.stdout.splitlines():
            json.loads(line)
        expect(str(kit.state / "sessions") in done.stdout, "json", (done.stdout, done.stderr))
    with Kit() as kit:
        pi = Rpc(kit, env={"HC_TERMINAL_ID": "t7"})
        kit.wait_status(lambda status: (status["terminal"], status["terminalFrom"]) == ("t7", "HC_TERMINAL_ID"), "the terminal")
        pi.send("prompt", message="/session-file")
        line = pi.wait(lambda line: line.get("type") == "extension_ui_request" and "sessions" in str(line))
        expect("t7" in str(line) and "HC_TERMINAL_ID" in str(line), "the terminal and the variable", line)


def a_host_that_fails_does_not_hurt_the_run():
    commands = {
        "missing": "/nonexistent/jig-session",
        "silent": json.dumps(["sleep", "1000"]),
        "ending at once": json.dumps(["true"]),
        "rubbish": json.dumps(["sh", "-c", "yes rubbish | head -c 3000000; cat > /dev/null"]),
        "not a list": "[",
    }
    with Kit() as kit:
        for name, command in commands.items():
            kit.env["JIG_SESSION_HOST"] = command
            done = kit.run("-p", "hello @say fine")
            expect(done.returncode == 0 and "hello" in done.stdout, name, (done.returncode, done.stdout, done.stderr))
            expect(done.stderr == "", f"{name}: silent", done.stderr)
            expect(kit.status_files() == [], name)


def a_host_of_another_protocol_is_answered_with_nothing():
    hello = {"t": "hello", "protocol": 99, "reason": "startup", "pid": os.getpid(), "cwd": "/", "mode": "rpc", "session": "s-1",
             "file": None, "active": [], "tools": [], "skills": []}
    command = {"t": "command", "id": "c1", "name": "context"}
    with Kit(install=False) as kit:
        lines = "".join(json.dumps(line) + "\n" for line in (hello, {"t": "event", "event": "agent_start", "data": {}}, command))
        done = subprocess.run([str(PROGRAM), "host"], env=kit.env, input=lines, text=True, capture_output=True, timeout=60)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        expect([line["op"] for line in answers] == ["ready", "call", "done"], "ready, and a word to who asks", answers)
        expect("shows nothing" in str(answers[1]["args"]), "which says why", answers[1])
        expect(not answers[0].get("tools") and not answers[0].get("commands"), "empty", answers)
        expect(kit.status_files() == [], "no file")
        log = read_lines(kit.state / "log" / "jig-session.log")
        expect(any("99" in line["message"] for line in log), "it is logged", log)


def a_pi_that_waits_for_a_person_does_not_wait_for_the_host():
    with Kit() as kit:
        installed = kit.agent / "extensions" / "jig-session" / "index.ts"
        silent = kit.work / "silent.sh"
        silent.write_text("#!/bin/sh\nexec sleep 1000\n")
        silent.chmod(0o755)
        text = installed.read_text()
        expect(str(PROGRAM) in text, "the program it was installed for", text[:2000])
        installed.write_text(text.replace(str(PROGRAM), str(silent)))
        pi = Rpc(kit)
        names = {item["name"] for item in pi.send("get_commands")["data"]["commands"]}
        expect({"context", "session-file", "session-reload", "sessions", "team"} <= names, "known without its answer", names)
        # It is waited for no longer than a host that is asked at the start.
        pi.prompt("@say fine")
        expect(kit.status_files() == [], "no file")
        pi.end()


def what_comes_at_once_finds_the_host():
    with Kit() as kit:
        pi = Rpc(kit)
        pi.prompt("@call read {\"path\":\"AGENTS.md\"}\n@then\n@say fine")
        first = kit.model_requests()[0]
        expect("session" in first["tools"], "the tool is there at the first request", first["tools"])
        pi.prompt("@say again")
        systems = [request["system"] for request in kit.model_requests()]
        expect("share a bus" in systems[0] and len(set(systems)) == 1, "and what the model is told of it", systems)
        kit.wait_status(lambda status: [call["outcome"] for call in status["recent"]] == ["ok"] and status["state"] == "idle", "the whole run")
        pi.close()
        pi = Rpc(kit)
        pi.send("prompt", message="/session-file")
        pi.wait(lambda line: line.get("type") == "extension_ui_request" and "sessions" in str(line))
        pi.close()
        # One that is left before its host was started leaves nothing.
        pi = Rpc(kit)
        expect(pi.close() == 0, "the end")
        kit.wait_no_status()


def which_program_is_run():
    with Kit() as kit:
        installed = kit.agent / "extensions" / "jig-session" / "index.ts"
        text = installed.read_text()
        # Installed for a program that is gone: the one on the PATH is run.
        installed.write_text(text.replace(str(PROGRAM), "/nonexistent/jig-session"))
        expect("/nonexistent/jig-session" in installed.read_text(), "the program's path stands in the bridge")
        _code, _out, _err, seen = watched(kit, "-p", "one\n@sleep 700")
        expect(seen, "the PATH")
        # Neither: nothing happens.
        kit.env["PATH"] = "/usr/bin:/bin"
        done = kit.run("-p", "hello @say fine")
        expect(done.returncode == 0 and done.stderr == "", "no program", done.stderr)
        expect(kit.status_files() == [], "no file")


def switched_off():
    with Kit() as kit:
        kit.env["PI_DISABLED_EXTENSIONS"] = "other, jig-session"
        pi = Rpc(kit)
        names = [item["name"] for item in pi.send("get_commands")["data"]["commands"]]
        expect(not {"session-file", "context", "session-reload"} & set(names), "no command", names)
        expect(kit.status_files() == [], "no file")
        pi.close()
    with Kit() as kit:
        kit.env["PI_DISABLED_EXTENSIONS"] = "session-bus"
        pi = Rpc(kit)
        kit.wait_status()
        names = [item["name"] for item in pi.send("get_commands")["data"]["commands"]]
        expect({"session-file", "context", "session-reload"} <= set(names) and "sessions" not in names, "all but the bus", names)
        pi.prompt("@say tools")
        expect("session" not in kit.model_requests()[-1]["tools"], "no tool", kit.model_requests()[-1]["tools"])


def a_pi_without_a_session_leaves_nothing():
    with Kit() as kit:
        log = kit.work / "hosts"
        kit.env["JIG_SESSION_HOST"] = json.dumps(["sh", "-c", f'echo $$ >> "{log}"; exec "{PROGRAM}" host'])
        for args in (["--help"], ["--list-models"]):
            done = kit.run(*args)
            expect(done.returncode == 0 and done.stderr == "", args, (done.returncode, done.stderr))
        hosts = log.read_text().split() if log.exists() else []
        wait_for(lambda: not any(lives(pid) for pid in hosts), "the hosts to be gone")
        expect(kit.status_files() == [], "no file", kit.status_files())


def loaded_twice_it_works_once():
    with Kit() as kit:
        kit.extensions.append(str(BRIDGE))
        pi = Rpc(kit)
        kit.wait_status()
        names = [item["name"] for item in pi.send("get_commands")["data"]["commands"]]
        expect("session-file" in names and not [name for name in names if name.startswith("session-file:")], "not renamed", names)
        expect(len(kit.status_files()) == 1, "one file", kit.status_files())
        expect(pi.close() == 0, "the end")
        kit.wait_no_status()


def a_working_folder_that_was_removed():
    with Kit() as kit:
        gone = kit.work / "gone"

        def run(env):
            gone.mkdir()
            script = f"cd {gone} && rmdir {gone} && exec \"$@\""
            return subprocess.run(["sh", "-c", script, "sh", *kit.command("-p", "hello @say fine")], env=env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        without = run({**kit.env, "PI_DISABLED_EXTENSIONS": "jig-session"})
        done = run(kit.env)
        expect((done.returncode, done.stdout) == (without.returncode, without.stdout), "as without the bridge", (done, without))
        expect(kit.status_files() == [], "no file is left")


def a_run_that_ends_in_the_middle_of_an_answer_is_not_cut():
    # The host takes a moment to answer a prompt's question; nothing else keeps Node alive in print mode.
    with Kit() as kit:
        slow = kit.work / "slow.sh"
        slow.write_text(f"#!/bin/sh\n{PROGRAM} host | while IFS= read -r line; do sleep 0.1; printf '%s\\n' \"$line\"; done\n")
        slow.chmod(0o755)
        kit.env["JIG_SESSION_HOST"] = str(slow)
        done = kit.run("-p", "hello @say fine")
        expect((done.returncode, done.stderr) == (0, "") and "hello" in done.stdout, "exit 0 with its output", done)


def a_tool_of_the_host_is_answered_in_print_mode():
    # Node ends with exit code 13 when nothing keeps its loop alive while an answer is waited for.
    with Kit() as kit:
        done = kit.run("-p", "status\n@call session {\"action\":\"status\"}\n@then\n@say done")
        expect((done.returncode, done.stdout) == (0, "done\n"), "the run", done)
        expect("session" in kit.model_requests()[0]["tools"], "the tool is there at the first request", kit.model_requests()[0]["tools"])
        expect(kit.model_requests()[1]["roles"][-1] == "tool", "the tool was answered", kit.model_requests()[1]["roles"])


def the_bridge_fits_pis_own_declarations():
    compiler = PI / "node_modules" / "typescript" / "bin" / "tsc"
    if not compiler.exists():
        print("SKIPPED the_bridge_fits_pis_own_declarations: this lock file has no TypeScript")
        return
    folder = PI / "type-check"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(BRIDGE, folder / "index.ts")
    done = subprocess.run([str(NODE), str(compiler), "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext",
                           "--moduleResolution", "nodenext", "--target", "es2023", "--allowImportingTsExtensions",
                           "--types", "node", "index.ts"], cwd=folder, text=True, capture_output=True, timeout=300)
    expect(done.returncode == 0, "the type check", done.stdout + done.stderr)


def the_bridge_listens_to_nothing_that_makes_pi_work():
    # A listener for one of these makes Pi build the whole context, or write out each of a message's pieces.
    costly = ("turn_end", "agent_before_settle", "message_update", "before_provider_request", "provider_stream_event")
    text = BRIDGE.read_text()
    events = text.partition("const EVENTS")[2].partition("\n};")[0]
    expect("message_end: [" in events, "the table is found", events[:200])
    found = [name for name in costly if f"\n  {name}:" in events or f'on("{name}"' in text]
    expect(not found, "no such listener", found)


def the_bridge_imports_nothing_that_can_be_missing():
    imports = [line for line in BRIDGE.read_text().splitlines() if line.startswith("import ")]
    real = [line for line in imports if not line.startswith("import type ")]
    expect(real and all("\"node:" in line for line in real), "only Node's own modules", real)


main([print_mode, json_mode, a_session_without_a_file_publishes, session_file_is_told_where_notify_is_silent,
      a_host_that_fails_does_not_hurt_the_run, a_pi_that_waits_for_a_person_does_not_wait_for_the_host,
      what_comes_at_once_finds_the_host, a_host_of_another_protocol_is_answered_with_nothing, which_program_is_run,
      switched_off, a_pi_without_a_session_leaves_nothing, loaded_twice_it_works_once, a_working_folder_that_was_removed,
      a_run_that_ends_in_the_middle_of_an_answer_is_not_cut, a_tool_of_the_host_is_answered_in_print_mode,
      the_bridge_fits_pis_own_declarations, the_bridge_listens_to_nothing_that_makes_pi_work,
      the_bridge_imports_nothing_that_can_be_missing])
