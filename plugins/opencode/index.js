// jig-session.opencode: publishes what OpenCode's sessions do. Installed and removed by: jig-session hooks
// Each event becomes one call of `jig-session hook opencode` with the few fields that are shown; no prompt, argument
// or output leaves OpenCode. Whatever fails here, OpenCode goes on.
import { spawn } from "node:child_process";

/** Filled in at installation. */
const INSTALLED = "jig-session";
const PROGRAM = process.env.JIG_SESSION_HOOK || INSTALLED || "jig-session";
const EDITORS = ["edit", "multiedit", "write", "patch", "apply_patch"];
const PATHS = ["filePath", "patchText"];
const LISTS = ["todowrite"];
/** How long a guard may take before the edit goes on. */
const GUARD_MS = 2500;

/** Runs the program with a payload; gives what it printed. */
function run(args, payload, limit) {
  return new Promise((resolve) => {
    let output = "";
    let child;
    const done = () => resolve(output);
    try {
      child = spawn(PROGRAM, args, { stdio: ["pipe", "pipe", "ignore"] });
    } catch {
      return done();
    }
    const timer = setTimeout(() => {
      child.kill();
      done();
    }, limit);
    timer.unref?.();
    child.on("error", done);
    child.on("close", () => {
      clearTimeout(timer);
      done();
    });
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

/** The named fields of an object. */
function pick(object, names) {
  const picked = {};
  for (const name of names) if (object?.[name] !== undefined) picked[name] = object[name];
  return picked;
}

/** What is shown of a session. */
function info(session) {
  if (!session) return undefined;
  const { cache, ...tokens } = session.tokens ?? {};
  return {
    ...pick(session, ["id", "parentID", "directory", "version", "cost"]),
    ...(session.model ? { model: pick(session.model, ["id", "providerID"]) } : {}),
    ...(session.tokens ? { tokens: { ...pick(tokens, ["input", "output"]), cache: pick(cache, ["read", "write"]) } } : {}),
  };
}

/** What the request for an answer held; nothing of an answer that has none. */
function context(message, windowOf) {
  const { input = 0, cache } = message?.tokens ?? {};
  const tokens = input + (cache?.read ?? 0) + (cache?.write ?? 0);
  if (message?.role !== "assistant" || !tokens) return undefined;
  const window = windowOf(message.providerID, message.modelID);
  return { context: { tokens, ...(window ? { window } : {}) } };
}

/** What is shown of an event, by its type. */
const SHOWN = {
  "session.created": (data) => ({ info: info(data.info) }),
  "session.updated": (data) => ({ info: info(data.info) }),
  "session.deleted": (data) => ({ info: info(data.info) }),
  "message.updated": (data, windowOf) => context(data.info, windowOf),
  "session.status": (data) => ({ status: pick(data.status, ["type"]) }),
  "session.idle": () => ({}),
  "session.error": (data) => ({ error: pick(data.error, ["name"]) }),
  "permission.asked": (data) => ({ tool: pick(data.tool, ["callID"]) }),
  "permission.updated": (data) => pick(data, ["callID"]),
  "permission.replied": () => ({}),
  "question.asked": (data) => ({ tool: pick(data.tool, ["callID"]) }),
  "question.replied": () => ({}),
  "question.rejected": () => ({}),
  "session.execution.started": () => ({}),
  "session.execution.succeeded": () => ({}),
  "session.execution.failed": () => ({}),
  "session.execution.interrupted": () => ({}),
  "form.created": () => ({}),
  "form.replied": () => ({}),
  "form.cancelled": () => ({}),
};

/** What becomes of OpenCode's events; `send` takes what is published, in order, `windowOf` knows the models' limits. */
function translator(send, windowOf = () => undefined) {
  /** The session above each subagent's. */
  const parents = new Map();
  const busy = new Set();
  const last = new Map();

  /** A subagent's session is no session of its own: only that it works is told, of the one above it. */
  function subagent(child, works) {
    if (works === busy.has(child)) return;
    works ? busy.add(child) : busy.delete(child);
    const type = works ? "subagent.started" : "subagent.ended";
    send({ hook: "event", event: { type, properties: { sessionID: parents.get(child) } } });
  }

  function event(type, data) {
    const shown = data && SHOWN[type]?.(data, windowOf);
    const id = data?.sessionID ?? data?.info?.sessionID ?? data?.info?.id;
    if (!shown || !id) return;
    if (type.startsWith("session.") && data.info?.parentID) parents.set(id, data.info.parentID);
    if (parents.has(id)) {
      if (type === "session.status") subagent(id, data.status?.type !== "idle");
      if (type === "session.idle" || type === "session.deleted") subagent(id, false);
      // A person who is asked by a subagent waits for nobody else.
      if (!/^(permission|question|form)\./.test(type)) return;
    }
    const line = { hook: "event", event: { type, properties: { sessionID: parents.get(id) ?? id, ...shown } } };
    // The same again is no news: OpenCode tells that it is busy with every step.
    const text = JSON.stringify(line);
    const key = `${id} ${/^(session|message)\./.test(type) ? type : "ask"}`;
    if (last.get(key) === text && /status|updated/.test(type)) return;
    last.set(key, text);
    if (type === "session.status") last.delete(`${id} session.idle`);
    send(line);
  }

  function tool(hook, input, output) {
    if (parents.has(input.sessionID)) return;
    const given = output?.args ?? input.args;
    let args = EDITORS.includes(input.tool) ? pick(given, PATHS) : {};
    // Of a list only how each entry stands.
    if (LISTS.includes(input.tool) && Array.isArray(given?.todos))
      args = { todos: given.todos.map((entry) => pick(entry, ["status"])) };
    send({ hook, input: { ...pick(input, ["sessionID", "tool", "callID"]), args } });
  }

  return { event, tool };
}

/** Publishes one payload after the other, whatever OpenCode does meanwhile. */
function publisher() {
  let queue = Promise.resolve();
  return (payload) => {
    queue = queue.then(() => run(["hook", "opencode"], payload, 10_000)).catch(() => {});
  };
}

/** Throws when another session holds what a tool is about to write. */
async function guard(directory, input, args) {
  if (!EDITORS.includes(input.tool)) return;
  const payload = { sessionID: input.sessionID, directory, tool: input.tool, args: pick(args, PATHS) };
  const answer = await run(["bus", "guard", "opencode"], payload, GUARD_MS);
  let reason;
  try {
    reason = answer && JSON.parse(answer).reason;
  } catch {
    return;
  }
  if (reason) throw new Error(reason);
}

/** Announces mail of the session bus: a text that goes with the prompt. */
async function notice(directory, input, output) {
  const answer = await run(["bus", "notice", "opencode", "chat.message"], { sessionID: input.sessionID, directory }, GUARD_MS);
  try {
    const { text } = JSON.parse(answer);
    const last = output.parts.at(-1);
    // Parts are read in the order of their ids.
    if (text && last) output.parts.push({ ...pick(last, ["sessionID", "messageID"]), id: `${last.id}jig`, type: "text", text, synthetic: true });
  } catch {
    // There is no mail.
  }
}

/** The limits of the models, once OpenCode has told them. */
function windows(client) {
  const known = new Map();
  const take = (answer) => {
    for (const provider of answer?.data?.providers ?? [])
      for (const [id, model] of Object.entries(provider.models ?? {})) known.set(`${provider.id} ${id}`, model.limit?.context);
  };
  let asked = false;
  return (provider, model) => {
    // Not at the start: OpenCode waits for its plugins then.
    if (!asked) client?.config?.providers?.().then(take, () => {});
    asked = true;
    return known.get(`${provider} ${model}`);
  };
}

/** The plugin of the first API: a function that gives hooks. */
async function plugin({ directory, client }) {
  const translate = translator(publisher(), windows(client));
  return {
    "chat.message": async (input, output) => notice(directory, input, output),
    event: async ({ event }) => translate.event(event.type, event.properties),
    "tool.execute.before": async (input, output) => {
      await guard(directory, input, output?.args);
      translate.tool("tool.execute.before", input, output);
    },
    "tool.execute.after": async (input, output) => translate.tool("tool.execute.after", input, output),
  };
}

/** The plugin of the second API: an id and a `setup`, which subscribes to events. */
plugin.id = "jig-session";
plugin.setup = async (ctx) => {
  const translate = translator(publisher());
  const take = (event) => translate.event(event?.type, event?.data ?? event?.properties);
  const events = await ctx?.event?.subscribe?.(take);
  if (events?.[Symbol.asyncIterator]) {
    (async () => {
      for await (const event of events) take(event);
    })().catch(() => {});
  }
};

/** For tests: the first API takes every exported function for a plugin. */
plugin.translator = translator;

export default plugin;
