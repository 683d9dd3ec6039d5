import { attack, INTERPRETER } from "./command-attack.ts";
import type { Setting } from "./command-stand.ts";

/** Run as a program of its own, by another user: attacks in one tier and tells what came of it. */
const setting = JSON.parse(process.argv[2] ?? "") as Setting;
process.stdout.write(JSON.stringify(await attack(setting, INTERPRETER)));
