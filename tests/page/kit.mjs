// What the page's tests share: a real broker with a WebSocket listener, machines that publish, a browser.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** How long anything may take before a test gives up, in milliseconds. */
export const PATIENCE = 30_000;
export const PREFIX = "team/jig";
const NOW = Date.now();

/** Tries until it gives something true; what it gave last is in the error. */
export async function until(what, attempt) {
  const end = Date.now() + PATIENCE;
  let last;
  while (Date.now() < end) {
    try {
      last = await attempt();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    await pause(50);
  }
  throw new Error(`not within ${PATIENCE} ms: ${what}; last: ${last}`);
}

/** A port of loopback that was free a moment ago. */
async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** A Mosquitto that keeps nothing over a crash, with users that may write below their own name and one that reads. */
export class Broker {
  static async start() {
    const broker = new Broker();
    broker.dir = mkdtempSync(join(tmpdir(), "page-broker-"));
    broker.port = await freePort();
    broker.web = await freePort();
    const file = (name, text) => {
      writeFileSync(join(broker.dir, name), text, { mode: 0o600 });
      return join(broker.dir, name);
    };
    const users = ["reader", "laptop", "cloud-1", "cloud-2", "old-box", "flood", "rogue"];
    const passwords = file("passwords", users.map((user) => `${user}:${user}-word\n`).join(""));
    const made = spawnSync("mosquitto_passwd", ["-U", passwords], { encoding: "utf8" });
    if (made.status !== 0) throw new Error(`mosquitto_passwd: ${made.stderr}`);
    const rules = file("rules", `pattern write ${PREFIX}/v1/%u/#\nuser reader\ntopic read ${PREFIX}/#\n`);
    broker.config = file("broker.conf", [
      `listener ${broker.port} 127.0.0.1`,
      `listener ${broker.web} 127.0.0.1`,
      "protocol websockets",
      "allow_anonymous false",
      `password_file ${passwords}`,
      `acl_file ${rules}`,
      "persistence false",
      // What is kept for a subscriber that has just come is longer than the queue that is usual.
      "max_queued_messages 0",
      // Root would become a user that may not read the files of this test.
      ...(process.getuid() === 0 ? ["user root"] : []),
      "",
    ].join("\n"));
    await broker.run();
    return broker;
  }

  async run() {
    const path = `${process.env.PATH}:/usr/sbin`;
    this.process = spawn("mosquitto", ["-c", this.config], { stdio: "ignore", env: { ...process.env, PATH: path } });
    const { connect } = await import("node:net");
    await until("the broker listens", () => new Promise((done) => {
      const socket = connect(this.web, "127.0.0.1", () => done(true));
      socket.on("error", () => done(false));
      socket.on("connect", () => socket.destroy());
    }));
  }

  /** Ends it as a power cut would. */
  async kill() {
    const ended = new Promise((done) => this.process.once("exit", done));
    this.process.kill("SIGKILL");
    await ended;
  }

  get url() {
    return `ws://127.0.0.1:${this.web}/mqtt`;
  }

  async stop() {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A machine that publishes as `fleet share` does: a Last Will, all again on every connect. */
export class MachineUnderTest {
  constructor(mqtt, broker, name, facts = {}) {
    this.name = name;
    this.facts = facts;
    this.sessions = new Map();
    this.client = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
      username: name,
      password: `${name}-word`,
      protocolVersion: 5,
      reconnectPeriod: 200,
      will: { topic: `${PREFIX}/v1/${name}/online`, payload: this.online(false), qos: 1, retain: true },
    });
    this.client.on("error", () => {});
    this.client.on("connect", () => {
      for (const [key, text] of this.sessions) this.put(`${PREFIX}/v1/${name}/s/${key}`, text);
      this.put(`${PREFIX}/v1/${name}/online`, this.online(true));
    });
  }

  online(online) {
    const about = { schema: 1, at: new Date().toISOString(), online, id: `id-of-${this.name}`, ...this.facts };
    return JSON.stringify({ ...about, sessions: this.sessions.size });
  }

  put(topic, payload) {
    const done = this.client.publishAsync(topic, payload, { qos: 1, retain: true });
    // What a broker's end takes with it is not the test's.
    done.catch(() => {});
    return done;
  }

  /** Publishes a session: an object, or text and bytes as they are; nothing takes it away. */
  session(key, doc) {
    const plain = doc === undefined || typeof doc === "string" || doc instanceof Uint8Array;
    const payload = plain ? (doc ?? "") : JSON.stringify(doc);
    if (doc === undefined) this.sessions.delete(key);
    else this.sessions.set(key, payload);
    return this.put(`${PREFIX}/v1/${this.name}/s/${key}`, payload);
  }

  /** Dies: the broker says its Last Will. */
  die() {
    this.client.options.reconnectPeriod = 0;
    this.client.stream.destroy();
  }

  /** Says goodbye, so that no Last Will is said, and takes away all that it left. */
  async leave(keys) {
    await Promise.all([...keys].map((key) => this.session(key, undefined)));
    await this.put(`${PREFIX}/v1/${this.name}/online`, "");
    await this.client.endAsync();
  }

  end() {
    this.client.end(true);
  }
}

/** A session's document; `minutes` ago its state began. */
export function doc(session, folder, state, minutes, more = {}) {
  const at = (ago) => new Date(NOW - ago * 60_000).toISOString();
  return {
    schema: 1,
    at: at(0),
    session,
    agent: { name: "pi", version: "1.6.0" },
    model: { provider: "anthropic", id: "claude-sonnet", name: "Sonnet" },
    state,
    stateAt: at(minutes),
    context: { tokens: 84_000, window: 200_000, percent: 42 },
    usage: { input: 310_000, output: 21_000, cacheRead: 1_200_000, cacheWrite: 90_000, cost: 2.41 },
    startedAt: at(minutes + 95),
    updatedAt: at(minutes),
    folder,
    verdict: "alive",
    ...more,
  };
}

export function waits(session, folder, reason, minutes, more = {}) {
  const since = new Date(NOW - minutes * 60_000).toISOString();
  return doc(session, folder, "busy", minutes, { attention: { reason, since }, ...more });
}

/** The first of these programs that is there. */
export function program(names) {
  const dirs = `${process.env.PATH}:/usr/sbin`.split(":");
  return names.flatMap((name) => dirs.map((dir) => join(dir, name))).find((path) => existsSync(path));
}

/** Modules of the folder that the page is made in. */
export function modules(folder) {
  const require = createRequire(resolve(folder, "x.cjs"));
  return { mqtt: require("mqtt"), puppeteer: require("puppeteer-core") };
}

/** `fleet page` into this folder. */
export function runPage(jigSession, out, ...args) {
  return spawnSync(jigSession, ["fleet", "page", "--out", out, ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: out },
  });
}

/** The page as the program writes it for this broker. */
export function writePage(jigSession, broker) {
  const out = join(broker.dir, "page");
  const made = runPage(jigSession, out, "--broker", broker.url, "--prefix", PREFIX);
  if (made.status !== 0) throw new Error(`fleet page: ${made.stderr || made.error}`);
  return join(out, "index.html");
}
