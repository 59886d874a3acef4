"""A Mosquitto on loopback with TLS and access lists, machines that share, and readers: what every part of the suite uses."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PATIENCE = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, condition, patience=PATIENCE):
    """Waits for a condition; what it gave, and how long it took."""
    begun = time.monotonic()
    while True:
        found = condition()
        took = time.monotonic() - begun
        if found:
            return found, took
        if took > patience:
            raise AssertionError(f"{what}: not within {patience} s")
        time.sleep(0.02)


class Broker:
    """Mosquitto with one listener in the clear and one with TLS; each machine writes below its own name only."""

    def __init__(self, folder, machines):
        self.folder, self.process = folder, None
        self.port, self.tls = free_port(), free_port()
        self.certificates()
        passwords = "".join(f"{name}:secret\n" for name in [*machines, "reader"])
        (folder / "passwords").write_text(passwords)
        subprocess.run(["mosquitto_passwd", "-U", folder / "passwords"], check=True)
        # Below one's own name only; `reader` reads everything and writes nothing.
        (folder / "acl").write_text(
            "pattern readwrite jig-session/v1/%u/#\n\nuser reader\ntopic read jig-session/v1/#\n")
        (folder / "mosquitto.conf").write_text(
            f"per_listener_settings false\npersistence false\nallow_anonymous false\n"
            f"password_file {folder}/passwords\nacl_file {folder}/acl\nmax_queued_messages 100000\n"
            f"user root\nlog_type error\n"
            f"listener {self.port} 127.0.0.1\n"
            f"listener {self.tls} 127.0.0.1\ncafile {folder}/ca.pem\ncertfile {folder}/broker.pem\nkeyfile {folder}/broker.key\n")
        self.words = ["mosquitto", "-c", folder / "mosquitto.conf"]
        self.start()

    def certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
        for name in ("ca", "other"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-keyout", self.folder / f"{name}.key", "-out", self.folder / f"{name}.pem")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=broker",
                "-keyout", self.folder / "broker.key", "-out", self.folder / "broker.csr")
        (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", self.folder / "broker.csr", "-CA", self.folder / "ca.pem", "-CAkey",
                self.folder / "ca.key", "-CAcreateserial", "-days", "2", "-extfile", self.folder / "names",
                "-out", self.folder / "broker.pem")

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        until("the broker listens", listens)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def url(self, tls=False):
        return f"mqtts://localhost:{self.tls}/" if tls else f"mqtt://127.0.0.1:{self.port}/"

    def publish(self, user, topic, payload, retain=True):
        words = ["mosquitto_pub", "-p", str(self.port), "-u", user, "-P", "secret", "-q", "1", "-t", topic]
        words += ["-r"] if retain else []
        words += ["-n"] if payload == b"" else ["-s"]
        done = subprocess.run(words, input=payload or None, capture_output=True, timeout=30)
        return done.returncode == 0


class Nats(Broker):
    """The MQTT door of nats-server, without users: it keeps retained messages in files."""

    def __init__(self, folder, machines):
        self.folder, self.process = folder, None
        self.port, inner = free_port(), free_port()
        (folder / "nats.conf").write_text(
            f"server_name: n1\nlisten: 127.0.0.1:{inner}\njetstream {{ store_dir: \"{folder}/jetstream\" }}\n"
            f"mqtt {{ host: 127.0.0.1, port: {self.port} }}\n")
        self.words = ["nats-server", "-c", folder / "nats.conf"]
        self.start()


class World:
    """A folder of its own for everything; the program; processes that sessions name."""

    def __init__(self, program):
        self.program = program
        self.folder = Path(tempfile.mkdtemp(prefix="jig-fleet-"))
        self.processes, self.brokers = [], []
        self.sleeper = self.spawn(["sleep", "3600"])
        stat = Path(f"/proc/{self.sleeper.pid}/stat").read_text().rsplit(")", 1)[1].split()
        self.identity = {
            "start": f"linux:{stat[19]}",
            "bootId": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "pidNamespace": re.sub(r"\D", "", os.readlink("/proc/self/ns/pid")),
        }

    def spawn(self, words, **rest):
        rest.setdefault("stdout", subprocess.DEVNULL)
        rest.setdefault("stderr", subprocess.DEVNULL)
        process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, start_new_session=True, **rest)
        self.processes.append(process)
        return process

    def env(self, name, **more):
        home = self.folder / name
        (home / "state").mkdir(mode=0o700, parents=True, exist_ok=True)
        plain = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        return {**plain, "HOME": str(home), "JIG_STATE_DIR": str(home / "state"), **more}

    def run(self, name, *words, user="reader", **more):
        env = self.env(name, JIG_FLEET_USER=user, JIG_FLEET_PASSWORD="secret", **more)
        return subprocess.run([self.program, *words], env=env, capture_output=True, text=True, timeout=PATIENCE)

    def rows(self, broker):
        done = self.run("viewer", "ls", "--json", "--fleet", broker.url())
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        return document["sessions"], document["problems"]

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self.processes:
            process.wait()
        for broker in self.brokers:
            broker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Machine:
    """A machine with status files of its own, which it shares."""

    def __init__(self, world, broker, name, sessions=0, user=None, tls=False, share_as=None, env=None):
        self.world, self.broker, self.name = world, broker, name
        self.user, self.tls, self.share_as, self.more = user or name, tls, share_as or name, env or {}
        self.folder = world.folder / name / "state" / "sessions"
        world.env(name)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.folder.parent.chmod(0o700)
        self.process = None
        for number in range(sessions):
            self.put(f"s{number}")

    def put(self, session, state="idle"):
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".000Z"
        unknown = {"input": None, "output": None, "cacheRead": None, "cacheWrite": None, "cost": None}
        document = {
            "schema": 1, "session": f"{self.name}-{session}", "pid": self.world.sleeper.pid, "cwd": f"/home/u/{self.name}",
            "agent": {"name": "pi"}, "name": f"private {session}", "state": state, "stateAt": now, "startedAt": now,
            "updatedAt": now, "process": self.world.identity, "usage": unknown,
            "context": {"tokens": 1000, "window": 2000, "percent": 50.0},
        }
        path = self.folder / f"{self.name}-{session}.json"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(document))
        temporary.chmod(0o600)
        temporary.rename(path)

    def remove(self, session):
        (self.folder / f"{self.name}-{session}.json").unlink()

    def share(self, *words):
        env = self.world.env(self.name, JIG_FLEET_USER=self.user, JIG_FLEET_PASSWORD="secret", **self.more)
        command = [self.world.program, "fleet", "share", "--to", self.broker.url(self.tls), "--as", self.share_as, *words]
        self.process = self.world.spawn(command, env=env)
        return self

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()


class Watch:
    """`watch --fleet --json`, line by line with the time at which each came."""

    def __init__(self, world, broker):
        env = world.env("watcher", JIG_FLEET_USER="reader", JIG_FLEET_PASSWORD="secret")
        self.lines, self.states, self.gone = [], {}, []
        self.process = world.spawn([world.program, "watch", "--json", "--fleet", broker.url()], env=env,
                                   stdout=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            at, line = time.monotonic(), json.loads(line)
            row = line.get("session")
            if row and line["change"] == "removed":
                self.states.pop(row["session"], None)
                self.gone.append((row["session"], line.get("why")))
            elif row:
                self.states[row["session"]] = (row["state"], row["detail"], at)
            self.lines.append(line)
