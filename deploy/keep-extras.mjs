// Makes ordinary dependencies of the extras that npm does not install by itself, so that `npm prune --omit=dev` keeps them.
import { readFileSync, writeFileSync } from "node:fs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
for (const [name, version] of Object.entries(manifest.peerDependencies)) {
  manifest.dependencies[name] = version;
  delete manifest.devDependencies[name];
}
delete manifest.peerDependencies;
delete manifest.peerDependenciesMeta;
writeFileSync("package.json", JSON.stringify(manifest, null, 2));
