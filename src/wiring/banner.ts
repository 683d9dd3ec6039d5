import { VERSION } from "./version.ts";

/** For somebody who types the command that clients use. */
export const BANNER = `llmc ${VERSION} waits for an MCP client on stdin. Clients start it themselves:
  llmc connect claude-code    adds it to a client (llmc connect --help lists them)
  llmc serve --http           serves it to people and programs
`;
