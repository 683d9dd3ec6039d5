import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { App, AppRequest } from "./app.ts";

/** Where earlier versions kept the token; a cloned repository may contain such a file. */
const FORMER = join(".llmc", "token");

export interface FoundToken {
  readonly token: string | undefined;
  /** The file that holds it; undefined where it comes from the environment. */
  readonly file: string | undefined;
}

type Request = Pick<AppRequest, "root" | "env" | "folders">;

/**
 * The token from the environment, or, if requested, one that is generated once and stored so that only the owner can
 * read it.
 */
export const tokenOf = async (
  { root, env, folders }: Request,
  variable: string,
  generate: boolean,
): Promise<FoundToken> => {
  const given = env[variable];
  if (given !== undefined && given !== "") return { token: given, file: undefined };
  if (!generate) return { token: undefined, file: undefined };
  const { keepToken, tokenPath } = await import("../host/own-files/token-store.ts");
  const token = keepToken(folders.state, root, () => randomBytes(32).toString("base64url"));
  return { token, file: tokenPath(folders.state, root) };
};

/** The token of a server's start. */
export const findToken = async (app: App, generate: boolean, request: Request): Promise<FoundToken> => {
  const found = await tokenOf(request, app.config.current().config.mcp.auth.token_env, generate);
  if (found.file !== undefined && (await app.disk.exists(join(app.root, FORMER))))
    app.log.warn({ file: FORMER }, "a token in the workspace is no longer used; remove that file");
  return found;
};
