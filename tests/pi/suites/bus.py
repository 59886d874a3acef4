"""The session bus inside Pi: the tool, the names, notices and waking, the guard, the panel, the end."""
import json
import subprocess

from kit import PROGRAM, Kit, Rpc, Tmux, expect, main, read_lines, wait_for


def repository(kit):
    subprocess.run(["git", "init", "-q", str(kit.project)], check=True, env=kit.env)
    (kit.project / "src").mkdir()


def members(kit):
    status = json.loads(kit.jig("bus", "status", "--json").stdout)
    return {member["label"]: member for member in status["members"]}


def results(pi, start=0):
    """What the tool `session` answered, from the index START of the lines on."""
    found = []
    for line in pi.lines[start:]:
        if line.get("type") == "tool_execution_end" and line.get("toolName") == "session":
            found.append(line["result"])
    return found


def act(pi, **parameters):
    """Has the model call the tool once; gives the result document and the line for people."""
    start = len(pi.lines)
    pi.prompt(f"@call session {json.dumps(parameters)}\n@then\n@say done")
    found = results(pi, start)
    expect(len(found) == 1, "one call", found)
    return found[0]["details"]["result"], found[0]["details"]["line"]


def peer(kit, label):
    """A member that is no Pi: a sleeping process stands for it."""
    process = subprocess.Popen(["sleep", "600"])
    kit.jig("bus", "join", label, "--id", f"s-{label}", "--pid", str(process.pid))
    return process


def texts_sent(kit, start):
    """Everything that the model was given since its request number START."""
    return [json.dumps(request["body"]["messages"]) for request in kit.model_requests()[start:]]


def two_sessions_work_in_one_repository():
    with Kit() as kit:
        repository(kit)
        core, web = Rpc(kit), Rpc(kit)
        core.session(), web.session()
        wait_for(lambda: len(kit.statuses()) == 2, "two status files")
        expect(members(kit) == {}, "nobody joins by starting", members(kit))

        joined, line = act(core, action="join", label="billing core")
        expect(joined["ok"] and joined["label"] == "billing-core", "the join", joined)
        expect("\n" not in line and "billing-core" in line, "one line", line)
        wait_for(lambda: "billing-core" in [status.get("name") for status in kit.statuses()], "Pi's own name")
        refused, _ = act(web, action="join", label="BILLING-CORE")
        expect(not refused["ok"] and refused["code"] == "label-held", "the same label", refused)
        expect("BILLING-CORE" not in [status.get("name") for status in kit.statuses()], "a refusal renames nothing")
        act(web, action="join", label="web", wake=True, guard=True)

        claimed, _ = act(core, action="claim", paths=["src/api/"], reason="contract v2")
        expect(claimed["claimed"] == ["src/api"], "the claim", claimed)
        conflict, line = act(web, action="claim", paths=["src/api/routes.ts"])
        expect(conflict["code"] == "conflict" and conflict["conflicts"][0]["label"] == "billing-core", "the conflict", conflict)

        target = kit.project / "src" / "api" / "routes.ts"
        start = len(web.lines)
        web.prompt(f"@call write {json.dumps({'path': str(target), 'content': 'mine'})}\n@then\n@say tried")
        blocked = [item for item in web.lines[start:] if item.get("type") == "tool_execution_end"]
        expect(blocked and blocked[0]["isError"], "the write is denied", blocked)
        expect("is held by billing-core" in json.dumps(blocked[0]["result"]), "the reason", blocked)
        expect(not target.exists(), "the file is unchanged")
        core.prompt(f"@call write {json.dumps({'path': str(target), 'content': 'ours'})}\n@then\n@say done")
        expect(target.read_text() == "ours", "a session never blocks itself")

        requests, lines = len(kit.model_requests()), len(web.lines)
        sent, _ = act(core, action="send", to="web", kind="handoff", text="take over src/api: plan in PLAN.md")
        expect(sent["recipients"][0]["queued"] and sent["recipients"][0]["listen"] == "wake", "the handoff", sent)
        web.settled(lines)
        woken = [text for text in texts_sent(kit, requests) if "1 handoff" in text]
        expect(woken and "billing-core: take over src/api" in woken[0], "the turn that mail raised", woken)
        expect("The work is yours" in woken[0], "what a handoff says", woken)
        mail, _ = act(web, action="inbox")
        expect(mail["messages"][0]["text"].startswith("take over") and mail["remaining"] == 0, "the mail", mail)

        released, _ = act(core, action="release")
        expect(released["released"] == ["src/api"], "released", released)
        claimed, _ = act(web, action="claim", paths=["src/api/routes.ts"])
        expect(claimed["ok"], "free now", claimed)
        core.close()
        wait_for(lambda: "billing-core" not in members(kit), "the membership to end with the session")
        expect(members(kit)["web"]["claims"] == 1, "the other one stays", members(kit))
        web.close()
        wait_for(lambda: members(kit) == {}, "an empty bus")


def mail_is_told_at_the_next_turn_and_its_notice_goes_once_it_is_read():
    with Kit() as kit:
        repository(kit)
        other = peer(kit, "other")
        try:
            pi = Rpc(kit)
            act(pi, action="join", label="core")
            mark = "Read with: session inbox"

            def notices(text):
                # The scripted model answers what it was told last with its beginning, which is no notice.
                return text.replace(f"echo: 1 message\\n{mark}", "").count(mark)

            kit.jig("bus", "--as", "other", "send", "core", "the port is 8080, and this line goes on for more than sixty")
            start = len(kit.model_requests())
            pi.prompt("hello")
            told = texts_sent(kit, start)
            expect("other: the port is 8080" in told[0] and mark in told[0], "the notice", told[0][-900:])
            start = len(kit.model_requests())
            pi.prompt('@call session {"action":"inbox"}\n@then\n@say read')
            first, *later = texts_sent(kit, start)
            expect(notices(first) == 1, "unread mail keeps its notice, and is told once", first[-900:])
            expect(later and all(notices(text) == 0 for text in later), "the notice goes with its mail", later)

            # Read outside Pi, its notice leaves as well.
            kit.jig("bus", "--as", "other", "send", "core", "another line that goes on for more than sixty letters or so")
            start = len(kit.model_requests())
            pi.prompt("hello again")
            expect(notices(texts_sent(kit, start)[0]) == 1, "the second notice")
            kit.jig("bus", "--as", "core", "inbox")
            start = len(kit.model_requests())
            pi.prompt("@say at last")
            expect(notices(texts_sent(kit, start)[0]) == 0, "gone with its mail")
            pi.close()
        finally:
            other.kill()
            other.wait()


def mail_of_this_moment_is_told_although_nothing_was_there_before():
    with Kit() as kit:
        repository(kit)
        log = kit.work / "host.jsonl"
        kit.env["JIG_SESSION_HOST"] = json.dumps(["sh", "-c", f'"{PROGRAM}" host | tee "{log}"'])
        other = peer(kit, "other")
        try:
            pi = Rpc(kit)
            act(pi, action="join", label="core")
            quiet = lambda: [line["files"] for line in read_lines(log) if line.get("op") == "quiet"][-1:]
            wait_for(lambda: [files and len(files) for files in quiet()] == [2], "prompts that need not be asked about")
            pi.prompt("@say nothing new")
            kit.jig("bus", "--as", "other", "send", "core", "of this moment")
            start = len(kit.model_requests())
            pi.prompt("hello")
            expect("other: of this moment" in texts_sent(kit, start)[0], "the notice", texts_sent(kit, start)[0][-900:])
            pi.close()
        finally:
            other.kill()
            other.wait()


def a_reload_keeps_the_membership_and_a_new_session_does_not():
    with Kit() as kit:
        repository(kit)
        pi = Rpc(kit)
        session = pi.session()
        kit.wait_status()
        act(pi, action="join", label="core", wake=True)
        act(pi, action="claim", paths=["src"])
        starts = len(kit.events("session_start"))
        kit.ask(session, id="reload-1", reload=True)
        wait_for(lambda: len(kit.events("session_start")) > starts, "the reload")
        kit.wait_status(lambda status: status["lastRequest"].get("reload") == "done", "the reload marked as done")
        core = members(kit)["core"]
        expect(core["claims"] == 1 and core["listen"] == "wake" and core["state"] == "live", "after the reload", core)
        pi.send("new_session")
        wait_for(lambda: members(kit) == {}, "the membership to end with its session")
        pi.close()


def the_commands_list_and_join():
    with Kit() as kit:
        repository(kit)
        pi = Rpc(kit)
        kit.wait_status()
        start = len(pi.lines)
        pi.send("prompt", message="/team join crew")
        wait_for(lambda: "crew" in members(kit), "the join by command")
        wait_for(lambda: kit.status() and kit.status().get("name") == "crew", "Pi's own name")
        pi.send("prompt", message="/sessions")
        said = pi.wait(lambda line: line.get("type") == "extension_ui_request" and "you are crew" in json.dumps(line), start=start)
        expect("crew" in json.dumps(said), "the listing", said)
        pi.close()


def the_panel_shows_three_scopes_and_asks_before_a_release():
    with Kit() as kit:
        repository(kit)
        other = peer(kit, "other")
        try:
            pi = Tmux(kit)
            kit.wait_status()
            pi.say("/team join crew")
            wait_for(lambda: "crew" in members(kit), "the join by command")
            kit.jig("bus", "--as", "crew", "claim", "src")
            kit.jig("bus", "--as", "other", "claim", "docs")
            kit.jig("bus", "--as", "other", "send", "crew", "hello from the other side")
            pi.say("/sessions")
            pi.expect("[Sessions]")
            pi.expect("other")
            pi.keys("Tab")
            pi.expect("[Inbox")
            pi.expect("hello from the other side")
            pi.keys("Tab")
            pi.expect("[Claims]")
            pi.expect("> docs")
            pi.keys("x")
            pi.expect("only its holder releases it")
            pi.keys("j")
            pi.expect("> src")
            pi.keys("x")
            pi.expect("release src? y/N")
            pi.keys("n")
            pi.expect_not("release src? y/N")
            expect(members(kit)["crew"]["claims"] == 1, "n keeps the claim")
            pi.keys("x")
            pi.expect("release src? y/N")
            pi.keys("y")
            wait_for(lambda: members(kit)["crew"]["claims"] == 0, "the release")
            pi.keys("q")
            pi.expect_not("[Claims]")
            expect(members(kit)["crew"]["unread"] == 1, "looking reads no mail")
        finally:
            other.kill()
            other.wait()


main([
    two_sessions_work_in_one_repository,
    mail_is_told_at_the_next_turn_and_its_notice_goes_once_it_is_read,
    mail_of_this_moment_is_told_although_nothing_was_there_before,
    a_reload_keeps_the_membership_and_a_new_session_does_not,
    the_commands_list_and_join,
    the_panel_shows_three_scopes_and_asks_before_a_release,
])
