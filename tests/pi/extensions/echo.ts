// The least that a question to another process costs here and now: before each run a line goes to `cat`, and the
// run waits for it to come back. No logic, no JSON: what is left is Node, the pipes and the machine.
import { spawn } from "node:child_process";

const LINE = `${"x".repeat(340)}\n`; // as long as the bridge's question

export default function (pi: any) {
  let child: any;
  let answered: (() => void) | undefined;
  let seen = 0;
  pi.on("session_start", () => {
    child = spawn("cat", [], { stdio: ["pipe", "pipe", "ignore"] });
    child.stdout.on("data", (data: Buffer) => {
      seen += data.length;
      if (seen >= LINE.length) answered?.();
    });
  });
  pi.on("before_agent_start", async () => {
    seen = 0;
    const answer = new Promise<void>((resolve) => (answered = resolve));
    child.stdin.write(LINE);
    await answer;
  });
  pi.on("session_shutdown", () => child.stdin.end());
}
