// The lenient reader: a payload of the broker becomes what is shown. A wrong type is as if the field were not there, and
// the names of fields are held to the schemas by the compiler.

// Both are made of the JSON Schemas when the page is built.
import type { FleetMachine } from "./fleet-machine-types";
import type { FleetSession } from "./fleet-types";
import { clean } from "./text";

/** The longest payload that is read, in bytes. */
export const PAYLOAD_BYTES = 64 * 1024;

export type State = "waits" | "busy" | "idle" | "unknown";

/** What is shown of a session. Every text is clean. */
export interface Session {
  readonly id: string;
  /** When its machine sent it, in milliseconds of that machine's clock, as all times here. */
  readonly at: number | undefined;
  readonly state: State;
  /** Why a person is waited for. */
  readonly reason: string;
  /** Since when the state holds. */
  readonly since: number | undefined;
  readonly agent: string;
  readonly model: string;
  readonly folder: string;
  readonly name: string;
  /** The whole path of its folder, where its machine shares it. */
  readonly cwd: string;
  readonly percent: number | undefined;
  readonly tokens: number | undefined;
  readonly window: number | undefined;
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cost: number | undefined;
  readonly startedAt: number | undefined;
  readonly updatedAt: number | undefined;
}

/** What is shown of a machine. */
export interface Machine {
  readonly online: boolean;
  /** When it said so, in milliseconds of its clock. */
  readonly at: number | undefined;
  readonly facts: string;
  /** How many sessions it shares, as it says. */
  readonly sessions: number | undefined;
  /** Tells machines with one name apart. */
  readonly id: string;
}

/** A document before anything is known of its fields but their names. */
type Raw<T> = { readonly [Key in keyof T]?: unknown };

/** The JSON object of a payload; undefined for what is too long, no JSON, or no object. */
function object<T>(payload: Uint8Array): Raw<T> | undefined {
  if (payload.length > PAYLOAD_BYTES) return undefined;
  try {
    return within<T>(JSON.parse(new TextDecoder("utf-8").decode(payload)));
  } catch {
    return undefined;
  }
}

function within<T>(value: unknown): Raw<T> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Raw<T>) : undefined;
}

function text(value: unknown): string {
  return typeof value === "string" ? clean(value) : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER
    ? value
    : undefined;
}

/** A time as RFC 3339 says it, and nothing else that a browser takes for a time. */
function time(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value)) {
    return undefined;
  }
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : ms;
}

/** A session's document, or undefined if nothing can be made of it. */
export function readSession(payload: Uint8Array): Session | undefined {
  const doc = object<FleetSession>(payload);
  if (doc === undefined || typeof doc.session !== "string") return undefined;
  const attention = within<NonNullable<FleetSession["attention"]>>(doc.attention);
  const agent = within<NonNullable<FleetSession["agent"]>>(doc.agent);
  const model = within<NonNullable<FleetSession["model"]>>(doc.model);
  const context = within<NonNullable<FleetSession["context"]>>(doc.context);
  const usage = within<NonNullable<FleetSession["usage"]>>(doc.usage);
  const percent = number(context?.percent);
  const state = doc.state === "busy" || doc.state === "idle" ? doc.state : "unknown";
  return {
    id: text(doc.session),
    at: time(doc.at),
    state: attention === undefined ? state : "waits",
    reason: attention === undefined ? "" : text(attention.reason) || "unknown",
    since: (attention && time(attention.since)) ?? time(doc.stateAt),
    agent: text(agent?.name) || "pi",
    model: text(model?.name) || text(model?.id),
    folder: text(doc.folder),
    name: text(doc.name),
    cwd: text(doc.cwd),
    percent: percent === undefined ? undefined : Math.min(percent, 100),
    tokens: number(context?.tokens),
    window: number(context?.window),
    input: number(usage?.input),
    output: number(usage?.output),
    cost: number(usage?.cost),
    startedAt: time(doc.startedAt),
    updatedAt: time(doc.updatedAt),
  };
}

/** A machine's document, or undefined if nothing can be made of it. */
export function readMachine(payload: Uint8Array): Machine | undefined {
  const doc = object<FleetMachine>(payload);
  if (doc === undefined || typeof doc.online !== "boolean") return undefined;
  const facts = [text(doc.os), text(doc.version)].filter((fact) => fact !== "");
  return { online: doc.online, at: time(doc.at), facts: facts.join(" · "), sessions: number(doc.sessions), id: text(doc.id) };
}
