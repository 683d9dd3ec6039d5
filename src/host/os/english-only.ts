import module from "node:module";

/*
 * Loaded before everything that loads zod (main.ts), which has its messages in more than sixty languages, one file each:
 * 14 of the 150 ms of a start (`npm run bench -- start`). Ours are English, and no other ones can be chosen.
 */
const LOCALES = new URL("./v4/locales/index.js", import.meta.resolve("zod")).href;

// Since Node 22.15; before, a start is only slower.
module.registerHooks?.({
  load: (url, context, next) =>
    url === LOCALES
      ? { format: "module", shortCircuit: true, source: 'export { default as en } from "./en.js";\n' }
      : next(url, context),
});
