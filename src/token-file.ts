import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { App, AppRequest } from "./app.ts";

export const tokenFile = (root: string): string => join(root, ".llmc", "token");

/** The token from the environment; or, where asked for, one that is made once and kept for the owner's eyes. */
export const findToken = async (
  app: App,
  generate: boolean,
  env: AppRequest["env"],
): Promise<string | undefined> => {
  const { token_env: variable } = app.config.current().config.mcp.auth;
  const given = env[variable];
  if (given !== undefined && given !== "") return given;
  if (!generate) return undefined;
  const kept = (await app.disk.readText(tokenFile(app.root)))?.trim();
  if (kept !== undefined && kept.length >= 32) return kept;
  const made = randomBytes(32).toString("base64url");
  await app.disk.writeText(tokenFile(app.root), `${made}\n`, 0o600);
  return made;
};
