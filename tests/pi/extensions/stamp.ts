// Says when its turn came at some events: loaded before and after another extension, it shows what that one took.
import { appendFileSync } from "node:fs";

const EVENTS = ["before_agent_start", "agent_start", "message_end", "tool_execution_start",
  "tool_execution_end", "agent_settled"];

export default function (pi: any) {
  const file = process.env.PI_STAMP_LOG;
  if (!file) return;
  const name = new URL(import.meta.url).pathname.split("/").at(-1);
  const stamps: { name: string | undefined; event: string; at: number }[] = [];
  for (const event of EVENTS) pi.on(event, () => void stamps.push({ name, event, at: performance.now() }));
  // Written when nobody measures.
  pi.on("session_shutdown", () => appendFileSync(file, stamps.map((stamp) => `${JSON.stringify(stamp)}\n`).join("")));
}
