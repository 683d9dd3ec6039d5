import { z } from "zod";
import { flag, list, type Option, oneOf, section, text, whole } from "../base/option.ts";

/** A token pasted here by mistake would be printed with the configuration: only what can name a variable is taken. */
const TOKEN_VARIABLE: Option<string> = {
  schema: z.string().regex(/^[A-Za-z_]\w*$/, "expected the name of a variable"),
  default: "LLMC_MCP_TOKEN",
  says: "Name of the environment variable that holds the token.",
  planned: false,
  restart: true,
};

export const httpSections = [
  section("mcp.server", "Where the HTTP door listens.", {
    host: text("127.0.0.1", "Address to listen on.", { restart: true }),
    port: whole(8080, 0, 65_535, "Port to listen on; 0 picks a free one.", { restart: true }),
    tls_enabled: flag(false, "Serve HTTPS.", { planned: true, restart: true }),
    allowed_hosts: list([], "Host names accepted in the Host and Origin headers, beside loopback names.", {
      restart: true,
    }),
  }),
  section("mcp.auth", "Who may use the HTTP door.", {
    mode: oneOf(
      ["token", "none"],
      "token",
      "token: every request needs the token. none: nobody is asked, on loopback only.",
      { restart: true },
    ),
    header: text("X-LLMC-Token", "Header that carries the token; Authorization: Bearer is accepted too."),
    token_env: TOKEN_VARIABLE,
    allow_unauthenticated: flag(false, "Allow mode none on an address that is not loopback.", {
      restart: true,
    }),
  }),
  section("mcp.limits", "Bounds on what comes in and goes out.", {
    rate_limit_rps: whole(10, 1, 1_000_000, "Requests a second that one token may send over time.", {
      planned: true,
    }),
    rate_limit_burst: whole(20, 1, 1_000_000, "Requests that one token may send at once.", { planned: true }),
    concurrency_per_token: whole(8, 1, 100_000, "Calls of one token that run at the same time.", {
      planned: true,
    }),
    max_request_bytes: whole(262_144, 1024, 104_857_600, "Largest HTTP request body.", { restart: true }),
    max_header_bytes: whole(16_384, 1024, 1_048_576, "Largest HTTP request header block.", { restart: true }),
  }),
] as const;
