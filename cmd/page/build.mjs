// Builds the page into built/, which is committed: `stepgate` embeds it, and nobody needs npm to build `stepgate`.
// The same sources and lock file give the same bytes.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync, mkdirSync, readdirSync } from "node:fs";
import { build } from "esbuild";
import { hostReact } from "./hostreact.mjs";

const out = "built";

const common = {
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  jsx: "automatic",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  outdir: out,
  metafile: true,
  logLevel: "warning",
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
const made = await build({ ...common, entryPoints: ["src/dashboard.tsx"] });
// The extension of Argo CD's UI is one file, which brings its styles. It has no package that the page does not have.
await build({ ...common, entryPoints: ["src/extension.tsx"], plugins: [hostReact], loader: { ".css": "text" } });
writeFileSync(`${out}/index.html`, readFileSync("src/index.html"));
writeFileSync(`${out}/licences.txt`, licences(packagesOf(made.metafile)));
writeFileSync(`${out}/sources.txt`, sources());

// sources are the checksums of what the page was built from. A test in Go compares them, without npm.
function sources() {
  const files = ["build.mjs", "hostreact.mjs", "package-lock.json", ...readdirSync("src").sort().map((name) => `src/${name}`)];
  return files.map((file) => `${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${file}\n`).join("");
}

// packagesOf names the packages of which the bundle has at least one byte.
function packagesOf(metafile) {
  const names = new Set();
  for (const output of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
      if (name && bytesInOutput > 0) names.add(name);
    }
  }
  return [...names].sort();
}

function licences(names) {
  const head = "The page contains code of these packages.\n";
  return head + names.map(licenceOf).join("");
}

function licenceOf(name) {
  const at = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${at}/package.json`, "utf8"));
  const file = readdirSync(at).find((f) => /^licen[cs]e/i.test(f));
  const text = file ? readFileSync(`${at}/${file}`, "utf8").replaceAll("\r\n", "\n").trim() : "(no text in the package)";
  return `\n${"-".repeat(80)}\n${name} ${version}: ${license}\n\n${text}\n`;
}
