import { Socket } from "node:net";
import koffi from "koffi";

const O_CLOEXEC = 0o2000000;
/** Loaded on need: only Linux has it, and the other tools work elsewhere, too. */
let pipe2: ((ends: Buffer, flags: number) => number) | undefined;

export interface Pipe {
  readonly reader: Socket;
  /** To be handed to a child, and closed here then. */
  readonly writeEnd: number;
}

/** The other way round: for a child's input. */
export interface InputPipe {
  readonly writer: Socket;
  readonly readEnd: number;
}

/** A real pipe: Node's own are sockets, and a script that opens `/dev/stderr` fails on those. */
export const openPipeEnds = (): readonly [readEnd: number, writeEnd: number] => {
  const ends = Buffer.alloc(8);
  pipe2 ??= koffi.load(null).func("pipe2", "int", ["void *", "int"]);
  if (pipe2(ends, O_CLOEXEC) !== 0)
    throw Object.assign(new Error("No pipe could be opened."), { code: "EMFILE" });
  return [ends.readInt32LE(0), ends.readInt32LE(4)];
};

export const openPipe = (): Pipe => {
  const [fd, writeEnd] = openPipeEnds();
  return { reader: new Socket({ fd, readable: true, writable: false }), writeEnd };
};

export const openInputPipe = (): InputPipe => {
  const [readEnd, fd] = openPipeEnds();
  return { writer: new Socket({ fd, readable: false, writable: true }), readEnd };
};
