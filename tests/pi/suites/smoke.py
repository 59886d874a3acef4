"""What a user sees first, on every supported Pi: published, switched, reloaded, gone."""
from kit import Kit, Rpc, expect, main, wait_for


def a_session_is_published_switched_reloaded_and_gone():
    with Kit() as kit:
        pi = Rpc(kit)
        session = pi.session()
        status = kit.wait_status()
        expect(status["session"] == session and status["pid"] == pi.process.pid, "whose file it is", status)
        expect(status["state"] == "idle" and status["agent"]["name"] == "pi", "a fresh session", status)
        pi.prompt("@call write {\"path\":\"a.txt\",\"content\":\"x\"}\n@then\n@say done")
        status = kit.wait_status(lambda s: s["state"] == "idle" and s["recent"], "the call in recent")
        expect(status["recent"][0]["tool"] == "write" and status["recent"][0]["outcome"] == "ok", "recent", status)
        expect(status["outputs"][0]["path"] == str(kit.project / "a.txt"), "outputs", status["outputs"])

        answer = kit.ask(session, id="s1", tools={"bash": False}, skills={"pdf-tools": False})
        expect(answer["ok"] and answer["message"] == "tools: bash off; skills: pdf-tools off", "the answer", answer)
        pi.prompt("@say without")
        offered = kit.model_requests()[-1]
        expect("bash" not in offered["tools"], "bash is gone", offered["tools"])
        expect(offered["skills"] == ["git-notes"], "the skill is gone", offered["skills"])

        starts = len(kit.events("session_start"))
        def sizes(status):
            detail = status["contextDetail"]
            return {item.get("name") or item["path"]: item["tokens"] for item in detail["skills"] + detail["contextFiles"]}
        counted = kit.status()["contextDetail"]["at"]
        before = sizes(kit.status())
        expect(len(before) == 3 and all(before.values()), "skills and context files have a size", before)
        answer = kit.ask(session, id="s2", reload=True)
        expect(answer["ok"] and answer["message"] == "reload when idle", "the answer", answer)
        wait_for(lambda: len(kit.events("session_start")) > starts, "the reload")
        status = kit.wait_status(lambda s: s["lastRequest"].get("reload") == "done", "the reload marked as done")
        expect(status["recent"][0]["tool"] == "write", "recent is kept over a reload", status["recent"])
        after = sizes(kit.wait_status(lambda s: s["contextDetail"]["at"] > counted, "what fills the context, counted anew"))
        expect(set(after) == set(before) and all(after.values()), "the sizes of skills and context files are kept too", (before, after))
        pi.prompt("@say after the reload")
        offered = kit.model_requests()[-1]
        expect("bash" not in offered["tools"] and offered["skills"] == ["git-notes"], "kept over the reload", offered["tools"])
        pi.close()
        kit.wait_no_status()


main([a_session_is_published_switched_reloaded_and_gone])
