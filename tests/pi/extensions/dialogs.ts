// A stand-in for an extension that shows dialogs and components, by commands, in an input handler and at the session's
// start ($ASK_AT_START).
const shown = (text: string) => (_tui: any, _theme: any, _keys: any, done: any) => ({
  render: () => [text],
  handleInput: () => done(undefined),
  invalidate() {},
});

export default function (pi: any) {
  const command = (name: string, run: (ctx: any) => Promise<unknown>) =>
    pi.registerCommand(name, { description: name, handler: async (_args: string, ctx: any) => void (await run(ctx)) });
  command("pick", (ctx) => ctx.ui.select("Which one?", ["first", "second"]));
  command("loader", (ctx) => ctx.ui.custom(shown("loading things")));
  command("colour", (ctx) => ctx.ui.custom(shown("which colour"), { blocked: { kind: "question", message: "which" } }));
  pi.on("input", async (event: any, ctx: any) => {
    if (event.text.startsWith("sure")) await ctx.ui.confirm("Are you sure?", "The input handler asks.");
  });
  pi.on("session_start", async (_event: any, ctx: any) => {
    if (process.env.ASK_AT_START) await ctx.ui.confirm("Trust it?", "Asked at the start.");
  });
}
