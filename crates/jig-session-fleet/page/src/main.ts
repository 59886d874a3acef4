// The connection, the form, the notifications: what joins the broker, the fleet and the page.

import mqtt, { type MqttClient } from "mqtt";

import { type Began, Fleet } from "./fleet";
import { PAYLOAD_BYTES } from "./read";
import { drawFleet, notes, part, say, stateWords, summary } from "./view";

/** How long nothing may come after a subscription until everything that was kept has come, in milliseconds. */
const QUIET = 2000;
/** The longest pause between two tries to connect, in milliseconds. */
const RETRY_MAX = 60_000;
/** Messages are drawn together at this distance, in milliseconds. */
const DRAW = 100;
/** Where the credentials lie in the browser's own storage. */
const STORE = "jig-session-fleet";

interface Credentials {
  user: string;
  password: string;
}

function setting(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";
}

const broker = setting("broker");
const prefix = setting("prefix");
const body = document.body;
const pill = part("connection", HTMLElement);
const banner = part("banner", HTMLElement);
const signIn = part("sign-in", HTMLFormElement);
const refused = part("refused", HTMLElement);
const tools = part("tools", HTMLFormElement);
const filter = part("filter", HTMLInputElement);
const waiting = part("waiting", HTMLInputElement);
const leave = part("leave", HTMLButtonElement);
const notify = part("notify", HTMLButtonElement);
const place = part("fleet", HTMLElement);

let fleet = new Fleet(prefix);
let client: MqttClient | undefined;
let lostAt: number | undefined;
let settled = false;
let settling: ReturnType<typeof setTimeout> | undefined;
let drawing: ReturnType<typeof setTimeout> | undefined;

function draw(): void {
  drawing ??= setTimeout(() => {
    drawing = undefined;
    const now = Date.now();
    const counts = fleet.counts();
    document.title = client === undefined || counts.waits === 0 ? "Fleet" : `(${counts.waits}) Fleet`;
    if (client === undefined) return;
    say(part("summary", HTMLElement), summary(counts));
    const none = settled ? "No machine shares its sessions below this prefix." : "Listening …";
    const empty = counts.machines === 0 ? none : "Nothing matches.";
    drawFleet(place, fleet.shown(filter.value, waiting.checked), empty, now);
    say(part("notes", HTMLElement), notes(fleet.unread, fleet.missing));
    if (lostAt !== undefined) {
      const since = new Date(lostAt).toLocaleTimeString();
      say(banner, `No connection to the broker since ${since}. What you see is as of then and may have changed.`);
    }
  }, DRAW);
}

/** Shows whether we are connected. */
function connection(state: "on" | "off" | "lost" | "trying", words: string): void {
  say(pill, words);
  pill.dataset["state"] = state;
  banner.hidden = lostAt === undefined;
  body.dataset["stale"] = String(lostAt !== undefined);
  draw();
}

function connect(who: Credentials): void {
  refused.hidden = true;
  signIn.hidden = true;
  tools.hidden = leave.hidden = false;
  notify.hidden = !("Notification" in window) || Notification.permission !== "default";
  connection("trying", "connecting …");
  const opened = mqtt.connect(broker, {
    protocolVersion: 5,
    clean: true,
    clientId: `jig-session-page-${crypto.randomUUID()}`,
    ...(who.user === "" ? {} : { username: who.user, password: who.password }),
    keepalive: 60,
    connectTimeout: 10_000,
    reconnectPeriod: 1000,
    // A worker of its own would need a hole in the page's policy.
    timerVariant: "native",
    properties: { maximumPacketSize: PAYLOAD_BYTES + 1024 },
  });
  client = opened;
  opened.on("connect", () => {
    opened.options.reconnectPeriod = 1000;
    fleet.begin();
    settled = false;
    lostAt = undefined;
    connection("on", "connected");
    opened.subscribe(fleet.topics, { qos: 1 }, (error) => {
      if (error !== null) stop("The broker does not let this user read the fleet.");
      else settle();
    });
  });
  opened.on("message", (topic, payload, packet) => {
    const began = fleet.take(topic, payload, Date.now(), packet.retain);
    if (began !== undefined && settled) announce(began);
    if (!settled) settle();
    draw();
  });
  opened.on("close", () => {
    if (client !== opened) return;
    clearTimeout(settling);
    // Pages that lost one broker together do not come back together.
    const pause = Math.min(RETRY_MAX, (opened.options.reconnectPeriod ?? 1000) * 2);
    opened.options.reconnectPeriod = Math.max(500, pause * (0.5 + Math.random() / 2));
    lostAt ??= Date.now();
    connection("lost", "no connection");
  });
  opened.on("error", (error) => {
    const code = "code" in error ? error.code : undefined;
    // Bad user or password, not authorized, banned; in the numbers of MQTT 3 and 5.
    if (typeof code === "number" && [4, 5, 134, 135, 138].includes(code)) {
      stop("The broker refuses this user and password.");
    }
  });
}

/** After a while without a message everything that the broker keeps has come. */
function settle(): void {
  clearTimeout(settling);
  settling = setTimeout(() => {
    settled = true;
    fleet.settle();
    draw();
  }, QUIET);
}

/** Ends the connection and asks who it is; with words if that was the broker's wish. */
function stop(why: string): void {
  const closing = client;
  client = undefined;
  closing?.end(true);
  clearTimeout(settling);
  fleet = new Fleet(prefix);
  lostAt = undefined;
  for (const storage of [localStorage, sessionStorage]) storage.removeItem(STORE);
  place.replaceChildren();
  say(part("summary", HTMLElement), "");
  say(part("notes", HTMLElement), "");
  tools.hidden = leave.hidden = notify.hidden = true;
  signIn.hidden = false;
  refused.hidden = why === "";
  say(refused, why);
  connection("off", "not connected");
  part(why === "" ? "user" : "password", HTMLInputElement).focus();
}

/** A session begins to wait. */
function announce(began: Began): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const { machine, key, session } = began;
  try {
    const shown = new Notification(`${session.name || session.folder || session.id} waits: ${stateWords(session)}`, {
      body: `${session.agent} on ${machine}`,
      tag: `${machine}/${key}`,
    });
    shown.onclick = (): void => window.focus();
  } catch {
    // Some phones allow notifications to installed pages only; the title and the page say it too.
  }
}

/** The credentials that this browser holds, if they are whole. */
function stored(): Credentials | undefined {
  for (const storage of [sessionStorage, localStorage]) {
    try {
      const held: unknown = JSON.parse(storage.getItem(STORE) ?? "null");
      if (typeof held === "object" && held !== null && "user" in held && "password" in held) {
        const { user, password } = held;
        if (typeof user === "string" && typeof password === "string") return { user, password };
      }
    } catch {
      storage.removeItem(STORE);
    }
  }
  return undefined;
}

signIn.addEventListener("submit", (event) => {
  event.preventDefault();
  const who = { user: part("user", HTMLInputElement).value, password: part("password", HTMLInputElement).value };
  const storage = part("remember", HTMLInputElement).checked ? localStorage : sessionStorage;
  storage.setItem(STORE, JSON.stringify(who));
  part("password", HTMLInputElement).value = "";
  connect(who);
  place.focus();
});
leave.addEventListener("click", () => stop(""));
notify.addEventListener("click", () => {
  void Notification.requestPermission().then(() => {
    notify.hidden = Notification.permission !== "default";
  });
});
tools.addEventListener("submit", (event) => event.preventDefault());
tools.addEventListener("input", draw);

// Arrows go from session to session, as in a list; `/` goes to the filter.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !(event.target instanceof HTMLInputElement) && !tools.hidden) {
    event.preventDefault();
    filter.focus();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const from = event.target;
  if (step === undefined || !(from instanceof HTMLElement) || !(from === place || from.tagName === "SUMMARY")) return;
  const all = [...place.querySelectorAll<HTMLElement>("summary")];
  const next = all[from === place ? (step > 0 ? 0 : -1) : all.indexOf(from) + step];
  if (next !== undefined) {
    event.preventDefault();
    next.focus();
  }
});

// Ages grow without a message.
setInterval(draw, 10_000);

say(part("broker", HTMLElement), broker);
const who = stored();
if (who === undefined) signIn.hidden = false;
else connect(who);
