import { execFileSync } from "node:child_process";
import { chownSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";

/** The newest version of Debian's package; undefined where it is not installed. */
const BIN = globSync("/usr/lib/postgresql/*/bin")
  .filter((folder) => globSync(join(folder, "{initdb,pg_ctl}")).length === 2)
  .toSorted((a, b) => Number(a.split("/")[4]) - Number(b.split("/")[4]))
  .at(-1);

export const isPostgresInstalled = BIN !== undefined;

export interface InstalledPostgres {
  readonly url: string;
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** PostgreSQL refuses to run as root. */
const ORDINARY_USER = 65_534;
const asUser = process.getuid?.() === 0 ? { uid: ORDINARY_USER, gid: ORDINARY_USER } : {};

/** A database is thrown away after the test, so nothing is synced to the disk. */
const SETTINGS = ["fsync=off", "listen_addresses=", "max_connections=60", "deadlock_timeout=50ms"];

/** The machine's own PostgreSQL server, with an empty database: unlike PGlite it has many sessions at once. */
export const startInstalledPostgres = async (): Promise<InstalledPostgres> => {
  if (BIN === undefined) throw new Error("PostgreSQL is not installed.");
  const bin = BIN;
  const folder = mkdtempSync(join(tmpdir(), "llmc-pg-"));
  if (asUser.uid !== undefined) chownSync(folder, asUser.uid, asUser.gid);
  const data = join(folder, "data");
  const run = (program: string, ...args: readonly string[]): void => {
    execFileSync(join(bin, program), args, { ...asUser, cwd: folder, stdio: "ignore" });
  };
  run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C");
  const settings = [...SETTINGS, `unix_socket_directories=${folder}`].map((one) => `-c ${one}`).join(" ");
  run("pg_ctl", "-D", data, "-l", join(folder, "log"), "-o", settings, "-w", "start");
  const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  return {
    url,
    rows: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    close: async () => {
      await client.end();
      run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop");
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
