/**
 * What a hostile program tries inside the sandbox. It is text, because it runs there and not here, and harmless,
 * because everything that it attacks is in the practice workspace, or is undone at once. Prints the names of the
 * attempts that succeeded.
 */
export const HOSTILE_SCRIPT = `
const fs = require("node:fs"), net = require("node:net");
const { outside, home, port, server, secret } = JSON.parse(fs.readFileSync("facts.json", "utf8"));
const done = [];
const attempt = (name, work) => { try { if (work() !== false) done.push(name); } catch {} };
const reads = (path) => fs.readFileSync(path, "utf8").includes(secret);
attempt("reads a file outside", () => reads(outside + "/secret.txt"));
attempt("reads a file outside through a link", () => reads("link"));
attempt("reads the user's own state", () => fs.readdirSync(home).length >= 0);
attempt("reads a secret by name", () => reads(".env"));
attempt("reads a secret in a folder", () => reads("keys/.ssh/id_rsa"));
attempt("renames a folder of secrets", () => { fs.renameSync("keys/.ssh", "keys/open"); return reads("keys/open/id_rsa"); });
attempt("renames a folder above secrets", () => { fs.renameSync("keys", "opened"); return reads("opened/.ssh/id_rsa"); });
attempt("writes a file outside", () => fs.writeFileSync(outside + "/victim.txt", "after"));
attempt("writes through a link", () => fs.writeFileSync("dangling", "x"));
attempt("writes git's configuration", () => fs.appendFileSync(".git/config", "[x]"));
attempt("writes a git hook", () => fs.writeFileSync(".git/hooks/post-checkout", "x"));
attempt("replaces the git directory", () => fs.renameSync(".git", "git2"));
attempt("changes a start-up file", () => fs.writeFileSync(".vscode/settings.json", "x"));
attempt("sets a set-user-ID bit", () => { fs.writeFileSync("s", ""); fs.chmodSync("s", 0o4755); });
const litter = (path) => { fs.writeFileSync(path, "x", { flag: "wx" }); fs.unlinkSync(path); };
attempt("writes to the first file system", () => litter("/llmc-practice"));
attempt("writes to /etc", () => litter("/etc/llmc-practice"));
attempt("signals the server", () => process.kill(server, 0));
attempt("sees the server's environment", () => fs.readFileSync("/proc/" + server + "/environ").length > 0);
try { fs.mkdirSync("planted/.git/objects", { recursive: true }); fs.mkdirSync("planted/.git/refs");
  fs.writeFileSync("planted/.git/HEAD", "ref: refs/heads/main\\n");
  fs.writeFileSync("planted/.git/config", "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = true\\n"); } catch {}
try { fs.writeFileSync("llmc.toml", "x"); } catch {}
const finish = () => { console.log(JSON.stringify(done)); process.exit(0); };
const socket = net.connect(port, "127.0.0.1");
socket.on("connect", () => { done.push("reaches the network"); finish(); });
socket.on("error", finish);
setTimeout(finish, 2000);
`;
