// The page's elements. Every foreign text is set as text; nothing here reads or writes markup.

import type { Counts, Group, Shown } from "./fleet";
import type { Session } from "./read";
import { amount, clean, count, span } from "./text";

/** The element of the page with this id. */
export function part<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${id}`);
  return element;
}

/** Sets a text if it is another one: what did not change is not read out again. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function make(tag: string, name: string): HTMLElement {
  const element = document.createElement(tag);
  if (name !== "") element.className = name;
  return element;
}

function mark(element: HTMLElement, name: string, value: string): void {
  if (element.dataset[name] !== value) element.dataset[name] = value;
}

/**
 * Brings the children of an element to these keys in this order. A child that stays is not made anew, so that it keeps
 * its focus and what is open in it.
 */
function reconcile<T>(
  parent: HTMLElement,
  items: readonly T[],
  key: (item: T) => string,
  create: (item: T) => HTMLElement,
  update: (element: HTMLElement, item: T) => void,
): void {
  const there = new Map<string, HTMLElement>();
  for (const child of parent.children) {
    if (child instanceof HTMLElement) there.set(child.dataset["key"] ?? "", child);
  }
  const wanted = new Set(items.map(key));
  for (const [name, child] of there) {
    if (!wanted.has(name)) child.remove();
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = there.get(name);
    if (element === undefined) {
      element = create(item);
      element.dataset["key"] = name;
    }
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else if (element.contains(document.activeElement) && place !== null) moveAround(parent, element, place);
    else parent.insertBefore(element, place);
  }
}

/** What has the focus would lose it by being moved, so that what stands before it is moved behind it. */
function moveAround(parent: HTMLElement, element: HTMLElement, place: Element): void {
  const before: Element[] = [];
  for (let one: Element | null = place; one !== null && one !== element; one = one.nextElementSibling) before.push(one);
  if (element.parentElement !== parent) parent.insertBefore(element, place);
  else element.after(...before);
}

/** Draws the machines. */
export function drawFleet(parent: HTMLElement, machines: readonly Shown[], empty: string, now: number): void {
  if (machines.length === 0) {
    const text = make("p", "empty");
    text.textContent = empty;
    if (parent.textContent !== empty) parent.replaceChildren(text);
    return;
  }
  reconcile(parent, machines, (shown) => shown.held.name, machine, (element, shown) => drawMachine(element, shown, now));
}

function machine(shown: Shown): HTMLElement {
  const section = make("section", "machine card");
  const head = make("div", "head");
  const title = make("h2", "");
  title.id = `machine-${shown.held.name}`;
  title.textContent = shown.held.name;
  section.setAttribute("aria-labelledby", title.id);
  head.append(title, make("p", "facts quiet"));
  section.append(head, make("div", "groups"), make("p", "more quiet"));
  return section;
}

function drawMachine(section: HTMLElement, shown: Shown, now: number): void {
  const { held } = shown;
  // Ages are by the clock that the times are of.
  const there = Math.abs(held.ahead) < CLOCK ? now : now + held.ahead;
  mark(section, "online", String(shown.online));
  mark(section, "waits", String(shown.waits > 0));
  say(child(section, ".facts"), facts(shown, now));
  reconcile(child(section, ".groups"), shown.groups, (one) => one.folder, group, (element, one) => drawGroup(element, one, there));
  const more = held.beyond.size;
  const words = more > 0 ? `${count(more, "session", "sessions")} more than this page shows of one machine` : "";
  say(child(section, ".more"), words);
  child(section, ".more").hidden = words === "";
}

/** A clock that is further off than this is worth a word, in milliseconds. */
const CLOCK = 5_000;

function facts(shown: Shown, now: number): string {
  const { machine: said, seen, ahead } = shown.held;
  if (said === undefined) return "has not said that it is online";
  const off = Math.abs(ahead) < CLOCK ? "" : `, its clock is ${span(Math.abs(ahead))} ${ahead > 0 ? "ahead" : "behind"}`;
  if (shown.online) return said.facts + off;
  return seen === undefined ? "offline" : `offline, last seen ${span(now + ahead - seen)} ago${off}`;
}

function group(one: Group): HTMLElement {
  const element = make("div", "group");
  const title = make("h3", "");
  title.append(document.createElement("bdi"));
  child(title, "bdi").textContent = one.folder || "no folder";
  element.append(title, make("ul", ""));
  return element;
}

function drawGroup(element: HTMLElement, one: Group, now: number): void {
  reconcile(child(element, "ul"), one.rows, (row) => row.key, row, (item, { key, session }) => drawRow(item, key, session, now));
}

function row(): HTMLElement {
  const item = make("li", "");
  const details = make("details", "row");
  const summary = make("summary", "");
  const what = make("span", "what");
  what.append(make("bdi", "title"), make("span", "agent"));
  const side = make("span", "side");
  side.append(document.createElement("meter"), make("span", "full"), document.createElement("time"));
  const meter = child(side, "meter");
  meter.setAttribute("aria-label", "context");
  meter.setAttribute("max", "100");
  meter.setAttribute("high", "80");
  meter.setAttribute("optimum", "0");
  summary.append(make("span", "state"), what, side);
  details.append(summary, make("dl", ""));
  item.append(details);
  return item;
}

/** What a row says of its state, in words. */
export function stateWords(session: Session): string {
  return session.state === "waits" ? session.reason : session.state;
}

function drawRow(item: HTMLElement, key: string, session: Session, now: number): void {
  const details = child(item, ".row");
  mark(details, "state", session.state);
  say(child(details, ".state"), stateWords(session));
  say(child(details, ".title"), session.name || session.id || clean(key));
  say(child(details, ".agent"), [session.agent, session.model].filter((text) => text !== "").join(" · "));
  const meter = child(details, "meter") as HTMLMeterElement;
  meter.hidden = session.percent === undefined;
  child(details, ".full").hidden = session.percent === undefined;
  if (session.percent !== undefined) {
    if (meter.value !== session.percent) meter.value = session.percent;
    say(child(details, ".full"), `${Math.round(session.percent)} %`);
  }
  say(child(details, "time"), session.since === undefined ? "" : span(now - session.since));
  // What nobody has opened is not built.
  const facts = (): void => drawFacts(child(details, "dl"), session, now);
  details.ontoggle = facts;
  if (details.hasAttribute("open")) facts();
}

function drawFacts(list: HTMLElement, session: Session, now: number): void {
  const ago = (ms: number | undefined): string =>
    ms === undefined ? "" : `${span(now - ms)} ago, ${new Date(ms).toLocaleString()}`;
  const tokens = session.tokens === undefined ? "" : amount(session.tokens);
  const cost = session.cost === undefined ? "" : `, $${session.cost.toFixed(2)}`;
  const rows = [
    ["State since", ago(session.since)],
    ["Context", tokens && session.window !== undefined ? `${tokens} of ${amount(session.window)} tokens` : tokens],
    ["Used", session.input === undefined ? "" : `${amount(session.input)} in, ${amount(session.output ?? 0)} out${cost}`],
    ["Started", ago(session.startedAt)],
    ["Updated", ago(session.updatedAt)],
    ["Folder", session.cwd || session.folder],
    ["Session", session.id],
  ].filter((pair): pair is [string, string] => pair[1] !== "" && pair[1] !== undefined);
  const wanted = rows.flat();
  const there = [...list.children].map((element) => element.textContent);
  if (wanted.length === there.length && wanted.every((text, index) => text === there[index])) return;
  list.replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const term = make("dt", "");
      term.textContent = name;
      const text = make("dd", "");
      text.append(make("bdi", ""));
      child(text, "bdi").textContent = value;
      return [term, text];
    }),
  );
}

function child(parent: Element, selector: string): HTMLElement {
  const element = parent.querySelector(selector);
  if (!(element instanceof HTMLElement)) throw new Error(`an element lacks its ${selector}`);
  return element;
}

/** The line that counts, for eyes and for ears. */
export function summary(counts: Counts): string {
  if (counts.machines === 0) return "";
  const waits = counts.waits === 0 ? "nobody waits" : `${count(counts.waits, "session waits", "sessions wait")} for you`;
  const machines = count(counts.machines, "machine", "machines");
  const offline = counts.offline === 0 ? "" : `, ${counts.offline} offline`;
  return `${waits} · ${counts.busy} busy · ${counts.idle} idle · ${machines}${offline}`;
}

/** What a person should know of documents that are not shown. */
export function notes(unread: number, missing: number): string {
  const all = [];
  if (unread > 0) all.push(`${count(unread, "document", "documents")} of the broker could not be read; the rows are as they were before.`);
  if (missing > 0) all.push(`${count(missing, "session", "sessions")} did not arrive: the broker's queue is too short for them.`);
  return all.join(" ");
}
