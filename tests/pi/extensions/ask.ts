// A stand-in for a rules extension that asks a person about every bash call.
export default function (pi: any) {
  pi.on("tool_call", async (event: any, ctx: any) => {
    if (event.toolName !== "bash") return;
    const decide = (decision: string, answer?: string) =>
      pi.events.emit("jig:decision", { toolCallId: event.toolCallId, tool: event.toolName, decision, answer });
    decide("ask");
    const allowed = await ctx.ui.confirm("Allow bash?", "The test's rules ask.");
    decide("ask", allowed ? "allow" : "deny");
    if (!allowed) return { block: true, reason: "denied by the person" };
  });
}
