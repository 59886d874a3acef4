// Validates every example, and one live status file, with ajv.
//
// Usage: node validate.cjs SCHEMAS STATUS_FILE

"use strict";

const fs = require("node:fs");
const path = require("node:path");
const Ajv2020 = require("ajv/dist/2020").default;

const [schemas, live] = process.argv.slice(2);
const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
// Strict mode would refuse lists of types, which the contract uses for "or null". Formats are annotations.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, validateFormats: false });
const compiled = (file) => ajv.compile(read(path.join(schemas, file)));

const wrong = [];
let count = 0;
for (const file of fs.readdirSync(schemas).filter((file) => file.endsWith(".v1.schema.json")).sort()) {
  const name = file.replace(".v1.schema.json", "");
  const reader = compiled(file);
  const writer = compiled(path.join("writer", file));
  for (const kind of ["valid", "invalid"]) {
    const folder = path.join(schemas, "examples", name, "v1", kind);
    const examples = fs.readdirSync(folder).sort();
    if (examples.length === 0) wrong.push(`${name} has no ${kind} example`);
    for (const example of examples) {
      count += 1;
      if (reader(read(path.join(folder, example))) !== (kind === "valid")) {
        wrong.push(`${name}/${kind}/${example}: expected ${kind}`);
      }
    }
  }
  if (name === "status") {
    for (const [side, validate] of [["reader", reader], ["writer", writer]]) {
      if (!validate(read(live))) wrong.push(`live status file, ${side}: ${ajv.errorsText(validate.errors)}`);
    }
  }
}

console.log(wrong.length > 0 ? wrong.join("\n") : `${count} examples and a live status file`);
process.exitCode = wrong.length > 0 ? 1 : 0;
