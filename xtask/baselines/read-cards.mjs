// What a program in Node does that lists the cards of a folder: read and parse each.
import { readdirSync, readFileSync } from "node:fs";
const folder = process.argv[2];
let sessions = 0;
for (const name of readdirSync(folder)) {
  if (name.endsWith(".json")) sessions += JSON.parse(readFileSync(`${folder}/${name}`, "utf8")).id ? 1 : 0;
}
console.log(sessions);
