import type { Loaded } from "../config/load.ts";
import type { OutStream } from "../host/run/direct.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import type { Usage } from "../host/state/usage/usage.ts";

/** Reads what the server and earlier commands kept in a workspace. */
export interface KeptReader {
  readonly handles: Pick<Handles, "readChunk" | "list">;
  readonly usage: Pick<Usage, "summary">;
  close(): Promise<void>;
}

/** The streams that `te` was started with. */
export interface TeStreams {
  /** Descriptor of the input, which the command inherits. */
  readonly stdin: number;
  readonly stdout: OutStream;
  readonly stderr: OutStream;
}

/** What the starter hands to `te`: this room reads no environment and wires no engines. */
export interface TeParts {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly streams: TeStreams;
  readonly version: string;
  /** The user's state folder, where the key that signs the workspace's state lies. */
  readonly userState: string;
  /** Owner of the handles that `te` keeps and reads. */
  readonly principal: string;
  readonly load: (root: string) => Promise<Loaded>;
  readonly openKept: (root: string, loaded: Loaded) => Promise<KeptReader>;
}
