"""pi-king's card of a real Pi session, written by the host when its user asks for it."""
import json

from kit import Kit, Rpc, Tmux, expect, main, wait_for

MARKER = "purple elephant"


def folder(kit):
    return kit.work / "home" / ".pi" / "king" / "session-status"


def card(kit, check=lambda card: True, what="the card"):
    def look():
        cards = [json.loads(path.read_text()) for path in folder(kit).glob("*.json")]
        return cards[0] if len(cards) == 1 and check(cards[0]) else None
    return wait_for(look, what)


def a_card_in_the_terminal_from_start_to_end():
    with Kit(env={"JIG_SESSION_KING": "visible"}) as kit:
        pi = Tmux(kit)
        pi.expect("scripted")
        first = card(kit, lambda c: c["status"] == "idle", "the card of a fresh session")
        expect(first["activity"] == "Session started." and first["visible"] is True, "a fresh session", first)
        expect(first["cwd"] == str(kit.project) and first["project"] == "project", "where", first)
        expect(isinstance(first["startedAt"], int) and first["startedAt"] <= first["lastActivity"], "whole ms", first)
        expect(len(first["startupFingerprint"]) == 16 and first["isFork"] is False, "what it was started with", first)
        printed = kit.jig("king", "fingerprint", "--cwd", str(kit.project)).stdout.strip()
        expect(first["startupFingerprint"] == printed, "the same value from the command", printed)

        pi.say(f"@say about the {MARKER}")
        # Nobody is attached to the test's tmux server: the result waits for somebody.
        done = card(kit, lambda c: c["status"] == "attention", "a result that nobody saw")
        expect(done["activity"] == f"Done: @say about the {MARKER}", "the prompt", done)

        listed = json.loads(kit.jig("ls", "--json").stdout)["sessions"]
        expect([row["source"] for row in listed] == ["jig"], "one row for both files", listed)
        expect([row["session"] for row in json.loads(kit.jig("king", "ls", "--json").stdout)["sessions"]] == [first["id"]],
               "the card is listed by its own command")
        for path in kit.status_files():
            expect(MARKER not in path.read_text(), "no prompt in the status file", path)
        pi.tmux("kill-server")
        left = card(kit, lambda c: c["status"] == "exited", "the card that stays")
        expect(left["activity"] == "Session ended.", "what stays says nothing of the prompts", left)


def a_card_that_is_not_listed_goes_with_its_session():
    with Kit(env={"JIG_SESSION_KING": "1"}) as kit:
        pi = Rpc(kit)
        session = pi.session()
        first = card(kit)
        expect(first["id"] == session and first["visible"] is False, "the card", first)
        pi.prompt("@say hello")
        card(kit, lambda c: c["status"] == "idle" and c["activity"] == "Done: @say hello", "the settled turn")
        pi.close()
        wait_for(lambda: not list(folder(kit).iterdir()), "an empty folder")


def unasked_there_is_none():
    with Kit() as kit:
        pi = Rpc(kit)
        pi.prompt("@say hello")
        pi.close()
        kit.wait_no_status()
        expect(not folder(kit).exists(), "nothing of pi-king's is made")


main([a_card_in_the_terminal_from_start_to_end, a_card_that_is_not_listed_goes_with_its_session, unasked_there_is_none])
