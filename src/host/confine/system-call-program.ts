import { endianness } from "node:os";

/**
 * A program for Linux whose whole code is a loop that makes system calls from a table. The last one usually starts
 * another program (exec). It is made here, at run time, because a process can be confined for good only by calls of its
 * own, Node offers none of them, and a second Node to make them would cost 40 ms; this one costs less than one.
 */

/** A part of the program's data; an address is known once all of them are laid out. */
export interface Datum {
  readonly bytes: Buffer;
  /** Addresses of other data, written into the bytes as 64-bit numbers. */
  readonly pointers?: readonly { readonly at: number; readonly to: Datum }[];
}

type Argument = number | bigint | Datum;

export interface SystemCall {
  /** For the report of a failure. */
  readonly step: string;
  readonly number: number;
  readonly args: readonly Argument[];
  /** Where the low 32 bits of the result go: into other data, or into an argument of a later call. */
  readonly result?: { readonly into: Datum | SystemCall; readonly at: number };
  /** Goes on where the kernel refuses. */
  readonly isOptional?: boolean;
}

/** Offset of an argument in its call's record. */
export const argumentAt = (index: number): number => 8 + 8 * index;

const RECORD_BYTES = 64;
const RESULT_ADDRESS = 56;
const FLAGS = 60;
const OPTIONAL = 1;
/** Above the bit of `OPTIONAL`, the flags hold the call's position in the table. */
const INDEX_SHIFT = 1;

/**
 * The same loop for each machine, made with an assembler. In words: load the number and six arguments from the record;
 * call; where the record has an address for the result, store it; where the result is negative and the call not optional,
 * put it into the record, write the record to the descriptor for reports and exit with 126; go on with the next record. The two numbers at the end are the address of the first record and the descriptor for reports.
 */
const MACHINE_CODE: Readonly<Record<string, { readonly elfMachine: number; readonly code: string }>> = {
  x64: {
    elfMachine: 62,
    code: `
      488b1d61000000                                     mov rbx, [table]
      488b03 488b7b08 488b7310 488b5318                  next: mov rax, [rbx]; mov rdi, rsi, rdx, [rbx + 8 …]
      4c8b5320 4c8b4328 4c8b4b30                         mov r10, r8, r9, [rbx + 32 …]
      0f05                                               syscall
      8b4b38 85c9 7402 8901                              mov ecx, [rbx + 56]; test; jz kept; mov [rcx], eax
      4885c0 7806                                        kept: test rax, rax; js failed
      4883c340 ebcf                                      done: add rbx, 64; jmp next
      f7433c01000000 75f1                                failed: test [rbx + 60], 1; jnz done
      48894308                                           mov [rbx + 8], rax
      b801000000 488b3d1f000000 4889de ba40000000 0f05   write(report, rbx, 64)
      b8e7000000 bf7e000000 0f05                         exit_group(126)
      90                                                 nop`,
  },
  arm64: {
    elfMachine: 183,
    code: `
      13030058                                           ldr x19, table
      680240a9 610a41a9 631242a9 651a40f9                next: ldp x8, x0, [x19]; ldp x1, x2; ldp x3, x4; ldr x5
      010000d4                                           svc 0
      693a40b9 49000034 200100b9                         ldr w9, [x19, 56]; cbz w9, kept; str w0, [x9]
      6000f8b7                                           kept: tbnz x0, 63, failed
      73020191 f6ffff17                                  done: add x19, x19, 64; b next
      693e40b9 a9ff0737                                  failed: ldr w9, [x19, 60]; tbnz w9, 0, done
      600600f9                                           str x0, [x19, 8]
      080880d2 40010058 e10313aa 020880d2 010000d4       write(report, x19, 64)
      c80b80d2 c00f80d2 010000d4                         exit_group(126)
      1f2003d5                                           nop`,
  },
};

/** Machine code comes first in a line, in groups of lower-case hexadecimal digits; what follows is for the reader. */
const codeBytes = (text: string): Buffer =>
  Buffer.concat(
    text
      .trim()
      .split("\n")
      .map((line) =>
        Buffer.from((/^(?: *\b(?:[0-9a-f]{2})+\b)+/.exec(line)?.[0] ?? "").replaceAll(" ", ""), "hex"),
      ),
  );

const CODE_ADDRESS = 0x400000;
const DATA_ADDRESS = 0x500000;
/** The largest page of the two machines: segments that share a page of the file must agree modulo this. */
const PAGE = 0x10000;
const HEADER_BYTES = 64 + 3 * 56;

interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

const PT_LOAD = 1;
const PT_GNU_STACK = 0x6474e551;
const [EXECUTABLE, WRITABLE, READABLE] = [1, 2, 4];

const elfHeader = (elfMachine: number, entry: number, segments: readonly Segment[]): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("\x7fELF\x02\x01\x01", 0, "latin1");
  header.writeUInt16LE(2, 16); // An executable at fixed addresses.
  header.writeUInt16LE(elfMachine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(entry), 24);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(segments.length, 56);
  segments.forEach(({ type, flags, offset, address, size }, index) => {
    const at = 64 + 56 * index;
    header.writeUInt32LE(type, at);
    header.writeUInt32LE(flags, at + 4);
    header.writeBigUInt64LE(BigInt(offset), at + 8);
    header.writeBigUInt64LE(BigInt(address), at + 16);
    header.writeBigUInt64LE(BigInt(address), at + 24);
    header.writeBigUInt64LE(BigInt(size), at + 32);
    header.writeBigUInt64LE(BigInt(size), at + 40);
    header.writeBigUInt64LE(BigInt(type === PT_LOAD ? PAGE : 16), at + 48);
  });
  return header;
};

const aligned = (size: number): number => Math.ceil(size / 8) * 8;

const isDatum = (value: Argument): value is Datum => typeof value === "object";

/** Everything that a table refers to, each part once. */
const collectData = (calls: readonly SystemCall[]): readonly Datum[] => {
  const found = new Set<Datum>();
  const add = (datum: Datum): void => {
    if (found.has(datum)) return;
    found.add(datum);
    for (const { to } of datum.pointers ?? []) add(to);
  };
  for (const { args, result } of calls) {
    for (const arg of args) if (isDatum(arg)) add(arg);
    if (result !== undefined && "bytes" in result.into) add(result.into);
  }
  return [...found];
};

const layOut = (calls: readonly SystemCall[], start: number): Buffer => {
  const addresses = new Map<Datum | SystemCall, number>();
  calls.forEach((call, index) => {
    addresses.set(call, start + RECORD_BYTES * index);
  });
  const data = collectData(calls);
  let size = RECORD_BYTES * calls.length;
  for (const datum of data) {
    addresses.set(datum, start + size);
    size += aligned(datum.bytes.length);
  }
  const addressOf = (target: Datum | SystemCall): number => {
    const address = addresses.get(target);
    if (address === undefined) throw new Error("A result goes to a call that is not in the table.");
    return address;
  };
  const image = Buffer.alloc(size);
  calls.forEach(({ number, args, result, isOptional = false }, index) => {
    const at = RECORD_BYTES * index;
    image.writeBigUInt64LE(BigInt(number), at);
    args.forEach((arg, position) => {
      const value = isDatum(arg) ? addressOf(arg) : arg;
      image.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), at + argumentAt(position));
    });
    if (result !== undefined) image.writeUInt32LE(addressOf(result.into) + result.at, at + RESULT_ADDRESS);
    image.writeUInt32LE((index << INDEX_SHIFT) | (isOptional ? OPTIONAL : 0), at + FLAGS);
  });
  for (const datum of data) {
    const at = addressOf(datum) - start;
    datum.bytes.copy(image, at);
    for (const pointer of datum.pointers ?? [])
      image.writeBigUInt64LE(BigInt(addressOf(pointer.to)), at + pointer.at);
  }
  return image;
};

/** Whether such a program can be made for this machine. */
export const hasMachineCode = (arch: string = process.arch): boolean =>
  endianness() === "LE" && Object.hasOwn(MACHINE_CODE, arch);

/** The whole file. A failure is reported on the descriptor (`readFailure`). */
export const buildProgram = (
  calls: readonly SystemCall[],
  reportDescriptor: number,
  arch: string = process.arch,
): Buffer => {
  const machine = MACHINE_CODE[arch];
  if (machine === undefined) throw new Error(`There is no machine code for ${arch}.`);
  const code = codeBytes(machine.code);
  const dataOffset = aligned(HEADER_BYTES + code.length + 16);
  const dataStart = DATA_ADDRESS + dataOffset;
  const image = layOut(calls, dataStart);
  const literals = Buffer.alloc(16);
  literals.writeBigUInt64LE(BigInt(dataStart), 0);
  literals.writeBigInt64LE(BigInt(reportDescriptor), 8);
  const header = elfHeader(machine.elfMachine, CODE_ADDRESS + HEADER_BYTES, [
    {
      type: PT_LOAD,
      flags: READABLE | EXECUTABLE,
      offset: 0,
      address: CODE_ADDRESS,
      size: dataOffset,
    },
    {
      type: PT_LOAD,
      flags: READABLE | WRITABLE,
      offset: dataOffset,
      address: dataStart,
      size: image.length,
    },
    { type: PT_GNU_STACK, flags: READABLE | WRITABLE, offset: 0, address: 0, size: 0 },
  ]);
  const text = Buffer.alloc(dataOffset);
  Buffer.concat([header, code, literals]).copy(text);
  return Buffer.concat([text, image]);
};

export interface LaunchFailure {
  readonly step: string;
  readonly errno: number;
}

/** The step that the kernel refused, from what came on the descriptor for reports. */
export const readFailure = (report: Buffer, calls: readonly SystemCall[]): LaunchFailure | undefined => {
  if (report.length < RECORD_BYTES) return undefined;
  const record = report.subarray(report.length - RECORD_BYTES);
  const index = record.readUInt32LE(FLAGS) >>> INDEX_SHIFT;
  return {
    step: calls[index]?.step ?? `call ${index}`,
    errno: -Number(record.readBigInt64LE(argumentAt(0))),
  };
};

/** Bytes with a NUL at the end, as C has its strings. */
export const text = (value: string): Datum => ({ bytes: Buffer.from(`${value}\0`) });

/** A list of pointers to strings with a NULL at the end: argv, or the environment. */
export const textList = (values: readonly string[]): Datum => ({
  bytes: Buffer.alloc(8 * (values.length + 1)),
  pointers: values.map((value, index) => ({ at: 8 * index, to: text(value) })),
});
