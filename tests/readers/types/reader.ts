// A reader that a compiler checks: every word of `change`, `event` and `op` is known, and each narrows its line.
import type { Event } from "./event";
import type { FromHost } from "./bridge";
import type { Status } from "./status";
import type { WatchLine } from "./watch";

export function sessionOf(line: WatchLine): string | null {
  switch (line.change) {
    case "added":
    case "changed":
    case "removed":
      return line.session.session;
    case "problem":
      return line.problem.path;
    case "ready":
      return null;
    default: {
      const unknown: never = line;
      return unknown;
    }
  }
}

export function isAttention(event: Event): boolean {
  return event.event === "attention" && event.reason != null;
}

export function questionOf(line: FromHost): string | null {
  switch (line.op) {
    case "result":
      return line.id;
    default:
      return null;
  }
}

export function shown(status: Status): string {
  return status.attention ? status.attention.reason : status.state;
}
