// An extension that says more on Pi's event bus than a pipe holds: with the command /flood.
export default function (pi: any) {
  const say = () => {
    for (let number = 0; number < 40_000; number++) {
      pi.events.emit("jig:decision", { toolCallId: `c${number}`, tool: "bash", decision: "allow", answer: "x".repeat(400) });
    }
  };
  pi.registerCommand("flood", { description: "flood", handler: async () => say() });
}
