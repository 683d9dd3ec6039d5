import { flag, list, oneOf, section, text, whole } from "../base/option.ts";
import { coversToken, TOKEN_ENTRY } from "./auth/scopes.ts";

export const httpSections = [
  section("mcp.server", "The HTTP server.", {
    host: text("127.0.0.1", "any", "Address to listen on.", { restart: true }),
    port: whole(8080, 0, 65_535, "any", "Port to listen on; 0 picks a free one.", { restart: true }),
    tls_enabled: flag(false, "any", "Serve HTTPS.", { restart: true }),
    tls_cert_file: text(
      "",
      "any",
      "PEM file with the certificate and its chain; read again when it changes.",
      { restart: true, path: "config" },
    ),
    tls_key_file: text("", "any", "PEM file with the private key; read again when it changes.", {
      restart: true,
      path: "state file",
    }),
    allowed_hosts: list(
      [],
      "additions",
      "Host names accepted in the Host and Origin headers, in addition to loopback names.",
      {
        restart: true,
      },
    ),
    trusted_proxies: list(
      [],
      "additions",
      "Addresses or networks of reverse proxies whose X-Forwarded-For header is trusted. If empty, none is.",
      { restart: true },
    ),
    invoke_socket: text(
      "",
      "any",
      "Path of a Unix socket on which other programs of the same user call tools by POST /invoke; the token of each start lies beside it, under the same name with .token. If empty, there is none.",
      { restart: true, path: "state file" },
    ),
    max_connections: whole(
      1024,
      8,
      100_000,
      "more",
      "Maximum number of connections; one more closes the one that has been idle longest.",
      { restart: true },
    ),
    drain_timeout_seconds: whole(
      25,
      0,
      3600,
      "more",
      "How long running requests may take after the server was told to stop; then they are aborted.",
    ),
  }),
  section("mcp.auth", "Who may use the HTTP server.", {
    mode: oneOf(
      ["token", "none"],
      "token",
      ["token", "none"],
      "token: every request needs a token. none: no token is needed; allowed on loopback only.",
      { restart: true },
    ),
    header: text(
      "X-LLMC-Token",
      "any",
      "Header that carries the token; Authorization: Bearer is accepted too.",
    ),
    // Only names of variables are accepted, because a token pasted here by mistake would be printed.
    token_env: text("LLMC_MCP_TOKEN", "any", "Name of the environment variable that holds the token.", {
      restart: true,
      shape: { pattern: /^[A-Za-z_]\w*$/, expected: "expected the name of a variable" },
    }),
    tokens: list(
      [],
      "additions",
      'Further tokens by name, each with its scopes (read, write, execute, egress, metrics, and admin, which includes them all) and the source of its secret: "ci read,execute env:CI_TOKEN" or "bot read sha256:DIGEST" (64 hex digits).',
      {
        covers: coversToken,
        shape: {
          pattern: TOKEN_ENTRY,
          expected: 'expected "NAME SCOPE,SCOPE env:VARIABLE" or "NAME SCOPE,SCOPE sha256:DIGEST"',
        },
      },
    ),
    metrics_open: flag(false, true, "Serve the metrics without a token.", { restart: true }),
    allow_unauthenticated: flag(false, true, "Allow mode none on an address that is not loopback.", {
      restart: true,
    }),
  }),
  section("mcp.limits", "Bounds on what comes in and goes out.", {
    rate_limit_rps: whole(
      10,
      1,
      1_000_000,
      "more",
      "Requests per second that one token may send on average.",
    ),
    rate_limit_burst: whole(20, 1, 1_000_000, "more", "Requests that one token may send at once."),
    concurrency_per_token: whole(
      8,
      1,
      100_000,
      "more",
      "Maximum number of calls of one token that run at the same time; further ones wait.",
    ),
    queue_per_token: whole(
      32,
      0,
      100_000,
      "more",
      "Maximum number of calls of one token that wait; one more is refused as rate limited.",
    ),
    wrong_tokens_per_minute: whole(
      30,
      1,
      1_000_000,
      "more",
      "Different wrong tokens that one address may try per minute; then it is refused for a while.",
    ),
    state_url: text(
      "",
      "any",
      "URL of a Redis (redis:// or rediss://) or PostgreSQL (postgres://) database in which several servers share their rate limits. If empty, they are kept in memory.",
      { restart: true },
    ),
    max_request_bytes: whole(262_144, 1024, 104_857_600, "more", "Maximum size of an HTTP request body.", {
      restart: true,
    }),
    max_header_bytes: whole(
      16_384,
      1024,
      1_048_576,
      "more",
      "Maximum size of the headers of an HTTP request.",
      {
        restart: true,
      },
    ),
    header_timeout_seconds: whole(10, 1, 3600, "more", "Time for the headers of a request to arrive.", {
      restart: true,
    }),
    body_timeout_seconds: whole(
      30,
      1,
      3600,
      "more",
      "Time for a whole request to arrive, and for a client to take some more of an answer that waits for it.",
      {
        restart: true,
      },
    ),
    idle_timeout_seconds: whole(
      60,
      1,
      3600,
      "more",
      "How long a connection may stay open between requests.",
      {
        restart: true,
      },
    ),
  }),
] as const;
