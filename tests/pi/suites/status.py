"""Every field of the status file, live: calls, decisions, files, tokens, context, ticket, sessions one after another."""
import json
import re

from kit import Kit, Rpc, expect, main

TOUR = ("Write, edit, read and run.\n@think Let me see.\n@say I will write a file.\n"
        "@call write {\"path\":\"notes/plan.md\",\"content\":\"one secretcontent\\ntwo\\n\"}\n@usage 1000 50 0\n@then\n"
        "@call edit {\"path\":\"notes/plan.md\",\"edits\":[{\"oldText\":\"two\",\"newText\":\"TWO\"}]}\n"
        "@call bash {\"command\":\"echo secretcommand\"}\n@usage 1200 60 900\n@then\n"
        "@call read {\"path\":\"notes/plan.md\"}\n@call bash {\"command\":\"exit 3\"}\n@usage 1500 40 1100\n@then\n"
        "@say Finished secretanswer.\n@usage 1800 10 1500")
FIELDS = {
    "schema", "session", "pid", "cwd", "terminal", "terminalFrom", "agentDir", "model", "thinking", "state", "context", "usage",
    "tools", "ticket", "workflow", "outputs", "recent", "contextDetail", "lastRequest", "startedAt", "updatedAt",
}


def idle(kit):
    return kit.wait_status(lambda status: status["state"] == "idle", "an idle session")


def settled(kit, pi):
    """The state after a run that used tokens: the file says idle before it too, so the sums tell the two apart."""
    own = stats(pi)["tokens"]["input"]
    return kit.wait_status(lambda status: status["state"] == "idle" and status["usage"]["input"] == own, "the end of the run")


def stats(pi):
    return pi.send("get_session_stats")["data"]


def check_usage(kit, pi):
    """Our sums are Pi's own."""
    own = stats(pi)["tokens"]
    wanted = {name: own[name] for name in ("input", "output", "cacheRead", "cacheWrite")}
    return kit.wait_status(lambda s: {name: s["usage"][name] for name in wanted} == wanted, f"usage {wanted}")


def every_field_of_a_run():
    with Kit(extensions=("rules", "probe")) as kit:
        pi = Rpc(kit)
        session = pi.session()
        pi.prompt(TOUR)
        status = settled(kit, pi)
        expect(FIELDS <= set(status), "every field of the contract", FIELDS - set(status))
        expect((status["session"], status["pid"], status["cwd"]) == (session, pi.process.pid, str(kit.project)), "who", status)
        expect(status["agentDir"] == str(kit.agent) and status["thinking"] == "low", "where", status)
        expect(status["model"] == {"provider": "fake", "id": "scripted", "name": "Scripted model"}, "the model", status["model"])
        expect(status["transcript"].startswith(str(kit.agent / "sessions")), "the transcript", status["transcript"])
        calls = [(call["tool"], call["outcome"], call["decision"]) for call in status["recent"]]
        expect(calls == [("bash", "error", "allow"), ("read", "ok", "allow"), ("bash", "ok", "allow"), ("edit", "ok", "allow"), ("write", "ok", "allow")]
               or sorted(calls) == sorted([("bash", "error", "allow"), ("read", "ok", "allow"), ("bash", "ok", "allow"), ("edit", "ok", "allow"), ("write", "ok", "allow")]),
               "the calls with what the rules decided", calls)
        plan = str(kit.project / "notes" / "plan.md")
        expect([(file["path"], file["action"]) for file in status["outputs"]] == [(plan, "edited")], "one entry a path", status["outputs"])
        status = check_usage(kit, pi)
        expect(abs(status["usage"]["cost"] - stats(pi)["cost"]) < 1e-9, "the cost is Pi's", (status["usage"], stats(pi)["cost"]))
        expect(status["context"] == {"tokens": 1810, "window": 100000, "percent": 1.8}, "the context is the last real usage", status["context"])
        tools = pi.send("get_state")["data"]
        expect(status["tools"]["total"] > status["tools"]["active"] >= 4, "tools", (status["tools"], tools.get("tools")))

        # A denied call, an unknown tool, arguments that do not fit, an edit that fails.
        pi.prompt("@call bash {\"command\":\"echo forbidden\"}\n@call nosuch {\"a\":1}\n@call write {\"file\":\"x\"}\n"
                  "@call edit {\"path\":\"notes/plan.md\",\"edits\":[{\"oldText\":\"absent\",\"newText\":\"y\"}]}\n@then\n@say Oh.")
        status = settled(kit, pi)
        latest = {call["tool"]: call for call in status["recent"][:4]}
        expect(latest["bash"]["outcome"] == "denied" and latest["bash"]["decision"] == "deny", "denied", latest)
        expect({latest[name]["outcome"] for name in ("nosuch", "write", "edit")} == {"error"}, "failed", latest)
        expect(len(status["outputs"]) == 1, "what failed wrote nothing", status["outputs"])
        check_usage(kit, pi)

        # No value of all this stands in any file of ours.
        for path in kit.state.rglob("*"):
            if path.is_file():
                text = path.read_text(errors="replace")
                for word in ("secretcontent", "secretcommand", "secretanswer", "forbidden", "Let me see", "exit 3", "absent"):
                    expect(word not in text, f"privacy: {path.name}", word)


def what_fills_the_context():
    with Kit() as kit:
        pi = Rpc(kit)
        pi.prompt("hello\n@think hm\n@say fine\n@usage 4000 100 0")
        status = kit.wait_status(lambda s: s["state"] == "idle" and s["contextDetail"] and s["contextDetail"]["basis"] == "measured")
        detail = status["contextDetail"]
        expect(sum(part["tokens"] for part in detail["parts"]) == detail["total"] == 4100, "the parts sum to the total", detail)
        parts = {part["part"]: part["tokens"] for part in detail["parts"]}
        expect({"system", "tools", "skills", "contextFiles", "user", "assistant", "thinking"} <= set(parts), "the parts", parts)
        expect(parts["tools"] > parts["user"], "declarations are larger than a word", parts)
        names = {tool["name"]: tool for tool in detail["tools"]}
        expect(names["bash"]["on"] and names["bash"]["tokens"] > 0 and not names["grep"]["on"], "tools", names)
        expect([skill["name"] for skill in detail["skills"]] == ["git-notes", "pdf-tools"], "skills", detail["skills"])
        expect([file["path"] for file in detail["contextFiles"]] == [str(kit.project / "AGENTS.md")], "files", detail["contextFiles"])
        # Unscaled, the sizes we count are near what Pi itself estimates of what it sends.
        body = kit.model_requests()[-1]["body"]
        real = (len(kit.model_requests()[-1]["system"]) + len(json.dumps([tool["function"] for tool in body["tools"]], separators=(",", ":")))
                + sum(len(str(message.get("content", ""))) for message in body["messages"] if message["role"] == "user"))
        shares = {name: tokens / 4100 for name, tokens in parts.items()}
        for name, size in (("tools", len(json.dumps([tool["function"] for tool in body["tools"]], separators=(",", ":")))),):
            counted = shares[name] * 4100
            # The tools part also holds the prompt's own section about tools.
            expect(0.6 * size / real < counted / 4100 < 1.8 * size / real, f"{name} within reason", (counted, size, real))


def what_fills_the_context_is_what_the_model_counts():
    """A model that counts its own request: the parts, counted by us, come within ten per cent of what it reports."""
    words = "some words of a text that fills the context and nothing else in it "

    def counted(kit, pi, when):
        """The parts after a run, each as the characters that the tokens stand for."""
        own = stats(pi)["tokens"]["input"]
        status = kit.wait_status(lambda s: s["state"] == "idle" and s["usage"]["input"] == own and s["contextDetail"]["basis"] == "measured", when)
        detail = status["contextDetail"]
        expect(sum(part["tokens"] for part in detail["parts"]) == detail["total"] == status["context"]["tokens"], f"{when}: the sum", detail)
        return {part["part"]: part["tokens"] * 4 for part in detail["parts"]}

    def check(parts, when, **sizes):
        for name, size in sizes.items():
            print(f"   {when}: {name} {size} characters, counted {parts[name]}")
            expect(abs(parts[name] - size) <= size / 10, f"{when}: {name} within ten per cent", (parts, size))

    with Kit() as kit:
        (kit.project / "long.txt").write_text("\n".join([words] * 150))
        result = len((kit.project / "long.txt").read_text())
        # The directives are part of what the model is sent.
        asked = []

        def prompt(text):
            asked.append(len(text))
            pi.prompt(text)
            return sum(asked)

        pi = Rpc(kit)
        user = prompt(f"{words * 200}\n@say {words * 40}\n@usage real")
        check(counted(kit, pi, "one reply"), "one reply", user=user, assistant=len(words) * 40)
        user = prompt("@call read {\"path\":\"long.txt\"}\n@usage real\n@then\n@think " + words * 5 + "\n@say done\n@usage real")
        before = counted(kit, pi, "a tool's result")
        check(before, "a tool's result", user=user, toolResults=result, assistant=len(words) * 40)
        kit.ask(pi.session(), id="off", tools={"bash": False, "edit": False}, skills={"pdf-tools": False})
        user = prompt("@say without\n@usage real")
        parts = counted(kit, pi, "switched off")
        check(parts, "switched off", user=user, toolResults=result)
        expect(parts["tools"] < before["tools"] and parts["skills"] < before["skills"], "fewer declarations and skills", (before, parts))
        pi.close()
        kit.wait_no_status()
        # Counted from the stored session.
        pi = Rpc(kit, "--continue")
        user = prompt("@say resumed\n@usage real")
        check(counted(kit, pi, "resumed"), "resumed", user=user, toolResults=result)


def context_is_shown_inside_and_outside():
    with Kit() as kit:
        pi = Rpc(kit)
        session = pi.session()
        pi.prompt("hello\n@say fine\n@usage 4000 100 0")
        kit.wait_status(lambda s: s["state"] == "idle" and s["contextDetail"] and s["contextDetail"]["basis"] == "measured")
        start = len(pi.lines)
        pi.send("prompt", message="/context")
        line = pi.wait(lambda line: line.get("type") == "extension_ui_request" and "tokens" in str(line), start=start)
        expect("4.1k of 100.0k tokens, 4.1 %, measured" in str(line) and "AGENTS.md" in str(line), "/context", line)
        outside = kit.jig("context", session).stdout
        expect("4.1k of 100.0k tokens, 4.1 %, measured" in outside and "\x1b" not in outside, "outside", outside)
        expect("\x1b[" in kit.jig("--color", "always", "context", session).stdout, "in colour")
        document = json.loads(kit.jig("--json", "context", session).stdout)
        expect(document["schema"] == 1 and document["session"]["session"] == session, "JSON", document)
        expect(sum(part["tokens"] for part in document["contextDetail"]["parts"]) == 4100, "JSON", document)


def a_call_without_a_price_leaves_the_cost_unknown():
    with Kit() as kit:
        pi = Rpc(kit)
        pi.prompt("@say one")
        status = settled(kit, pi)
        expect(status["usage"]["cost"] > 0, "a price", status["usage"])
        pi.send("set_model", provider="fake", modelId="scripted-free")
        status = kit.wait_status(lambda s: s["model"]["id"] == "scripted-free", "the other model")
        expect(status["context"]["window"] == 50000 and status["thinking"] == "off", "its window and thinking", status)
        pi.prompt("@say two")
        status = check_usage(kit, pi)
        expect(status["usage"]["cost"] is None, "no price", status["usage"])
        pi.send("set_model", provider="fake", modelId="scripted")
        pi.prompt("@say three")
        expect(check_usage(kit, pi)["usage"]["cost"] is None, "for good", kit.status()["usage"])
        pi.send("set_thinking_level", level="high")
        kit.wait_status(lambda s: s["thinking"] == "high", "the thinking level")


def busy_aborted_failed_and_compacted():
    with Kit() as kit:
        pi = Rpc(kit)
        start = len(pi.lines)
        pi.send("prompt", message="@call bash {\"command\":\"sleep 30\"}\n@then\n@say never")
        status = kit.wait_status(lambda s: s["recent"] and s["recent"][0]["outcome"] == "running", "the running call")
        expect(status["state"] == "busy", "busy", status["state"])
        pi.send("abort")
        pi.settled(start)
        status = idle(kit)
        expect(status["recent"][0]["outcome"] == "aborted" and "attention" not in status, "aborted", status["recent"])
        pi.prompt("@status 500")
        status = kit.wait_status(lambda s: s.get("attention"), "the error")
        expect(status["attention"]["reason"] == "error" and status["state"] == "idle", "an error wants a person", status)
        pi.prompt("@say better")
        kit.wait_status(lambda s: "attention" not in s and s["state"] == "idle", "the end of the wait")
        for _ in range(3):
            pi.prompt("more\n@say " + "words of an answer " * 20)
        before = check_usage(kit, pi)["usage"]["input"]
        answer = pi.send("compact")
        expect(answer["success"], "a compaction", answer)
        status = kit.wait_status(lambda s: s["usage"]["input"] > before, "the compaction's usage")
        expect(status["context"]["tokens"] is None, "unknown after a compaction", status["context"])
        check_usage(kit, pi)


def sessions_one_after_another():
    with Kit() as kit:
        pi = Rpc(kit)
        first = pi.send("get_state")["data"]
        pi.prompt("@call write {\"path\":\"kept.txt\",\"content\":\"x\"}\n@then\n@say done")
        pi.prompt("@say again")
        started = idle(kit)["startedAt"]
        pi.send("new_session")
        status = kit.wait_status(lambda s: s["session"] != first["sessionId"], "the new session")
        expect(len(kit.status_files()) == 1, "one file", kit.status_files())
        expect(status["outputs"] == [] and status["recent"] == [], "a new session has done nothing", status)
        pi.send("switch_session", sessionPath=first["sessionFile"])
        status = kit.wait_status(lambda s: s["session"] == first["sessionId"] and s["outputs"], "the resumed session")
        expect(len(kit.status_files()) == 1, "one file", kit.status_files())
        expect(status["outputs"][0]["path"] == str(kit.project / "kept.txt"), "its files are kept", status["outputs"])
        expect(status["startedAt"] > started, "a resume begins anew", (started, status["startedAt"]))
        check_usage(kit, pi)
        forks = pi.send("get_fork_messages")["data"]["messages"]
        pi.send("fork", entryId=forks[-1]["entryId"])
        status = kit.wait_status(lambda s: s["session"] != first["sessionId"], "the fork")
        expect(len(kit.status_files()) == 1, "one file", kit.status_files())
        pi.send("set_session_name", name="billing")
        kit.wait_status(lambda s: s.get("name") == "billing", "the name")
        expect(pi.close() == 0, "the end")
        kit.wait_no_status()
        # Another process resumes it: its files and sums are there at once.
        pi = Rpc(kit, "--session", first["sessionFile"])
        kit.wait_status(lambda s: s["session"] == first["sessionId"] and s["outputs"], "resumed by another process")
        check_usage(kit, pi)


def ticket_and_workflow():
    with Kit() as kit:
        tickets = kit.work / "tickets"
        folder = tickets / "APP-12"
        (folder / "evidence" / "tools").mkdir(parents=True)
        (folder / "history").mkdir()
        (folder / "ticket.json").write_text(json.dumps({"title": "Invoices round wrongly"}))
        (folder / "workflow.json").write_text(json.dumps({"name": "bugfix", "stages": ["plan", "build", "review"], "current": "build", "prs": []}))
        for name in ("plan.md", "evidence/shot.png", "evidence/tools/call.txt", "history/old.md"):
            (folder / name).write_text("x")
        config = kit.work / "home" / ".config" / "jig"
        config.mkdir(parents=True)
        (config / "config.json").write_text(json.dumps({"memory": {"dir": str(tickets)}, "jira": {"site": "jira.example.org"}}))
        pi = Rpc(kit, env={"JIG_TICKET": "APP-12"})
        status = kit.wait_status(lambda s: s["ticket"], "the ticket")
        expect(status["ticket"]["key"] == "APP-12" and status["ticket"]["title"] == "Invoices round wrongly", "ticket", status["ticket"])
        expect("jira.example.org" in status["ticket"]["url"] and "APP-12" in status["ticket"]["url"], "url", status["ticket"])
        expect(status["workflow"]["name"] == "bugfix" and status["workflow"]["current"] == "build", "workflow", status["workflow"])
        files = {re.sub(r".*/APP-12/", "", file["path"]): file["action"] for file in status["outputs"]}
        expect(files == {"plan.md": "ticket", "evidence/shot.png": "ticket"}, "the ticket's files", files)
        (folder / "workflow.json").write_text("{")
        status = kit.wait_status(lambda s: s["workflow"] and s["workflow"].get("problem"), "a workflow that does not parse")
        pi.close()


main([every_field_of_a_run, what_fills_the_context, what_fills_the_context_is_what_the_model_counts,
      context_is_shown_inside_and_outside,
      a_call_without_a_price_leaves_the_cost_unknown, busy_aborted_failed_and_compacted, sessions_one_after_another,
      ticket_and_workflow])
