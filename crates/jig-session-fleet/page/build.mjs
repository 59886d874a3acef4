// Makes the page: `node build.mjs SOURCES MODULES` writes it to stdout. Everything stands inside, and the page's policy
// names script and style by their hashes, so that nothing else runs in it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [sources, modules] = process.argv.slice(2);
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

const bundle = await esbuild.build({
  entryPoints: [join(sources, "src/main.ts")],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  platform: "browser",
  charset: "ascii",
  legalComments: "none",
  nodePaths: [join(modules, "node_modules")],
  absWorkingDir: sources,
  tsconfigRaw: "{}",
  write: false,
  logLevel: "warning",
});
const styles = await esbuild.transform(readFileSync(join(sources, "src/page.css"), "utf8"), {
  loader: "css",
  minify: true,
});
// Inside of a page nothing may look like the script's end.
const script = bundle.outputFiles[0].text.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = styles.code.trim();
const hash = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const parts = { SCRIPT_HASH: hash(script), STYLE_HASH: hash(style), STYLE: style, SCRIPT: script };

// The licence of what is bundled goes with it, in a comment that nothing can end early.
const licence = readFileSync(join(modules, "node_modules/mqtt/LICENSE.md"), "utf8").replace(/-{2,}/g, "-");
parts.LICENCE = `The script holds MQTT.js and the packages that it is bundled with.\n\n${licence.trim()}`;

const page = readFileSync(join(sources, "src/page.html"), "utf8");
// The broker and the prefix stay marks: the program sets them when it writes the page.
process.stdout.write(page.replace(/@(SCRIPT_HASH|STYLE_HASH|STYLE|SCRIPT|LICENCE)@/g, (_, name) => parts[name]));
