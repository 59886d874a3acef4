"""A Pi whose host is stopped or gone: its file is an old one, and everybody says so."""
import json
import os
import pathlib
import signal

from kit import Kit, Rpc, expect, main, wait_for


def host_of(pi):
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"\0host\0" in (folder / "cmdline").read_bytes() + b"\0":
                if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pi.process.pid:
                    return int(folder.name)
        except OSError:
            pass
    return None


def row(kit):
    return json.loads(kit.jig("ls", "--json").stdout)["sessions"][0]


def a_stopped_host_is_no_publisher():
    with Kit() as kit:
        pi = Rpc(kit)
        status = kit.wait_status(what="its row")
        host = host_of(pi)
        expect(status["publisher"]["pid"] == host, "the host names itself", (status.get("publisher"), host))
        expect(row(kit)["verdict"] == "alive", "alive", row(kit))
        os.kill(host, signal.SIGSTOP)
        try:
            wait_for(lambda: row(kit)["detail"] == "no publisher", "the row says that nobody publishes")
            expect(row(kit)["verdict"] == "unknown" and row(kit)["state"] == "idle", "as it was written", row(kit))
            expect("idle?" in kit.jig("ls").stdout, "ls doubts it", kit.jig("ls").stdout)
            waited = kit.jig("wait", status["session"], "--timeout", "1", ok=False)
            expect(waited.returncode == 124, "wait does not settle", waited)
            doctor = kit.jig("doctor", ok=False)
            expect(doctor.returncode == 1 and "/reload" in doctor.stdout, "doctor names the way out", doctor.stdout)
            kit.jig("prune")
            expect(len(kit.status_files()) == 1, "nothing is removed", kit.status_files())
        finally:
            os.kill(host, signal.SIGCONT)
        wait_for(lambda: row(kit)["verdict"] == "alive", "all is well again")
        os.kill(host, signal.SIGKILL)
        kit.wait_status(lambda now: now["publisher"]["pid"] != host, "another host has taken its place")
        wait_for(lambda: row(kit)["verdict"] == "alive", "it publishes")
        pi.close()


def who_runs_with_the_old_bridge_is_named():
    with Kit() as kit:
        pi = Rpc(kit)
        kit.wait_status(what="its row")
        said = kit.jig("hooks", "uninstall", "pi").stdout
        expect(f"Pi {pi.process.pid} in {kit.project}" in said and "/reload" in said, "uninstalling names it", said)
        said = kit.jig("hooks", "install", "pi").stdout
        expect(f"Pi {pi.process.pid} in {kit.project}" in said, "installing names it", said)
        pi.close()


main([a_stopped_host_is_no_publisher, who_runs_with_the_old_bridge_is_named])
