// Says when its turn came before each run: loaded before and after another extension, it shows what that one took.
import { appendFileSync } from "node:fs";

export default function (pi: any) {
  const file = process.env.PI_STAMP_LOG;
  if (!file) return;
  const name = new URL(import.meta.url).pathname.split("/").at(-1);
  const stamps: string[] = [];
  pi.on("before_agent_start", () => {
    stamps.push(JSON.stringify({ name, at: Number(process.hrtime.bigint()) / 1e6 }));
  });
  // Written when nobody measures.
  pi.on("session_shutdown", () => appendFileSync(file, `${stamps.join("\n")}\n`));
}
