#!/usr/bin/env python3
"""Many machines and a real Mosquitto: `cargo xtask fleet`, or `run.py --program PROGRAM [PART…]`.

Every part has a broker, machines and readers of its own on loopback; the parts with a control show that the fault is one
that would be seen."""
import argparse
import json
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import traceback

from kit import Broker, Machine, Nats, Watch, World, until

FIGURES = []


def figure(what, value):
    FIGURES.append(f"    {what}: {value}")


def broker(world, machines, kind=Broker):
    world.brokers.append(kind(world.folder, machines))
    return world.brokers[-1]


def crowd(world, kind, machines, sessions):
    names = [f"m{number:02}" for number in range(machines)]
    there = broker(world, names, kind)
    everyone = [Machine(world, there, name, sessions).share() for name in names]
    return there, everyone


def ids(rows, detail=None):
    return {row["session"] for row in rows if detail is None or row["detail"] == detail}


def story(world, kind, machines, sessions, name):
    """Changes, a broker that is killed and comes back, a machine that is killed."""
    there, everyone = crowd(world, kind, machines, sessions)
    all_of_them = machines * sessions
    watch = Watch(world, there)
    _, took = until("all sessions are there", lambda: len(watch.states) == all_of_them)
    figure(f"{name}: {machines} machines with {sessions} sessions each are there after", f"{took:.2f} s")
    times = []
    for number in range(100):
        machine, session = everyone[number % machines], f"s{number % sessions}"
        which, begun = f"{machine.name}-{session}", time.monotonic()
        wanted = "idle" if watch.states[which][0] == "busy" else "busy"
        machine.put(session, wanted)
        until(f"{which} is {wanted}", lambda: watch.states[which][0] == wanted)
        times.append(watch.states[which][2] - begun)
    times.sort()
    figure(f"{name}: a change until it is seen, median", f"{statistics.median(times) * 1000:.0f} ms")
    figure(f"{name}: a change until it is seen, p99", f"{times[98] * 1000:.0f} ms")
    assert times[98] <= 2, times[-5:]
    begun = time.monotonic()
    done = world.run("viewer", "ls", "--json", "--fleet", there.url())
    figure(f"{name}: ls --fleet of {all_of_them} sessions", f"{(time.monotonic() - begun) * 1000:.0f} ms")
    rows = json.loads(done.stdout)["sessions"]
    assert len(rows) == all_of_them and ids(rows, "reported") == ids(rows)
    assert all(row["verdict"] == "unknown" and row["reported"]["verdict"] == "alive" for row in rows)
    assert "private" not in done.stdout and "/home/u" not in done.stdout, "names and paths stay at home"

    there.kill()
    until("what is known is known to be old", lambda: all(state[1] == "unreachable" for state in watch.states.values()))
    assert len(watch.states) == all_of_them and not watch.gone
    text = world.run("viewer", "ls", "--fleet", there.url()).stdout
    assert "unreachable" in text, text
    # What happens meanwhile is told once the broker is back: it has lost all that it held.
    after = "idle" if watch.states["m03-s5"][0] == "busy" else "busy"
    everyone[3].put("s5", after)
    everyone[4].remove("s6")
    there.start()
    fresh = lambda: sum(1 for state in list(watch.states.values()) if state[1] == "reported")
    _, took = until("all are back", lambda: fresh() == all_of_them - 1 and watch.states.get("m03-s5", ("",))[0] == after, 120)
    figure(f"{name}: all machines are back after the broker's start, in", f"{took:.2f} s")
    assert ids(world.rows(there)[0]) == set(watch.states), "nothing is lost, and nothing is left"
    assert [gone[0] for gone in watch.gone] == ["m04-s6"], watch.gone

    everyone[7].stop(signal.SIGKILL)
    offline = lambda: all(watch.states[f"m07-s{number}"][1] == "unreachable" for number in range(sessions))
    _, took = until("the killed machine is offline", offline)
    figure(f"{name}: a killed machine is offline after", f"{took * 1000:.0f} ms")
    rows, problems = world.rows(there)
    assert len(rows) == all_of_them - 1, "its rows stay"
    assert [problem["host"] for problem in problems] == ["m07"], problems
    everyone[7].share()
    until("it is back", lambda: all(watch.states[f"m07-s{number}"][1] == "reported" for number in range(sessions)))
    assert [gone[0] for gone in watch.gone] == ["m04-s6"], "0 false gone"
    everyone[8].stop()
    until("a machine says that it goes", lambda: watch.states["m08-s0"][1] == "unreachable")


def fifty_machines(world):
    """1,000 sessions at Mosquitto."""
    story(world, Broker, 50, 20, "mosquitto")


def nats(world):
    """The same through the MQTT door of NATS."""
    if not shutil.which("nats-server"):
        print("SKIPPED nats: there is no nats-server on the PATH")
        return
    story(world, Nats, 10, 10, "nats")


def controls(world):
    """What the broker forgets, and what it cannot know, if nothing is sent again and there is no Last Will."""
    there = broker(world, ["a", "b"])
    document = json.dumps({"schema": 1, "at": "2026-11-29T18:18:47.855Z", "session": "x", "folder": "x", "state": "idle",
                           "verdict": "alive"}).encode()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    online = json.dumps({"schema": 1, "at": now, "online": True, "id": "1"}).encode()
    assert there.publish("a", "jig-session/v1/a/online", online) and there.publish("a", "jig-session/v1/a/s/x", document)
    rows, _ = world.rows(there)
    assert ids(rows, "reported") == {"x"}, "without a Last Will a machine that is gone counts as online"
    there.kill()
    there.start()
    assert world.rows(there)[0] == [], "what is not sent again is lost with the broker"


def stalls(world):
    """A machine that stops for longer than the broker waits; a broker that stops while everything changes."""
    there = broker(world, ["a", "b"])
    one, two = Machine(world, there, "a", 20).share(), Machine(world, there, "b", 20).share()
    watch = Watch(world, there)
    until("both are there", lambda: len(watch.states) == 40)
    one.process.send_signal(signal.SIGSTOP)
    there.process.send_signal(signal.SIGSTOP)
    for _ in range(30):
        for number in range(20):
            two.put(f"s{number}", "busy")
        time.sleep(0.05)
    there.process.send_signal(signal.SIGCONT)
    busy = lambda: all(watch.states[f"b-s{number}"][0] == "busy" for number in range(20))
    until("the newest state came through", busy)
    _, took = until("the silent machine is offline", lambda: watch.states["a-s0"][1] == "unreachable", 90)
    figure("a machine that falls silent is offline after", f"{took:.0f} s")
    assert watch.states["b-s0"][1] == "reported" and not watch.gone
    one.process.send_signal(signal.SIGCONT)
    until("it is back", lambda: all(watch.states[f"a-s{number}"][1] == "reported" for number in range(20)), 90)
    assert not watch.gone


def flood(there, topics):
    """Publishes to many topics over one connection, by the protocol's own bytes: a program a topic would take minutes."""
    text = lambda word: len(word).to_bytes(2, "big") + word.encode()

    def packet(kind, body):
        length, size = b"", len(body)
        while True:
            size, digit = size >> 7, size & 127
            length += bytes([digit | (128 if size else 0)])
            if not size:
                return bytes([kind]) + length + body
    document = json.dumps({"schema": 1, "at": "2026-11-29T18:18:47.855Z", "session": "f", "folder": "x", "state": "idle"})
    with socket.create_connection(("127.0.0.1", there.port)) as link:
        hello = text("MQTT") + b"\x04\xc2" + (60).to_bytes(2, "big") + text("flood") + text("evil") + text("secret")
        link.sendall(packet(0x10, hello))
        assert link.recv(4)[3] == 0
        for number in range(topics):
            link.sendall(packet(0x31, text(f"jig-session/v1/evil/s/f{number}") + document.encode()))
        # The answer to a ping comes after everything before it was taken.
        link.sendall(packet(0xC0, b""))
        assert link.recv(2) == b"\xd0\x00"
        link.sendall(packet(0xE0, b""))


def strangers(world):
    """Foreign writes, hostile documents, two machines of one name, clocks, leftovers."""
    there = broker(world, ["a", "b", "evil"])
    machine = Machine(world, there, "a", 3).share()
    until("it is there", lambda: len(world.rows(there)[0]) == 3)
    document = {"schema": 1, "at": "2026-11-29T18:18:47.855Z", "session": "x", "folder": "x", "state": "idle"}
    text = lambda **more: json.dumps({**document, **more}).encode()
    there.publish("evil", "jig-session/v1/a/s/foreign", text())
    there.publish("evil", "jig-session/v1/a/s/a-s0", b"")
    assert ids(world.rows(there)[0]) == {"a-s0", "a-s1", "a-s2"}, "nobody writes below another's name"

    evil = lambda name, payload: there.publish("evil", f"jig-session/v1/evil/s/{name}", payload)
    escape = "\x1b]0;owned\x07\x1b[2J\u202egnihsif\u2800<b>"
    assert evil("huge", b"x" * (1 << 20)) and evil("deep", b"[" * 100_000) and evil("text", b"garbage")
    assert evil("new", text(schema=2)) and evil("lies", text(session="lies", host="a", machine="a"))
    assert evil("escape", text(session=escape, folder=escape, name=escape, agent={"name": escape}))
    rows, problems = world.rows(there)
    assert ids(rows) >= {"a-s0", "a-s1", "a-s2", "lies"}, "one broken document hides nothing"
    assert {row["host"] for row in rows if row["session"] == "lies"} == {"evil"}, "the topic says whose it is"
    assert len([it for it in problems if it["reason"] == "unparsable"]) == 4, problems
    shown = world.run("viewer", "ls", "--fleet", there.url()).stdout
    assert "\x1b" not in shown and "\u202e" not in shown, shown
    flood(there, 10_000)
    rows, problems = world.rows(there)
    assert len(rows) <= 2003 and ids(rows) >= {"a-s0", "a-s1", "a-s2"}, len(rows)
    assert any("more than 2000 sessions" in problem["message"] for problem in problems), problems

    twin = Machine(world, there, "twin", 1, user="a", share_as="a").share()
    twin.process.wait(timeout=30)
    assert twin.process.returncode == 4, "another machine has the name"
    assert ids(world.rows(there)[0]) >= {"a-s0", "a-s1", "a-s2"}

    there.publish("a", "jig-session/v1/a/s/leftover", text(session="leftover"))
    assert "leftover" in ids(world.rows(there)[0])
    machine.stop()
    machine.share()
    until("what is nobody's is taken back", lambda: "leftover" not in ids(world.rows(there)[0]))

    old = {"schema": 1, "at": "2026-01-01T00:00:00Z", "online": True, "id": "8"}
    there.publish("evil", "jig-session/v1/evil/online", json.dumps(old).encode())
    rows, problems = world.rows(there)
    assert {row["detail"] for row in rows if row["host"] == "evil"} == {"unreachable"}, "what a broker kept is no sign of life"
    assert any("it said last at" in problem["message"] for problem in problems), problems
    late = Machine(world, there, "late", 1, user="evil", share_as="evil").share()
    until("who is long gone has no name", lambda: "late-s0" in ids(world.rows(there)[0], "reported"))
    late.stop()

    ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    there.publish("b", "jig-session/v1/b/online", json.dumps({"schema": 1, "at": ahead, "online": True, "id": "9"}).encode())
    _, problems = world.rows(there)
    clock = [problem["message"] for problem in problems if problem["reason"] == "clock"]
    assert clock == ["its clock is 60 min ahead of this one"] or clock == ["its clock is 59 min ahead of this one"], clock


def doors(world):
    """TLS, passwords, and what is refused before anything is sent."""
    there = broker(world, ["a"])
    machine = Machine(world, there, "a", 2, tls=True)
    machine.share("--ca", there.folder / "ca.pem", "--names")
    until("it is there", lambda: len(world.rows(there)[0]) == 2)
    assert {row["name"] for row in world.rows(there)[0]} == {"private s0", "private s1"}
    config = world.folder / "viewer" / ".config" / "jig"
    config.mkdir(parents=True)

    def configured(**words):
        (config / "config.json").write_text(json.dumps({"fleet": words}))
        return world.run("viewer", "ls", "--json", "--fleet")

    secret = world.folder / "password"
    secret.write_text("secret\n")
    done = configured(url=there.url(tls=True), ca=str(there.folder / "ca.pem"), user="reader", passwordFile=str(secret))
    assert len(json.loads(done.stdout)["sessions"]) == 2, done.stderr
    done = configured(url=there.url(tls=True), ca=str(there.folder / "other.pem"))
    assert done.returncode == 0 and "UnknownIssuer" in json.loads(done.stdout)["problems"][0]["message"], done.stdout
    done = configured(url=there.url(tls=True), ca=str(there.folder / "broker.key"))
    assert done.returncode == 2 and "no certificate" in done.stderr, done.stderr
    env = {"JIG_FLEET_PASSWORD": "wrong"}
    env = {**world.env("viewer"), "JIG_FLEET_USER": "reader", **env}
    done = subprocess.run([world.program, "ls", "--json", "--fleet", there.url()], env=env, capture_output=True, text=True)
    assert json.loads(done.stdout)["problems"][0]["message"] == "it refuses this user or password", done.stdout
    for words, why in [
        (["ls", "--fleet", "mqtt://broker.example/"], "another machine"),
        (["fleet", "share", "--to", "mqtt://broker.example/"], "another machine"),
        (["ls", "--fleet", "mqtts://u:secret@h/"], "password"),
        (["ls", "--fleet", "https://h/"], "does not begin with"),
        (["fleet", "share", "--to", there.url(), "--as", "a/b"], "cannot be a machine's name"),
    ]:
        done = world.run("viewer", *words)
        assert done.returncode == 2 and why in done.stderr, (words, done.stderr)
    unit = world.run("viewer", "fleet", "service", "--to", there.url(tls=True), "--as", "a").stdout
    assert f"fleet share --to {there.url(tls=True)} --as a\n" in unit, unit
    if shutil.which("systemd-analyze"):
        path = world.folder / "jig-session-fleet.service"
        path.write_text(unit)
        done = subprocess.run(["systemd-analyze", "verify", "--user", path], capture_output=True, text=True)
        assert "Unknown" not in done.stderr and "Failed to parse" not in done.stderr, done.stderr


def views(world):
    """Every command that takes `--fleet`."""
    there = broker(world, ["a"])
    machine = Machine(world, there, "a", 2)
    machine.put("s0", "busy")
    machine.share()
    until("it is there", lambda: len(world.rows(there)[0]) == 2)
    url = there.url()
    shown = world.run("viewer", "show", "a-s0", f"--fleet={url}", "--json")
    assert json.loads(shown.stdout)["session"]["host"] == "a", shown.stderr
    line = world.run("viewer", "statusline", "--fleet", url).stdout
    assert "1 busy" in line and "1 idle" in line, line
    metrics = world.run("viewer", "metrics", "--fleet", url).stdout
    assert 'machine="a"' in metrics, metrics
    waiting = world.spawn([world.program, "wait", "a-s0", "--for", "idle", f"--fleet={url}"],
                          env=world.env("viewer", JIG_FLEET_USER="reader", JIG_FLEET_PASSWORD="secret"))
    time.sleep(0.3)
    assert waiting.poll() is None
    machine.put("s0", "idle")
    assert waiting.wait(timeout=30) == 0


def idle(world):
    """What sharing costs while nothing happens."""
    there = broker(world, ["a"])
    machine = Machine(world, there, "a", 20).share()
    until("it is there", lambda: len(world.rows(there)[0]) == 20)
    ticks = lambda: sum(map(int, open(f"/proc/{machine.process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
    before, begun = ticks(), time.monotonic()
    time.sleep(10)
    share = (ticks() - before) / 100 / (time.monotonic() - begun) * 100
    status = open(f"/proc/{machine.process.pid}/status").read()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
    figure("share with 20 sessions, idle", f"{share:.2f} % of a core, {peak:.1f} MiB at most")


PARTS = [controls, doors, views, strangers, idle, stalls, fifty_machines, nats]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("parts", nargs="*")
    args = parser.parse_args()
    passed = failed = 0
    for part in PARTS:
        if args.parts and part.__name__ not in args.parts:
            continue
        world, begun = World(args.program), time.monotonic()
        try:
            part(world)
            passed += 1
            print(f"{part.__name__}: {time.monotonic() - begun:.0f} s", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED {part.__name__}", flush=True)
        finally:
            world.close()
    print("\n".join(FIGURES))
    print(f"{passed} passed" + (f", {failed} failed" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
