import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const FILES: Readonly<Record<string, string>> = {
  "README.md": "# Example\n\nA small project.\n\nSee docs.\n",
  "CHANGELOG.md": "# Changes\n\n- first\n",
  "package.json":
    '{\n  "name": "example",\n  "version": "1.2.3",\n  "scripts": {\n    "test": "node test.js",\n    "build": "node build.js"\n  },\n  "dependencies": {\n    "left-pad": "1.0.0"\n  }\n}\n',
  "index.js": 'const { createServer } = require("http");\nmodule.exports = createServer;\n',
  "build.js": 'console.log("built");\n',
  "test.js": 'console.log("ok");\n',
  "src/a.js": "// TODO: foo\nfunction a() {\n  return 1;\n}\nmodule.exports = a;\n",
  "src/b.js": "// TODO: bar\nfunction b() {\n  return 2;\n}\nmodule.exports = b;\n",
  "src/types.ts": "export interface Options {\n  readonly size: number;\n}\n",
  "src/app.ts": 'import type { Options } from "./types";\nexport const app = (o: Options) => o.size;\n',
  "lib/util.js": "exports.x = 1;\nexports.y = 2;\n",
  "lib/more.js": "exports.z = 3;\n",
  "test/a.test.js": 'const a = require("../src/a");\ntest("a", () => a());\n',
  "docs/guide.md": '# Guide\n\nUse "quotes" with \\"quotes\\" care.\n',
  "docs/with space.md": "# With a space\n",
  "data.csv": "name,count\nb,10\na,9\nb,10\nc,1\n",
  "logs/app.log":
    "2026-01-01 INFO start\n2026-01-01 ERROR failed one\n2026-01-02 WARN slow\n2026-01-02 ERROR failed two\n2026-01-02 ERROR failed one\n",
  "logs/access.log": "GET /a 200\nPOST /b 500\nGET /a 404\nHEAD / 200\n",
  "scripts/run.sh": "#!/bin/sh\necho run\n",
  "config/settings.json": '{ "debug": true }\n',
  Makefile: "build:\n\techo build\n",
};

const AUTHOR = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"];
const DATES = { GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z", GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z" };

const MADE_S = Date.now() / 1000 - 3600;

/** Gives every file and folder a time of its own: what is sorted by time is sorted the same way twice. */
const setTimes = (root: string): void => {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (name) => !/^\.git\b/.test(name),
  );
  for (const [at, name] of names.sort().entries()) utimesSync(join(root, name), MADE_S + at, MADE_S + at);
};

/** A project with two commits; what is made twice is the same twice. */
export const makeProject = (root: string): void => {
  const git = (...args: readonly string[]): void => {
    execFileSync("git", [...AUTHOR, ...args], { cwd: root, env: { ...process.env, ...DATES } });
  };
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  writeFileSync(join(root, ".gitignore"), "node_modules\ndist\n.llmc\n");
  mkdirSync(join(root, "node_modules/left-pad"), { recursive: true });
  writeFileSync(join(root, "node_modules/left-pad/index.js"), "module.exports = (s) => s;\n");
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-q", "-m", "first");
  writeFileSync(join(root, "README.md"), `${FILES["README.md"]}\nMore.\n`);
  setTimes(root);
  git("commit", "-q", "-am", "second");
};
