// The bridge between Pi, which loads only TypeScript, and `jig-session host`: one child process a session,
// newline-delimited JSON on its stdin and stdout. It holds no logic of its own: events go out, what the host
// asks for is done, and only what is listed here crosses.
//
// It runs $JIG_SESSION_HOST (a program, or a JSON list of program and arguments), else the program it was
// installed for, else `jig-session` on the PATH. It imports nothing but Node's own modules: an extension
// with an import that cannot be found would keep Pi from starting.
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, realpathSync, statSync, writeSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { ExtensionAPI, ExtensionCommandContext, ExtensionContext } from "@earendil-works/pi-coding-agent";

const PROTOCOL = 1;
const BRIDGE = "0.1.0";
const INSTALLED = ""; // written by `jig-session hooks install pi`
// Written with it: the commands that program will offer, so that Pi's start need not wait for it. Where one of these
// variables is set this Pi may be another one's child, which is offered nothing: only the program can tell.
const OFFER: { commands: any[]; unless: string[] } = { commands: [], unless: [] };
const START_MS = 1000; // how long a session waits for the host's first answer
const AFTER_START_MS = 100; // a Pi that waits for a person has its start behind it by then
const STOP_MS = 1000; // how long session_shutdown waits for the host to end
const RESTARTS = 3; // restarts of a crashed host in a row, each after a longer pause
const HEALTHY_MS = 60_000; // a host that lived so long begins a new row; after a full row the next one is tried so much later
const ASK_MS = 250; // how long a prompt waits for the host
const GUARD_MS = 2000; // how long an editing tool waits: only a machine that stands still needs it
const QUEUE_MAX = 8 << 20; // characters that may wait for a host that does not read
const LINE_MAX = 1 << 20; // bytes of a line; the host takes no longer one
const PAGE = 500; // entries a line, at most
const PAGE_CHARS = 256 << 10; // characters a line of entries, about
const PAGE_MS = 5; // as long as making a line of entries may keep Pi
const STEPS = 200; // entries that are walked at once
const BASH_MS = 200; // Pi does not say when a command of the user's has ended: its entry is looked for
const PROMPT_UNITS = 140; // of a prompt's text, and only if the host wants it
const NAME_UNITS = 128; // longer than this is no name of an action
const PATH_UNITS = 4096; // longer than this is no path

// Which fields of which event cross the pipe; a dot goes into an object. `turn_end` is not among them: with a
// listener for it Pi builds the whole context anew at the end of every turn.
const EVENTS: Record<string, string[]> = {
  session_start: ["reason", "previousSessionFile"],
  session_info_changed: ["name"],
  session_before_compact: ["reason"],
  session_compact: ["reason", "compactionEntry.usage"],
  session_compact_failed: ["reason", "aborted"],
  session_tree: ["newLeafId", "oldLeafId"],
  agent_start: [],
  agent_end: [],
  agent_settled: ["aborted"],
  ui_prompt_start: ["kind"],
  ui_prompt_end: ["kind"],
  user_bash: [],
  message_end: [
    "message.role", "message.customType", "message.usage", "message.provider", "message.model",
    "message.stopReason", "message.toolCallId", "message.toolName", "message.isError",
  ],
  tool_execution_start: ["toolCallId", "toolName", "parentToolCallId", "args.path", "args.action"],
  tool_execution_end: ["toolCallId", "toolName", "parentToolCallId", "isError", "durationMs"],
  model_select: ["model.provider", "model.id", "model.name", "model.contextWindow", "source"],
  thinking_level_select: ["level"],
};
// The same for the events of other extensions.
const BUS_EVENTS: Record<string, string[]> = {
  "jig:decision": ["toolCallId", "tool", "action", "decision", "answer"],
  "subagents:created": ["id", "type"],
  "subagents:started": ["id", "type"],
  "subagents:completed": ["id", "type"],
  "subagents:failed": ["id", "type"],
};
const GUARDED = new Set(["edit", "write"]);
const CALLS = new Set([
  "pi.getActiveTools", "pi.setActiveTools", "pi.appendEntry", "pi.setSessionName", "pi.sendMessage",
  "pi.sendUserMessage", "ctx.isIdle", "ctx.ui.notify",
]);
const LOST = "jig-session ended before it answered and is being started anew; what was asked may have been done: look before asking again";
const UNREAD = "jig-session does not take this: it is too long, or too much waits for it already";
const ENDED = "jig-session is not running in this session any more; reloading Pi starts it again";
const SWITCHES = "jig-session.switches";
const NOTICE = "jig-session.notice"; // a message that tells of mail

type Answer = { resolve: (value: any) => void; reject: (error: Error) => void; update?: (value: any) => void };

function disabled(name: string): boolean {
  return (process.env.PI_DISABLED_EXTENSIONS ?? "").split(/[\s,:;]+/).includes(name);
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true; // an exception costs more than the look
  } catch {
    return false;
  }
}

function isAsSeen(file: any): boolean {
  try {
    const found = statSync(file.path, { throwIfNoEntry: false, bigint: true });
    return (found === undefined ? null : String(found.mtimeNs)) === (file.at ?? null);
  } catch {
    return false;
  }
}

function hostCommand(): string[] | undefined {
  const named = process.env.JIG_SESSION_HOST;
  if (named) {
    try {
      const list = named.startsWith("[") ? JSON.parse(named) : [named, "host"];
      return list.length > 0 ? list : undefined;
    } catch {
      return undefined;
    }
  }
  if (INSTALLED && isFile(INSTALLED)) return [INSTALLED, "host"];
  const program = process.platform === "win32" ? "jig-session.exe" : "jig-session";
  const found = (process.env.PATH ?? "").split(delimiter).find((folder) => folder && isFile(join(folder, program)));
  return found ? [join(found, program), "host"] : undefined;
}

// Pi's version, from the package its program lies in. Importing Pi for it could load all of it a second time.
function piVersion(): string | undefined {
  try {
    for (let folder = dirname(realpathSync(process.argv[1])); ; folder = dirname(folder)) {
      const path = join(folder, "package.json");
      if (isFile(path)) {
        const found = JSON.parse(readFileSync(path, "utf8"));
        if (String(found.name).endsWith("pi-coding-agent")) return String(found.version);
      }
      if (dirname(folder) === folder) return undefined;
    }
  } catch {
    return undefined;
  }
}

// The version that runs, whatever an upgrade in place has put there since: it is read once a process.
function runningVersion(): string | undefined {
  const known = globalThis as any;
  const key = Symbol.for("jig-session.pi-version");
  if (!(key in known)) known[key] = piVersion();
  return known[key];
}

// Text of a run. Pi sends what extensions write to process.stdout to its stderr; the run's own text goes to stdout.
function printText(text: string): void {
  try {
    writeSync(1, text);
  } catch {
    process.stdout.write(text); // a pipe that is full at this moment
  }
}

// Takes the named fields out of an event.
function picker(fields: string[]): (source: any) => any {
  const paths = fields.map((field) => field.split("."));
  return (source) => {
    const out: any = {};
    for (const [name, inner] of paths) {
      const value = inner === undefined ? source?.[name] : source?.[name]?.[inner];
      if (value === undefined) continue;
      if (inner === undefined) out[name] = value;
      else (out[name] ??= {})[inner] = value;
    }
    return out;
  };
}

const length = (value: unknown): number =>
  typeof value === "string" ? value.length : value === undefined || value === null ? 0 : (JSON.stringify(value)?.length ?? 0);

function textLength(content: any): number {
  if (typeof content === "string") return content.length;
  if (!Array.isArray(content)) return 0;
  return content.reduce((sum, part) => sum + (part?.type === "text" ? length(part.text) : 0), 0);
}

// How much of what a message holds, in characters; never the text itself.
function sizes(message: any): any {
  if (!message) return undefined;
  const content = Array.isArray(message.content) ? message.content : [];
  const sum = (type: string, of: (part: any) => number) =>
    content.reduce((total: number, part: any) => total + (part?.type === type ? of(part) : 0), 0);
  switch (message.role) {
    case "assistant":
      return {
        text: textLength(message.content),
        thinking: sum("thinking", (part) => length(part.thinking)),
        toolCalls: sum("toolCall", (part) => length(part.name) + length(part.arguments)),
      };
    case "toolResult":
      return { toolResult: textLength(message.content) };
    case "bashExecution":
      return { text: length(message.command) + length(message.output) };
    case "system":
      return undefined;
    default:
      return { text: textLength(message.content) };
  }
}

// A system message holds the prompt by sections, and the declarations of the tools it adds.
function promptSizes(message: any): any {
  if (!message) return {};
  const sections = message.sections && Object.fromEntries(
    Object.entries(message.sections).map(([name, text]) => [name, text === null ? null : length(text)]),
  );
  const named = (tools: any) => (Array.isArray(tools) ? tools : undefined);
  return {
    sections: sections ?? (message.content ? { preamble: textLength(message.content) } : undefined),
    toolsAdded: named(message.toolsAdded)?.map((tool: any) => ({ name: tool.name, chars: length(tool) })),
    toolsRemoved: named(message.toolsRemoved)?.map((tool: any) => (typeof tool === "string" ? tool : tool?.name)),
  };
}

// An entry of the session without its texts. PATHS joins a tool's result to the path its call named.
function reduce(entry: any, paths: Map<string, string>, live: Set<string> | undefined): any {
  const base = { id: entry.id, type: entry.type, at: entry.timestamp, inContext: live?.has(entry.id) };
  const message = entry.message;
  switch (entry.type) {
    case "message": {
      if (message.role === "assistant" && Array.isArray(message.content)) {
        for (const part of message.content) {
          if (part?.type === "toolCall" && typeof part.arguments?.path === "string") paths.set(part.id, part.arguments.path);
        }
      }
      return {
        ...base,
        role: message.role,
        customType: message.customType,
        callId: message.toolCallId,
        tool: message.toolName,
        path: message.toolCallId === undefined ? undefined : paths.get(message.toolCallId),
        isError: message.isError,
        provider: message.provider,
        model: message.model,
        stopReason: message.stopReason,
        usage: message.usage,
        chars: sizes(message),
        ...(message.role === "system" ? promptSizes(message) : {}),
      };
    }
    case "compaction":
    case "branch_summary":
      return { ...base, usage: entry.usage, chars: { text: length(entry.summary) }, ...promptSizes(entry.systemMessage) };
    case "custom_message":
      return { ...base, customType: entry.customType, chars: { text: textLength(entry.content) } };
    case "custom":
      return { ...base, customType: entry.customType, data: entry.customType === SWITCHES ? entry.data : undefined };
    case "usage":
      return { ...base, provider: entry.provider, model: entry.model, usage: entry.usage };
    case "model_change":
      return { ...base, provider: entry.provider, model: entry.modelId };
    case "session_info":
      return { ...base, name: entry.name };
    default:
      return base;
  }
}

// Ids of the mail that this tool result has taken out of the inbox.
const taken = (details: any): string[] =>
  details?.result?.action === "inbox" ? (details.result.messages ?? []).map((mail: any) => String(mail?.id)) : [];

// A notice whose mail has been read says nothing any more: it does not go to the model again.
function withoutReadNotices(messages: any[], readMail: Set<string>): any[] | undefined {
  const read = new Set(readMail);
  for (const message of messages) {
    if (message?.role === "toolResult" && message.toolName === "session") taken(message.details).forEach((id) => read.add(id));
  }
  const stale = (message: any) =>
    message?.customType === NOTICE && Array.isArray(message.details?.ids) && message.details.ids.every((id: string) => read.has(id));
  return messages.some(stale) ? messages.filter((message) => !stale(message)) : undefined;
}

export default function (pi: ExtensionAPI) {
  // Loaded twice (a folder and -e, say), Pi would rename the commands to NAME:1 and NAME:2.
  const owner = Symbol.for("jig-session.bridge");
  const shared = globalThis as any;
  const command = disabled("jig-session") ? undefined : hostCommand();
  if (!command || shared[owner]) return;
  shared[owner] = true;
  const version = runningVersion();
  const withoutBus = disabled("session-bus");

  let ctx: ExtensionContext; // the newest context Pi handed out
  let child: ChildProcess | undefined;
  let later: { timer: NodeJS.Timeout; start: () => Promise<void> } | undefined; // the first host, once Pi has started
  let closing = false;
  let restarts = 0;
  let restart: { timer: NodeJS.Timeout; done: Promise<void> } | undefined; // the next host is on its way
  let ready: (() => void) | undefined;
  let guard = false;
  let want = new Set<string>();
  let hidden = new Set<string>(); // skills left out of the prompt
  let quiet: any[] | undefined; // files: while they are as the host saw them, a prompt need not ask it
  let told = ""; // the tools and skills the host knows of
  let sectionsTold = false; // the host knows the prompt by its sections
  const readMail = new Set<string>(); // mail that was read elsewhere than with the tool
  let said = ""; // lines that have not left yet
  let lost = 0; // lines that could not leave since the host was last told of such
  let leaving: NodeJS.Immediate | undefined;
  let nextId = 1;
  const waiting = new Map<string, Answer>();
  const commandContexts = new Map<string, ExtensionCommandContext>();
  const registered = new Set<string>();
  const guidelines: Record<string, string[]> = {}; // of the tools registered here
  let panel: { lines: string[]; done: (value: any) => void; tui: any } | undefined;
  let ownPanel = false; // the dialog Pi is about to tell of is ours
  let blocked: string | null | undefined; // what the component Pi is about to tell of waits for; null: for nobody

  // Lines leave in the order in which they were said.
  const flush = () => {
    clearImmediate(leaving);
    leaving = undefined;
    const text = said;
    said = "";
    if (text && child?.stdin?.writable) child.stdin.write(text);
  };
  const hasRoom = () => (child?.stdin?.writableLength ?? 0) + said.length <= QUEUE_MAX;
  // What had to be left out is told as soon as there is room: the host then counts anew.
  const tellLost = () => {
    if (lost === 0 || !hasRoom()) return;
    said += `${JSON.stringify({ t: "lost", lines: lost })}\n`;
    lost = 0;
  };
  // What Pi tells of leaves once Pi waits for something: its run need not wait for a pipe. False: it will not leave.
  const sendSoon = (line: unknown): boolean => {
    if (!child && !later) return false;
    const text = JSON.stringify(line);
    tellLost();
    if (!hasRoom() || (text.length > LINE_MAX / 3 && Buffer.byteLength(text) > LINE_MAX)) {
      lost += 1;
      return false;
    }
    said += `${text}\n`;
    if (child) leaving ??= setImmediate(flush);
    return true;
  };
  const send = (line: unknown): boolean => {
    const leaves = sendSoon(line);
    flush();
    return leaves;
  };
  // Until what was written has left, or the host has ended.
  const drained = (pipe: NonNullable<ChildProcess["stdin"]>) =>
    new Promise<void>((resolve) => {
      if (!pipe.writableNeedDrain || pipe.destroyed) return void setImmediate(resolve);
      const done = () => {
        pipe.off("drain", done);
        pipe.off("close", done);
        resolve();
      };
      pipe.on("drain", done);
      pipe.on("close", done);
    });

  // The host must not keep Pi alive, but an answer Pi waits for must: in print mode nothing else
  // keeps the event loop running, and Node would end in the middle of the tool call.
  const hold = () => {
    const how = waiting.size > 0 ? "ref" : "unref";
    child?.[how]();
    for (const pipe of [child?.stdin, child?.stdout] as any[]) pipe?.[how]?.();
  };

  const settle = (id: string) => {
    const entry = waiting.get(id);
    waiting.delete(id);
    hold();
    return entry;
  };

  const failWaiting = (reason: string) => {
    const entries = [...waiting.values()];
    waiting.clear();
    hold();
    for (const entry of entries) entry.reject(new Error(reason));
    commandContexts.clear();
    panel?.done(undefined);
  };

  const ask = (kind: string, line: Record<string, unknown>, update?: (value: any) => void, id = String(nextId++)) =>
    new Promise<any>((resolve, reject) => {
      if (!child) return reject(new Error(ENDED));
      waiting.set(id, { resolve, reject, update });
      hold();
      if (!send({ t: kind, id, ...line })) settle(id)?.reject(new Error(UNREAD));
    });

  // A call that comes before the first host has been started starts it. One that comes while a crashed host is started
  // anew waits for it; in print mode only this timer keeps Node.
  const started = async () => {
    await later?.start();
    while (!child && restart) {
      restart.timer.ref();
      await restart.done;
    }
  };

  // A question Pi must not wait for: no answer in time is no answer.
  const askBriefly = (kind: string, line: Record<string, unknown>, ms = ASK_MS) =>
    new Promise<any>((resolve) => {
      if (!child) return resolve(undefined);
      const id = String(nextId++);
      const timer = setTimeout(() => settle(id)?.resolve(undefined), ms);
      const end = (value?: any) => {
        clearTimeout(timer);
        resolve(value);
      };
      waiting.set(id, { resolve: end, reject: () => end() });
      hold();
      if (!send({ t: kind, id, ...line })) settle(id)?.resolve(undefined);
    });

  const offers = () => ({
    active: pi.getActiveTools(),
    tools: pi.getAllTools().map((tool: any) => ({ name: tool.name, exposure: tool.exposure, source: tool.sourceInfo?.source, chars: declaration(tool) })),
    skills: pi.getCommands().filter((item: any) => item.source === "skill").map((item: any) => item.name.replace(/^skill:/, "")),
  });
  const declaration = (tool: any) => length({ name: tool.name, description: tool.description, parameters: tool.parameters });

  // Tools and skills may come and go at any time; the host judges requests by what there is.
  const tellOffers = () => {
    const now = offers();
    const text = JSON.stringify(now);
    if (text === told) return;
    told = text;
    send({ t: "tools", ...now });
  };
  // The same once Pi waits for something, such as its model: before that, other extensions would wait for it.
  const tellOffersIn = (ms: number) => {
    const mine = child;
    const timer = setTimeout(() => {
      try {
        if (child && child === mine && !closing) tellOffers();
      } catch {
        // Pi has replaced this session.
      }
    }, ms);
    timer.unref?.();
  };

  // The host may hide skills from this run's prompt and add one message to it.
  const beforePrompt = async (event: any) => {
    const options = event.systemPromptOptions ?? {};
    const line = {
      messageType: event.messageType ?? "user",
      skills: options.skills?.map((skill: any) => ({ name: skill.name, path: skill.filePath, chars: length(skill.description) })),
      contextFiles: options.contextFiles?.map((file: any) => ({ path: file.path, chars: length(file.content) })),
      // Pi writes the prompt out anew for each reader; the sizes of its sections say the same and more.
      promptChars: sectionsTold ? undefined : length(event.systemPrompt),
      text: want.has("prompt") && typeof event.prompt === "string" ? event.prompt.slice(0, PROMPT_UNITS) : undefined,
    };
    const isQuiet = quiet?.every(isAsSeen) === true;
    if (isQuiet) sendSoon({ t: "prompt", id: String(nextId++), ...line, waits: false });
    const answer = isQuiet ? undefined : await askBriefly("prompt", line);
    tellOffersIn(20);
    if (Array.isArray(answer?.hidden)) hidden = new Set(answer.hidden);
    for (const id of answer?.read ?? []) readMail.add(String(id));
    if (hidden.size > 0 && options.skills) options.skills = options.skills.filter((skill: any) => !hidden.has(skill.name));
    if (answer?.message) return { message: answer.message };
  };

  // A tool call is blocked only by a reason from the host. A throw here would block it too.
  const beforeTool = async (event: any) => {
    const path = event.input?.path;
    if (!guard || !GUARDED.has(event.toolName) || typeof path !== "string") return undefined;
    const answer = await askBriefly("guard", { toolCallId: event.toolCallId, tool: event.toolName, path }, GUARD_MS);
    return typeof answer?.deny === "string" ? { block: true, reason: answer.deny } : undefined;
  };

  // One line that expands to what the model was given.
  const renderResult = (result: any, options: any) => {
    const text = (result?.content ?? []).map((part: any) => part?.text ?? "").join("\n");
    const short = result?.details?.line;
    const lines = (options?.expanded || typeof short !== "string" ? text : short).split("\n");
    return { render: (width: number) => lines.map((line: string) => cut(line, width)), invalidate() {} };
  };
  // Pi's own measure of a line, once it is there; before, what is certainly not too wide.
  let cut = (line: string, width: number) => [...line.replace(/[^\x20-\x7e]/g, "?")].slice(0, width).join("");
  const loadCut = () => void import("@earendil-works/pi-tui").then(({ truncateToWidth }: any) => (cut = truncateToWidth)).catch(() => {});

  const registerTool = (definition: any) => {
    if (withoutBus && definition.name === "session") return;
    if (registered.has(`tool:${definition.name}`)) return;
    registered.add(`tool:${definition.name}`);
    guidelines[definition.name] = definition.promptGuidelines;
    pi.registerTool({
      ...definition,
      ...(definition.name === "session" ? { renderResult } : {}),
      async execute(toolCallId: string, params: any, signal: AbortSignal | undefined, onUpdate: any) {
        const id = String(nextId++);
        const abort = () => send({ t: "cancel", id });
        signal?.addEventListener("abort", abort, { once: true });
        try {
          await started();
          return await ask("tool", { name: definition.name, toolCallId, params }, onUpdate, id);
        } finally {
          signal?.removeEventListener("abort", abort);
        }
      },
    });
  };

  const registerCommand = (definition: any) => {
    if (withoutBus && (definition.name === "sessions" || definition.name === "team")) return;
    // Another extension's command of that name stays the user's.
    if (definition.name === "team" && pi.getCommands().some((item: any) => item.name === "team")) return;
    if (registered.has(`command:${definition.name}`)) return;
    registered.add(`command:${definition.name}`);
    pi.registerCommand(definition.name, {
      description: definition.description,
      handler: async (args: string, commandCtx: ExtensionCommandContext) => {
        const id = String(nextId++);
        commandContexts.set(id, commandCtx);
        try {
          await started();
          const text = await ask("command", { name: definition.name, args }, undefined, id);
          if (typeof text === "string") printText(`${text}\n`);
        } finally {
          commandContexts.delete(id);
        }
      },
    });
  };

  const openPanel = async (line: any) => {
    if (ctx.mode !== "tui" || panel) return send({ t: "key", closed: true });
    const { truncateToWidth } = await import("@earendil-works/pi-tui");
    ownPanel = true;
    let size = "";
    try {
      await ctx.ui.custom((tui: any, _theme: any, _keys: any, done: any) => {
        panel = { lines: line.lines ?? [], done, tui };
        return {
          render: (width: number) => {
            const rows = tui.terminal?.rows;
            if (size !== `${width}x${rows}`) {
              size = `${width}x${rows}`;
              send({ t: "key", width, rows });
            }
            // A line wider than the terminal ends Pi with an exception, so cut here, at the last moment.
            return (panel?.lines ?? []).map((text) => truncateToWidth(text.replace(/[\r\n\t]/g, " "), width));
          },
          handleInput: (data: string) => {
            if (data === "\x03" || data === "\x1b[99;5u") done(undefined); // Ctrl+C always gets the user out
            else send({ t: "key", data });
          },
          invalidate() {},
        };
      });
    } finally {
      panel = undefined;
      send({ t: "key", closed: true });
    }
  };

  const callPi = async (line: any): Promise<any> => {
    if (!CALLS.has(line.fn)) throw new Error(`${String(line.fn)} may not be called`);
    const [root, ...names] = line.fn.split(".");
    let self: any;
    let value: any = root === "pi" ? pi : (commandContexts.get(line.command ?? "") ?? ctx);
    for (const name of names) {
      self = value;
      value = value?.[name];
    }
    if (typeof value !== "function") throw new Error(`this Pi has no ${line.fn}`);
    return await value.apply(self, line.args ?? []);
  };

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  // The entries that Pi's buildContextEntries gives, which would keep Pi for as long as it takes to walk all of a long
  // session: the path from the leaf up to the newest compaction, and what that one has kept.
  const contextIds = async (manager: any): Promise<Set<string> | undefined> => {
    if (!manager.buildContextEntries) return undefined;
    const ids = new Set<string>();
    const before: string[] = [];
    let compaction: any;
    let steps = 0;
    for (let entry = manager.getLeafEntry(); entry; entry = entry.parentId ? manager.getEntry(entry.parentId) : undefined) {
      if (!compaction) ids.add(entry.id);
      else if (entry.message?.role !== "system") before.push(entry.id);
      if (compaction && entry.id === compaction.firstKeptEntryId) {
        before.forEach((id) => ids.add(id));
        break;
      }
      if (!compaction && entry.type === "compaction") compaction = entry;
      if (++steps % STEPS === 0) await turn();
    }
    return ids;
  };

  // The switches that the session stored last. They are looked for while the host starts, since its first prompt waits for
  // both.
  let looked: Promise<{ entries: any[]; switches?: unknown }> | undefined;
  const look = async () => {
    const entries = (ctx.sessionManager as any).getEntries(); // which copies them all
    for (let at = entries.length - 1; at >= 0; at--) {
      if (entries[at].type === "custom" && entries[at].customType === SWITCHES) return { entries, switches: entries[at].data };
      if (at % (10 * STEPS) === 0) await turn();
    }
    return { entries };
  };

  // A long session has hundreds of thousands of entries: each line waits for the one before it to leave, and between two
  // Pi does whatever it has to do. Their number comes with them, so that the host knows when it has all; and with the
  // first the switches, which prompts wait for.
  const sendEntries = async (id: unknown) => {
    const pipe = child?.stdin;
    const manager = ctx.sessionManager as any;
    // A prompt that waited for the host goes on first.
    await turn();
    let found = await (looked ?? look());
    looked = undefined;
    if (manager.getEntryCount?.() !== found.entries.length) found = await look(); // more have come meanwhile
    const { entries, switches } = found;
    if (!pipe || child?.stdin !== pipe) return;
    const line = (page: string[], more: boolean, first?: unknown) => {
      const rest = JSON.stringify({ more, total: entries.length, switches: first });
      said += `{"t":"entries","id":${JSON.stringify(id ?? null)},"entries":[${page.join(",")}],${rest.slice(1)}\n`;
      flush();
    };
    // What is in the context takes long to find in a long session: prompts do not wait for it.
    const isLong = entries.length > PAGE;
    if (isLong) line([], true, switches);
    const live = await contextIds(manager);
    const paths = new Map<string, string>();
    let next = 0;
    do {
      if (!pipe || child?.stdin !== pipe) return;
      const isFirst = next === 0 && !isLong;
      const until = performance.now() + PAGE_MS;
      const page: string[] = [];
      let size = 0;
      while (next < entries.length && page.length < PAGE && size < PAGE_CHARS && (page.length === 0 || performance.now() < until)) {
        const reduced = reduce(entries[next++], paths, live);
        sectionsTold ||= reduced.sections !== undefined && reduced.inContext !== false;
        const text = JSON.stringify(reduced);
        page.push(text);
        size += text.length;
      }
      line(page, next < entries.length, isFirst ? switches : undefined);
      await drained(pipe);
    } while (next < entries.length);
  };

  const handle = async (line: any) => {
    switch (line.op) {
      case "ready":
        guard = line.guard === true;
        if (Array.isArray(line.want)) want = new Set(line.want);
        for (const definition of line.tools ?? []) registerTool(definition);
        for (const definition of line.commands ?? []) registerCommand(definition);
        ready?.();
        tellOffersIn(0);
        break;
      case "entries":
        await sendEntries(line.id);
        break;
      case "call": {
        let result: any;
        let error: string | undefined;
        try {
          result = await callPi(line);
        } catch (failure) {
          error = String((failure as Error)?.message ?? failure);
        }
        if (line.id !== undefined) send({ t: "return", id: line.id, result: result ?? null, error });
        break;
      }
      case "quiet":
        quiet = Array.isArray(line.files) ? line.files : undefined;
        break;
      case "skills":
        hidden = new Set(line.hidden ?? []);
        break;
      case "update":
        waiting.get(String(line.id))?.update?.(line.result);
        break;
      case "result":
      case "done": {
        const entry = settle(String(line.id));
        if (line.error !== undefined && line.error !== null) entry?.reject(new Error(line.error));
        else entry?.resolve(line.op === "done" ? line.text : (line.result ?? line));
        break;
      }
      case "reload": {
        // Only a command's context can reload; the reload ends this instance, so nothing follows it.
        const commandCtx = commandContexts.get(String(line.id));
        settle(String(line.id))?.resolve(undefined);
        await commandCtx?.waitForIdle();
        await commandCtx?.reload();
        break;
      }
      case "panel":
        if (line.close) panel?.done(undefined);
        else if (panel) {
          panel.lines = line.lines ?? [];
          panel.tui.requestRender();
        } else void openPanel(line).catch(() => {});
        break;
    }
  };

  const hello = (reason: string) => {
    const manager = ctx.sessionManager;
    const now = offers();
    told = JSON.stringify(now);
    return {
      t: "hello",
      protocol: PROTOCOL,
      bridge: BRIDGE,
      pi: version,
      reason,
      pid: process.pid,
      cwd: ctx.cwd,
      mode: ctx.mode ?? (ctx.hasUI ? "tui" : "print"),
      session: manager.getSessionId(),
      file: manager.getSessionFile() ?? null,
      leaf: manager.getLeafId() ?? null,
      name: pi.getSessionName() ?? null,
      agentDir: process.env.PI_CODING_AGENT_DIR || undefined,
      model: ctx.model && { provider: ctx.model.provider, id: ctx.model.id, name: ctx.model.name, contextWindow: ctx.model.contextWindow },
      thinking: pi.getThinkingLevel(),
      usage: null, // Pi walks the whole session for its estimate; the window is the model's
      ...now,
    };
  };

  const launch = () => {
    const [program, ...args] = command;
    let buffer = "";
    let mine: ChildProcess;
    try {
      // Detached: the terminal's signals miss it, so it outlives a closed terminal and can clean up.
      // No cwd: a working folder that was removed would make spawn fail.
      mine = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], detached: true });
    } catch {
      return;
    }
    child = mine;
    guard = false;
    quiet = undefined;
    sectionsTold = false;
    hold();
    const born = performance.now();
    mine.stdin?.on("error", () => {});
    mine.stdin?.on("drain", () => {
      if (child !== mine || lost === 0) return;
      tellLost();
      flush();
    });
    mine.stdout?.on("error", () => {});
    mine.stdout?.setEncoding("utf8");
    mine.stdout?.on("data", (data: string) => {
      buffer += data;
      let end: number;
      while ((end = buffer.indexOf("\n")) >= 0) {
        const text = buffer.slice(0, end);
        buffer = buffer.slice(end + 1);
        if (closing || child !== mine || !text) continue;
        try {
          void handle(JSON.parse(text)).catch(() => {});
        } catch {
          // A line that is not JSON is not for us.
        }
      }
    });
    const gone = () => {
      if (child !== mine) return;
      child = undefined;
      said = "";
      lost = 0;
      ready?.();
      if (performance.now() - born > HEALTHY_MS) restarts = 0;
      const again = !closing && restarts < RESTARTS;
      failWaiting(again ? LOST : ENDED);
      if (closing) return;
      if (!again) {
        // What keeps it from living may pass. Nobody waits for so late a try.
        restarts = 0;
        setTimeout(() => {
          if (!closing && !child && !restart) void start("restart");
        }, HEALTHY_MS).unref();
        return;
      }
      let begun = () => {};
      const done = new Promise<void>((resolve) => (begun = resolve));
      const timer = setTimeout(async () => {
        if (!closing && !child) await start("restart");
        if (restart?.done === done) restart = undefined; // else that one has died as well
        begun();
      }, 200 * 2 ** restarts++);
      timer.unref();
      restart = { timer, done };
    };
    mine.once("error", gone);
    mine.once("exit", gone);
  };

  const start = async (reason: string): Promise<void> => {
    launch();
    if (!child) return;
    try {
      said = `${JSON.stringify(hello(reason))}\n${said}`; // what has happened before comes after it
      flush();
    } catch {
      child.stdin?.end(); // Pi has replaced this session already
    }
    loadCut(); // while the host answers
    looked = look();
    looked.catch(() => {}); // Pi has replaced this session
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => ready?.(), START_MS);
      ready = () => {
        clearTimeout(timer);
        ready = undefined;
        resolve();
      };
    });
  };

  // A host that starts beside Pi slows Pi's start down. It waits for the end of it where a person or a program has yet to
  // say something; what comes sooner starts it.
  const startLater = (reason: string, after = AFTER_START_MS) => {
    let starting: Promise<void> | undefined;
    const begin = async () => {
      clearTimeout(mine.timer);
      await start(reason);
      if (later === mine) later = undefined;
    };
    const mine = { start: () => (starting ??= begin()), timer: setTimeout(() => void mine.start(), after) };
    mine.timer.unref();
    later = mine;
  };

  // Extra facts of an event that are sizes or flags rather than fields.
  const extras = (name: string, event: any): any => {
    if (name === "message_end") {
      const prompt = event.message?.role === "system" ? promptSizes(event.message) : undefined;
      sectionsTold ||= prompt?.sections !== undefined;
      return { chars: sizes(event.message), ...prompt };
    }
    if (name === "ui_prompt_start" || name === "ui_prompt_end") {
      const own = ownPanel || undefined;
      if (name === "ui_prompt_end") ownPanel = false;
      return { own, blocked: event.kind === "custom" ? blocked : undefined };
    }
    return undefined;
  };

  // A component of another extension may be a loader as well as a question; whether it waits for a person, it says in
  // its options, which Pi's event leaves out.
  const watchCustom = (ui: any) => {
    if (typeof ui?.custom !== "function" || ui[owner]) return;
    const custom = ui.custom;
    try {
      ui[owner] = true;
      ui.custom = function (factory: any, options: any) {
        blocked = options?.blocked?.kind ?? null;
        return custom.call(this, factory, options);
      };
    } catch {
      // Then every component counts as a question.
    }
  };

  // A command of the user's has ended when its entry is there. Pi keeps it back while the model answers.
  const watchBash = () => {
    const mine = child;
    const began = Date.now();
    const timer = setInterval(() => {
      try {
        const leaf = (ctx.sessionManager as any).getLeafEntry?.();
        const isThere = leaf?.message?.role === "bashExecution" && leaf.message.timestamp >= began;
        if (!isThere && !closing && child === mine) return;
        clearInterval(timer);
        if (isThere) tellEvent("user_bash_end", {}, ctx);
      } catch {
        clearInterval(timer); // Pi has replaced this session
      }
    }, BASH_MS);
    timer.unref();
  };

  const tellEvent = (name: string, picked: any, eventCtx: ExtensionContext, more?: any) =>
    sendSoon({
      t: "event", event: name, at: Date.now(), data: picked, ...more,
      idle: eventCtx.isIdle(), pending: eventCtx.hasPendingMessages(),
    });

  const on = pi.on.bind(pi) as unknown as (name: string, handler: (event: any, ctx: ExtensionContext) => Promise<any>) => void;

  on("session_start", async (event, eventCtx) => {
    ctx = eventCtx;
    watchCustom(ctx.ui);
    closing = false;
    shared[owner] = true;
    if (child || later) return; // Pi before 0.80 may say it twice
    const isFirst = event.reason === "startup" && (ctx.mode === "tui" || ctx.mode === "rpc");
    const isKnown = !process.env.JIG_SESSION_HOST && (command[0] === INSTALLED || !INSTALLED.includes("/")) && OFFER.commands.length > 0 && !OFFER.unless.some((name) => process.env[name]);
    if (!isFirst || !isKnown) return await start(event.reason);
    for (const definition of OFFER.commands) registerCommand(definition);
    startLater(event.reason);
  });
  on("before_agent_start", async (event, eventCtx) => {
    ctx = eventCtx;
    if (later) {
      await later.start();
      // Pi has put together what it tells the model of the tools before it asked; those of now belong to it.
      Object.assign(event.systemPromptOptions?.toolGuidelines ?? {}, guidelines);
    }
    return await beforePrompt(event);
  });
  on("tool_call", async (event, eventCtx) => {
    ctx = eventCtx;
    return await beforeTool(event);
  });
  on("context", async (event) => {
    const messages = withoutReadNotices(event.messages ?? [], readMail);
    return messages ? { messages } : undefined;
  });
  for (const [name, fields] of Object.entries(EVENTS)) {
    const data = picker(fields);
    on(name, async (event, eventCtx) => {
      ctx = eventCtx;
      const picked = data(event);
      for (const [argument, most] of [["path", PATH_UNITS], ["action", NAME_UNITS]] as const) {
        // A model may write anything there.
        const value = picked.args?.[argument];
        if (value !== undefined && (typeof value !== "string" || value.length > most)) delete picked.args[argument];
      }
      // An extension that asks at the session's start keeps our own start waiting until it is answered.
      if (name === "ui_prompt_start" && !child && !later && !closing) startLater("startup", 0);
      tellEvent(name, picked, eventCtx, extras(name, event));
      if (name === "user_bash") watchBash();
    });
  }
  for (const [name, fields] of Object.entries(BUS_EVENTS)) {
    const data = picker(fields);
    pi.events?.on(name, (event: unknown) => sendSoon({ t: "bus", event: name, at: Date.now(), data: data(event) }));
  }

  on("session_shutdown", async (event) => {
    closing = true;
    shared[owner] = false;
    clearTimeout(later?.timer);
    later = undefined;
    if (!child) said = "";
    const mine = child;
    if (!mine) return;
    failWaiting("the session is ending");
    const ended = new Promise<void>((resolve) => mine.once("exit", () => resolve()));
    said += `${JSON.stringify({ t: "bye", reason: event.reason, target: event.targetSessionFile ?? null })}\n`;
    flush();
    mine.stdin?.end();
    mine.ref();
    let timer: any;
    await Promise.race([ended, new Promise<void>((resolve) => (timer = setTimeout(resolve, STOP_MS)))]);
    clearTimeout(timer);
    if (mine.exitCode === null && mine.signalCode === null) mine.kill("SIGKILL");
    child = undefined;
  });
}
