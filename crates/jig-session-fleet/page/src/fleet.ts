// What is known of the fleet: messages go in, machines with their groups come out. It knows no browser and no clock.

import { type Machine, readMachine, readSession, type Session } from "./read";

/** A part of a topic that names something, as the contract has it. */
const PART = /^[A-Za-z0-9._~-]{1,200}$/;
/** How many sessions one machine may show, so that a flood of one hides no other. */
const SESSIONS_EACH = 500;
const MACHINES = 5000;
/** A machine that is connected says so once a minute: one that a broker heard longer ago than this may be gone. */
const SILENT_MS = 180_000;

/** What is held of a machine. */
export interface Held {
  readonly name: string;
  machine: Machine | undefined;
  /** When it said anything last, in milliseconds of its own clock; a Last Will is as old as the connection. */
  seen: number | undefined;
  /** How much its clock is ahead of ours, in milliseconds, by the last word that came as it was said. */
  ahead: number;
  readonly sessions: Map<string, { session: Session; round: number }>;
  /** Names of sessions beyond the bound, counted only. */
  readonly beyond: Set<string>;
  /** How many sessions fewer came than it shares: a broker with a short queue drops what it kept. */
  missing: number;
  round: number;
  /** Something came of it as it was said, or was kept for a short time only. */
  heard: boolean;
}

export interface Group {
  readonly folder: string;
  readonly rows: { key: string; session: Session }[];
}

export interface Shown {
  readonly held: Held;
  readonly online: boolean;
  readonly groups: Group[];
  readonly waits: number;
}

export interface Counts {
  waits: number;
  busy: number;
  idle: number;
  offline: number;
  machines: number;
}

/** A session that waits since this message and did not before. */
export interface Began {
  readonly machine: string;
  readonly key: string;
  readonly session: Session;
}

export class Fleet {
  private readonly machines = new Map<string, Held>();
  /** Topics whose last document could not be read. */
  private readonly broken = new Set<string>();
  /** Which connection we are in: what an earlier one heard and this one did not is in doubt. */
  private round = 0;

  /** Whether everything has come that the broker keeps. */
  private settled = false;
  private readonly root: string;

  constructor(prefix: string) {
    this.root = `${prefix}/v1/`;
  }

  get topics(): string[] {
    return [`${this.root}+/online`, `${this.root}+/s/+`];
  }

  get unread(): number {
    return this.broken.size;
  }

  get missing(): number {
    return [...this.machines.values()].reduce((sum, held) => sum + held.missing, 0);
  }

  /** A connection begins: the broker says everything that it keeps once more. */
  begin(): void {
    this.round += 1;
    this.settled = false;
    this.broken.clear();
    for (const held of this.machines.values()) {
      held.beyond.clear();
      held.heard = false;
    }
  }

  /**
   * Everything has come that the broker keeps. A machine that has spoken in this connection and is online sends all of its
   * sessions, so that another is gone. The others keep their rows: the broker may have lost them, not the machine.
   */
  settle(): void {
    this.settled = true;
    for (const held of this.machines.values()) this.sweep(held);
  }

  /** Takes away what a machine had, and has not said again in this connection, in which it has said that it is online. */
  private sweep(held: Held): void {
    if (held.round !== this.round || held.machine?.online !== true) return;
    for (const [key, { round }] of held.sessions) {
      if (round !== this.round) held.sessions.delete(key);
    }
  }

  /** A message that comes at this time of ours, as it is said or kept by the broker. The topic alone says whose it is. */
  take(topic: string, payload: Uint8Array, at: number, kept: boolean): Began | undefined {
    if (!topic.startsWith(this.root)) return undefined;
    const [machine, kind, key, ...rest] = topic.slice(this.root.length).split("/");
    if (machine === undefined || !PART.test(machine) || rest.length > 0) return undefined;
    if (kind === "online" && key === undefined) this.takeMachine(machine, topic, payload, at, kept);
    if (kind === "s" && key !== undefined && PART.test(key)) return this.takeSession(machine, key, topic, payload, kept);
    return undefined;
  }

  private hold(name: string): Held | undefined {
    const there = this.machines.get(name);
    if (there !== undefined || this.machines.size >= MACHINES) return there;
    const held: Held = { name, machine: undefined, seen: undefined, ahead: 0, sessions: new Map(), beyond: new Set(), missing: 0, round: 0, heard: false };
    this.machines.set(name, held);
    return held;
  }

  private takeMachine(name: string, topic: string, payload: Uint8Array, at: number, kept: boolean): void {
    this.broken.delete(topic);
    if (payload.length === 0) {
      this.machines.delete(name);
      return;
    }
    const machine = readMachine(payload);
    const held = this.hold(name);
    if (machine === undefined || held === undefined) {
      this.broken.add(topic);
      return;
    }
    held.machine = machine;
    // A broker that was killed with the machine and keeps what it holds knows of no Last Will.
    held.heard ||= !kept || at - (machine.at ?? 0) <= SILENT_MS;
    if (!kept && machine.online && machine.at !== undefined) held.ahead = machine.at - at;
    held.seen = latest(held.seen, machine.at);
    held.round = this.round;
    // A machine says its sessions before itself.
    if (this.settled && !kept) this.sweep(held);
    // Between two such words sessions come and go; at the word itself both numbers are of one moment.
    const here = held.sessions.size + held.beyond.size;
    held.missing = this.settled && machine.online ? Math.max(0, (machine.sessions ?? 0) - here) : 0;
  }

  private takeSession(name: string, key: string, topic: string, payload: Uint8Array, kept: boolean): Began | undefined {
    this.broken.delete(topic);
    if (payload.length === 0) {
      const held = this.machines.get(name);
      held?.sessions.delete(key);
      held?.beyond.delete(key);
      return undefined;
    }
    const session = readSession(payload);
    if (session === undefined) {
      // The row stays as it was last readable.
      if (this.broken.size < MACHINES) this.broken.add(topic);
      return undefined;
    }
    const held = this.hold(name);
    if (held === undefined) return undefined;
    held.heard ||= !kept;
    held.seen = latest(held.seen, session.at);
    const before = held.sessions.get(key)?.session;
    if (before === undefined && held.sessions.size >= SESSIONS_EACH) {
      if (held.beyond.size < 100_000) held.beyond.add(key);
      return undefined;
    }
    held.sessions.set(key, { session, round: this.round });
    const began = session.state === "waits" && (before?.state !== "waits" || before.since !== session.since);
    return began ? { machine: name, key, session } : undefined;
  }

  counts(): Counts {
    const counts = { waits: 0, busy: 0, idle: 0, offline: 0, machines: this.machines.size };
    for (const held of this.machines.values()) {
      if (!online(held)) {
        counts.offline += 1;
        continue;
      }
      for (const { session } of held.sessions.values()) {
        if (session.state === "waits") counts.waits += 1;
        else if (session.state === "busy") counts.busy += 1;
        else counts.idle += 1;
      }
    }
    return counts;
  }

  /** The machines in the order they are shown: who waits longest first, then by name, what is offline last. */
  shown(filter: string, onlyWaiting: boolean): Shown[] {
    const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const all: (Shown & { since: number })[] = [];
    for (const held of this.machines.values()) {
      const rows = [...held.sessions].map(([key, { session }]) => ({ key, session }));
      const wanted = rows.filter(({ session }) => {
        const about = `${held.name} ${session.folder} ${session.cwd} ${session.agent} ${session.name} ${session.model}`;
        const lower = about.toLowerCase();
        return (!onlyWaiting || session.state === "waits") && words.every((word) => lower.includes(word));
      });
      const restricted = onlyWaiting || words.length > 0;
      if (restricted && wanted.length === 0) continue;
      const groups = grouped(wanted);
      const first = groups[0]?.rows[0]?.session;
      const waiting = online(held) && first?.state === "waits";
      all.push({
        held,
        online: online(held),
        groups,
        waits: online(held) ? wanted.filter(({ session }) => session.state === "waits").length : 0,
        since: waiting ? (first.since ?? 0) - held.ahead : Number.POSITIVE_INFINITY,
      });
    }
    return all.sort(
      (a, b) =>
        Number(b.online) - Number(a.online) || (a.since < b.since ? -1 : a.since > b.since ? 1 : byName(a.held.name, b.held.name)),
    );
  }
}

/** A machine that never said that it is online is not, nor is one of which only a broker's old memory speaks. */
function online(held: Held): boolean {
  return held.machine?.online === true && held.heard;
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

function byName(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

const RANK = { waits: 0, busy: 1, idle: 2, unknown: 3 } as const;

function order(a: { key: string; session: Session }, b: { key: string; session: Session }): number {
  const ranks = RANK[a.session.state] - RANK[b.session.state];
  const since = a.session.state === "waits" ? (a.session.since ?? 0) - (b.session.since ?? 0) : 0;
  return ranks || since || byName(a.key, b.key);
}

/** Rows by folder; the folder whose first row comes first is first. */
function grouped(rows: { key: string; session: Session }[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows.sort(order)) {
    const folder = row.session.cwd || row.session.folder;
    const group = groups.get(folder) ?? { folder, rows: [] };
    groups.set(folder, group);
    group.rows.push(row);
  }
  return [...groups.values()];
}
