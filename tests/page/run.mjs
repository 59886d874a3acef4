// `node run.mjs --program JIG_SESSION --modules FOLDER [--pictures FOLDER]`: the page in a headless Chromium against a
// real Mosquitto. Each test has a page of its own; the broker and the machines stay.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { Broker, doc, MachineUnderTest, modules, PREFIX, program, runPage, until, waits, writePage } from "./kit.mjs";

const { values: options } = parseArgs({
  options: { program: { type: "string" }, modules: { type: "string" }, pictures: { type: "string" } },
});
const { mqtt, puppeteer } = modules(options.modules);

const broker = await Broker.start();
const html = readFileSync(writePage(options.program, broker));
const server = createServer((request, answer) => {
  answer.setHeader("content-type", "text/html");
  answer.statusCode = request.url === "/" ? 200 : 404;
  answer.end(request.url === "/" ? html : "");
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await puppeteer.launch({
  executablePath: program(["chromium", "chromium-browser", "google-chrome"]),
  // Chromium's own sandbox does not work for root; what the page loads here is ours.
  args: ["--disable-dev-shm-usage", "--disable-gpu", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});

const facts = (os) => ({ os, version: "0.1.0" });
const laptop = new MachineUnderTest(mqtt, broker, "laptop", facts("linux"));
const cloud = new MachineUnderTest(mqtt, broker, "cloud-1", facts("linux"));
const cloud2 = new MachineUnderTest(mqtt, broker, "cloud-2", facts("linux"));
const old = new MachineUnderTest(mqtt, broker, "old-box", facts("macos"));
const machines = [laptop, cloud, cloud2, old];
const agent = (name) => ({ agent: { name } });
const full = (percent) => ({ context: { tokens: percent * 2000, window: 200_000, percent } });
await Promise.all([
  laptop.session("pay", waits("pay", "payments", "approval", 12, { name: "refund rounding", ...full(64) })),
  laptop.session("pay-2", doc("pay-2", "payments", "busy", 1, { name: "ledger export", ...agent("claude"), ...full(31) })),
  laptop.session("docs", doc("docs", "handbook", "idle", 240, { ...agent("codex"), ...full(8) })),
  cloud.session("mig", waits("mig", "schema-migrations", "question", 47, { ...agent("claude"), ...full(88) })),
  cloud.session("api", doc("api", "api-server", "busy", 3, { name: "rate limits", ...agent("gemini"), ...full(23) })),
  cloud2.session("ci", doc("ci", "ci-images", "busy", 9, { ...agent("opencode"), ...full(55) })),
  cloud2.session("lint", doc("lint", "ci-images", "idle", 33, { ...agent("copilot"), ...full(12) })),
  old.session("left", waits("left", "website", "finished", 300, { name: "new landing page", ...full(71) })),
]);
old.die();

/** A page of its own, signed in; what its console complains of is kept. */
async function open({ user = "reader", password = "reader-word", remember = false, before } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  if (before) await before(page, context);
  await page.goto(origin);
  if (user !== "") await signIn(page, user, password, remember);
  page.done = () => context.close();
  return page;
}

async function signIn(page, user, password, remember) {
  await page.type("#user", user);
  await page.type("#password", password);
  if (remember) await page.click("#remember");
  await page.keyboard.press("Enter");
}

const text = (page, selector) => page.$eval(selector, (element) => element.innerText.trim());
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.textContent));
const rows = (page, count) => until(`${count} rows`, async () => (await texts(page, ".row .title")).length === count);
const settled = (page) => new Promise((done) => setTimeout(done, 2300)).then(() => page.title());

function same(found, expected, what) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
}

const tests = {
  async the_program_writes_its_own_page_and_no_other_away() {
    const out = join(broker.dir, "page");
    const file = join(out, "index.html");
    same(statSync(file).mode & 0o777, 0o644, "a web server may read it");
    same(runPage(options.program, out, "--broker", "wss://h/").status, 0, "again");
    if (!readFileSync(file, "utf8").includes("connect-src wss://h/;")) throw new Error("not written anew");
    for (const bad of ["ws://far/", "wss://h/;x", "https://h/"]) {
      same(runPage(options.program, out, "--broker", bad).status, 2, bad);
    }
    writeFileSync(file, "<p>mine");
    const refused = runPage(options.program, out, "--broker", "wss://h/");
    same([refused.status, readFileSync(file, "utf8")], [4, "<p>mine"], "another's page");
    if (!refused.stderr.includes("--out")) throw new Error(`no way out: ${refused.stderr}`);
  },

  async who_waits_longest_is_first_and_the_title_counts() {
    const page = await open();
    await rows(page, 8);
    await until("the old box is offline", async () => (await page.$$(".machine[data-online=false]")).length === 1);
    same(await texts(page, ".machine h2"), ["cloud-1", "laptop", "cloud-2", "old-box"], "order of machines");
    same(await texts(page, ".machine:nth-child(2) h3"), ["payments", "handbook"], "order of folders");
    same(await texts(page, ".machine:nth-child(2) .title"), ["refund rounding", "ledger export", "docs"], "rows");
    same(await texts(page, ".machine:nth-child(2) .state"), ["approval", "busy", "idle"], "states");
    await until("the title counts", async () => (await page.title()) === "(2) Fleet");
    same(await text(page, "#summary"), "2 sessions wait for you · 3 busy · 2 idle · 4 machines, 1 offline", "summary");
    same(await page.$eval("meter", (meter) => meter.value), 88, "context");
    same(page.complaints, [], "complaints");
    await page.done();
  },

  async an_offline_machine_keeps_its_rows() {
    const page = await open();
    await rows(page, 8);
    await until("last seen", async () => /^offline, last seen \d+ (s|min) ago$/.test(await text(page, ".machine[data-online=false] .facts")));
    same(await texts(page, ".machine[data-online=false] .title"), ["new landing page"], "rows");
    await page.done();
  },

  async a_clock_that_is_off_is_shown_and_reckoned_with() {
    const page = await open();
    await rows(page, 8);
    const hour = 3_600_000;
    const flood = new MachineUnderTest(mqtt, broker, "flood", { at: new Date(Date.now() + hour).toISOString() });
    await flood.session("ahead", doc("ahead", "f", "busy", 10 - 60));
    await until("the offset", async () => / its clock is (1 h|59 min) ahead$/.test(await text(page, "[data-key=flood] .facts")));
    same(await text(page, "[data-key=flood] time"), "10 min", "the age");
    await flood.leave(flood.sessions.keys());
    await page.done();
  },

  async a_wrong_password_is_refused_with_words() {
    const page = await open({ password: "wrong" });
    await until("words", async () => (await text(page, "#refused")) === "The broker refuses this user and password.");
    same(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0], "nothing is stored");
    await signIn(page, "", "reader-word", false);
    await rows(page, 8);
    await page.done();
  },

  async credentials_stay_in_the_browser_only_as_long_as_wished() {
    const page = await open();
    await rows(page, 8);
    same(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 1], "for this tab");
    await page.reload();
    await rows(page, 8);
    await page.click("#leave");
    same(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0], "signed out");
    same(await page.$$eval(".row", (all) => all.length), 0, "rows are gone");
    await signIn(page, "reader", "reader-word", true);
    await rows(page, 8);
    same(await page.evaluate(() => localStorage.length), 1, "remembered");
    same(await page.evaluate(() => location.href), `${origin}/`, "the address names nothing");
    await page.done();
  },

  async hostile_text_is_text() {
    const rogue = new MachineUnderTest(mqtt, broker, "rogue", { os: "<b>os</b>" });
    const page = await open();
    await rows(page, 8);
    const markup = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script>";
    await rogue.session("markup", waits(markup, markup, markup, 1, { name: markup, model: { id: markup } }));
    await rogue.session("escape", doc("e", "f", "busy", 1, { name: "\u001b[2J\u001b]0;x\u0007\u009b31mred" }));
    await rogue.session("bidi", doc("b", "f", "busy", 1, { name: "\u202egnp.exe\u2066\u200b\u{e0041}\ufeff" }));
    await rogue.session("long", doc("l", "f", "busy", 1, { name: "x".repeat(50_000) }));
    await rogue.session("types", { session: "types", agent: 7, model: [], state: {}, attention: "x", context: { percent: "9" }, usage: null, stateAt: 12, folder: {}, name: [], __proto__: 1 });
    await rogue.session("numbers", doc("n", "f", "busy", 1, { context: { percent: 1e300 }, stateAt: "9999999-99-99" }));
    await rogue.session("elsewhere", doc("elsewhere", "f", "busy", 1, { machine: "laptop", name: "of the topic" }));
    for (const [key, payload] of [
      ["no-json", "{"], ["array", "[]"], ["null", "null"], ["no-session", "{}"], ["bytes", Buffer.from([0xff, 0xfe, 0])],
      ["deep", "[".repeat(30_000)], ["large", JSON.stringify(doc("large", "f", "busy", 1, { name: "y".repeat(1 << 20) }))],
    ]) await rogue.session(key, payload);
    await rogue.session("last", doc("last", "f", "idle", 1));
    await rows(page, 16);
    same(await page.evaluate(() => window.pwned), undefined, "no script ran");
    same(await page.$$eval("#fleet img, #fleet script, #fleet b", (all) => all.length), 0, "no element came of a text");
    const shown = await page.evaluate(() => document.body.innerText);
    if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/u.test(shown)) throw new Error("an invisible character is shown");
    const own = (await page.$$eval(".machine", (all) => all.map((one) => [one.querySelector("h2").textContent, one.innerText])));
    same(own.find(([, words]) => words.includes("of the topic"))[0], "rogue", "the topic says whose it is");
    if (own.some(([, words]) => words.length > 5000)) throw new Error("a text is not cut");
    await until("a word on what was not read", async () => /^\d documents of the broker could not be read/.test(await text(page, "#notes")));
    same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "nothing is wider than the page");
    await rogue.leave(rogue.sessions.keys());
    await rows(page, 8);
    same(page.complaints, [], "complaints");
    await page.done();
  },

  async a_flood_of_one_machine_hides_no_other() {
    const flood = new MachineUnderTest(mqtt, broker, "flood", {});
    const keys = Array.from({ length: 3000 }, (_, index) => `s-${index}`);
    await Promise.all(keys.map((key) => flood.put(`${PREFIX}/v1/flood/s/${key}`, JSON.stringify(doc(key, "f", "busy", 1)))));
    const page = await open();
    await rows(page, 508);
    await until("the rest is counted", async () => (await texts(page, ".more")).includes("2500 sessions more than this page shows of one machine"));
    same((await texts(page, ".machine h2")).sort(), ["cloud-1", "cloud-2", "flood", "laptop", "old-box"], "machines");
    await flood.leave(keys);
    await rows(page, 8);
    await page.done();
  },

  async the_policy_lets_nothing_else_in_or_out() {
    const page = await open();
    await rows(page, 8);
    const tried = await page.evaluate(async (here) => {
      const refused = [];
      const violation = (what) => new Promise((done) => {
        document.addEventListener("securitypolicyviolation", (event) => done([what, event.effectiveDirective]), { once: true });
      });
      const watch = async (what, act) => {
        const seen = violation(what);
        try { act(); } catch { /* the policy may throw */ }
        refused.push(await seen);
      };
      await watch("fetch", () => void fetch(here).catch(() => {}));
      await watch("socket", () => void new WebSocket("ws://127.0.0.1:9/"));
      await watch("image", () => { new Image().src = `${here}/x.png`; });
      await watch("script", () => document.body.append(Object.assign(document.createElement("a"), { href: "" }), (() => {
        const script = document.createElement("script");
        script.src = `${here}/x.js`;
        return script;
      })()));
      await watch("markup", () => { document.createElement("p").innerHTML = "<b>x</b>"; });
      return refused;
    }, origin);
    same(tried, [
      ["fetch", "connect-src"], ["socket", "connect-src"], ["image", "img-src"],
      ["script", "require-trusted-types-for"], ["markup", "require-trusted-types-for"],
    ], "what is refused, and by which rule");
    await page.done();
  },

  async the_keyboard_is_enough() {
    const page = await open();
    await rows(page, 8);
    await settled(page);
    const focused = () => page.evaluate(() => {
      const one = document.activeElement;
      return one.tagName === "SUMMARY" ? one.querySelector(".title").textContent : one.id;
    });
    same(await focused(), "fleet", "after signing in");
    await page.keyboard.press("ArrowDown");
    same(await focused(), "mig", "the first row");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    same(await focused(), "refund rounding", "a row");
    await page.keyboard.press("Enter");
    await until("the row is open", async () => (await page.$$("details[open] dd")).length >= 6);
    // Another session of the folder begins to wait and goes before it: the focus and what is open stay.
    await laptop.session("pay-2", waits("pay-2", "payments", "auth", 60, { name: "ledger export" }));
    await until("a new order", async () => (await texts(page, ".title"))[0] === "ledger export");
    same(await focused(), "refund rounding", "the focus stays");
    same((await page.$$("details[open]")).length, 1, "what is open stays");
    await laptop.session("pay-2", doc("pay-2", "payments", "busy", 1, { name: "ledger export", ...agent("claude"), ...full(31) }));
    await page.keyboard.press("/");
    await page.keyboard.type("CLAUDE cloud");
    await until("the filter", async () => (await texts(page, ".title")).join() === "mig");
    await page.$eval("#filter", (input) => { input.value = ""; });
    await page.click("#waiting");
    await until("only who waits", async () => (await texts(page, ".state")).join() === "question,approval,finished");
    await page.done();
  },

  async a_screen_reader_finds_its_way() {
    const page = await open();
    await rows(page, 8);
    const tree = await page.accessibility.snapshot({ interestingOnly: false });
    const roles = new Map();
    const walk = (node) => {
      roles.set(node.role, [...(roles.get(node.role) ?? []), node.name]);
      node.children?.forEach(walk);
    };
    walk(tree);
    for (const role of ["banner", "main", "search", "contentinfo", "status"]) {
      if (!roles.has(role)) throw new Error(`no ${role}: ${[...roles.keys()]}`);
    }
    same(roles.get("region")?.sort(), ["cloud-1", "cloud-2", "laptop", "old-box"], "a region each machine");
    same(await page.$eval("#summary", (element) => element.getAttribute("aria-live")), "polite", "the summary is live");
    same(await page.$eval("#banner", (element) => element.getAttribute("role")), "alert", "the banner is an alert");
    const unnamed = await page.$$eval("input, button, meter", (all) => all.filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent)).map((one) => one.outerHTML));
    same(unnamed, [], "every control has a name");
    await page.done();
  },

  async a_session_that_begins_to_wait_is_announced_once() {
    const page = await open({
      before: (fresh) => fresh.evaluateOnNewDocument(() => {
        window.shown = [];
        window.Notification = class { static permission = "granted"; constructor(title, more) { window.shown.push([title, more.body]); } };
      }),
    });
    await rows(page, 8);
    await settled(page);
    same(await page.evaluate(() => window.shown), [], "what waited before is not announced");
    const ask = waits("api", "api-server", "approval", 0, { name: "rate <b>limits</b>", ...agent("gemini") });
    await cloud.session("api", ask);
    await cloud.session("api", { ...ask, updatedAt: new Date().toISOString() });
    await until("the title", async () => (await page.title()) === "(3) Fleet");
    same(await page.evaluate(() => window.shown), [["rate <b>limits</b> waits: approval", "gemini on cloud-1"]], "announced");
    await cloud.session("api", doc("api", "api-server", "busy", 3, { name: "rate limits", ...agent("gemini"), ...full(23) }));
    await page.done();
  },

  async a_lost_broker_makes_the_view_stale_and_nobody_dead() {
    const page = await open();
    await rows(page, 8);
    await settled(page);
    await broker.kill();
    await until("the banner", async () => (await text(page, "#banner")).startsWith("No connection to the broker since"));
    same((await texts(page, ".title")).length, 8, "rows stay");
    same(await page.$$eval(".machine[data-online=false]", (all) => all.length), 1, "no machine became offline");
    // While nobody hears it one session ends and another begins.
    laptop.client.options.reconnectPeriod = 4000;
    laptop.sessions.delete("docs");
    laptop.sessions.set("new", JSON.stringify(doc("new", "handbook", "busy", 0, { name: "after the storm" })));
    await broker.run();
    await until("connected again", async () => (await text(page, "#connection")) === "connected");
    await until("the new state", async () => {
      const found = await texts(page, ".title");
      return found.includes("after the storm") && !found.includes("docs");
    });
    // The broker forgot the machine that is away; the page did not.
    same((await texts(page, ".machine[data-online=false] .title")), ["new landing page"], "the offline machine's row");
    same(await page.$eval("#banner", (element) => element.hidden), true, "the banner is gone");
    laptop.client.options.reconnectPeriod = 200;
    await laptop.session("new", undefined);
    await laptop.session("docs", doc("docs", "handbook", "idle", 240, { ...agent("codex"), ...full(8) }));
    await page.done();
  },

  async it_fits_a_phone_and_a_wide_screen_in_light_and_dark() {
    // The broker was new; the old box says once more what it left.
    const again = new MachineUnderTest(mqtt, broker, "old-box", facts("macos"));
    await again.session("left", waits("left", "website", "finished", 300, { name: "new landing page", ...full(71) }));
    again.die();
    const page = await open();
    await rows(page, 8);
    await until("offline", async () => (await page.$$(".machine[data-online=false]")).length === 1);
    for (const [width, height] of [[360, 1080], [1600, 440]]) {
      for (const scheme of ["light", "dark"]) {
        await page.setViewport({ width, height, deviceScaleFactor: 1 });
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        const { over, faint } = await page.evaluate(look);
        same(over, [], `wider than the page at ${width}`);
        same(faint, [], `too faint in ${scheme} at ${width}`);
        if (options.pictures) await page.screenshot({ path: join(options.pictures, `fleet-${width}-${scheme}.png`) });
      }
    }
    await page.click("#leave");
    await page.setViewport({ width: 360, height: 560 });
    const { over, faint } = await page.evaluate(look);
    same([over, faint], [[], []], "the form");
    await page.done();
  },
};

/** In the page: what is wider than the window, and texts with a contrast below 4.5 (WCAG AA). */
function look() {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const over = [], faint = [];
  for (const one of document.querySelectorAll("body *")) {
    const box = one.getBoundingClientRect();
    if (box.width === 0 || one.closest(".skip, noscript, .machine[data-online=false]")) continue;
    if (box.right > innerWidth + 1 && getComputedStyle(one).position !== "absolute") over.push(one.className || one.tagName);
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    let behind = one;
    while (behind && (channels(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
    const pair = [light(channels(getComputedStyle(one).color)), light(channels(getComputedStyle(behind).backgroundColor))];
    const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (contrast < 4.5) faint.push(`${one.textContent.trim().slice(0, 20)}: ${contrast.toFixed(2)}`);
  }
  return { over, faint };
}

let passed = 0;
let failed = 0;
try {
  for (const [name, test] of Object.entries(tests)) {
    const began = Date.now();
    try {
      await test();
      passed += 1;
      process.stdout.write(`ok ${name} ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
    } catch (error) {
      failed += 1;
      process.stdout.write(`FAILED ${name}: ${error.stack}\n`);
    }
  }
} finally {
  await browser.close();
  machines.forEach((one) => one.end());
  server.close();
  await broker.stop();
}
process.stdout.write(`${passed} passed\n`);
process.exit(failed === 0 ? 0 : 1);
