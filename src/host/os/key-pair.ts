import { createSecureContext } from "node:tls";
import { LlmcError } from "../../base/error.ts";
import { readOwnFileSoon } from "../own-files/read-own-file.ts";

/** What a TLS listener shows and proves. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A chain of many certificates has some ten kilobytes. */
const MAX_PEM_BYTES = 1024 * 1024;

const readPem = async (path: string, key: string): Promise<Buffer> => {
  try {
    return await readOwnFileSoon(path, { maxBytes: MAX_PEM_BYTES });
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? ` (${cause.code})` : "";
    throw new LlmcError("config_invalid", `mcp.server.${key}: the file cannot be read${code}.`, { cause });
  }
};

/** Reads and tries both files, so that a half-written or foreign pair is found here and not by clients. */
export const readKeyPair = async (certFile: string, keyFile: string): Promise<KeyPair> => {
  const [cert, key] = await Promise.all([
    readPem(certFile, "tls_cert_file"),
    readPem(keyFile, "tls_key_file"),
  ]);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new LlmcError("config_invalid", "mcp.server: the certificate and the key are not a pair in PEM.", {
      hint: "Check tls_cert_file and tls_key_file.",
      cause,
    });
  }
  return { cert, key };
};
