import { type CallName, MACHINES, SYSTEM_CALLS } from "./system-calls.ts";

/** Seccomp filters are programs of the classic BPF machine: one accumulator, forward jumps, a verdict at the end. */
export type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, k: number];

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
export const JUMP_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_AT_LEAST = 0x35; // BPF_JMP | BPF_JGE | BPF_K
export const JUMP_ANY_BIT = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K
const AND = 0x54; // BPF_ALU | BPF_AND | BPF_K

export const ALLOW = 0x7fff0000;
const errno = (code: number): number => 0x00050000 | code;
export const EPERM = errno(1);
export const EINVAL = errno(22);
export const ENOTTY = errno(25);
export const EACCES = errno(13);
export const EAFNOSUPPORT = errno(97);
export const EROFS = errno(30);
export const ENOSYS = errno(38);

const NR_OFFSET = 0;
const ARCH_OFFSET = 4;
/** Both machines are little-endian: the low half of an argument comes first. */
export const argument = (index: number, half: "low" | "high" = "low"): number =>
  16 + 8 * index + (half === "low" ? 0 : 4);

export const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
export const mask = (bits: number): Instruction => [AND, 0, 0, bits];
export const give = (result: number): Instruction => [RETURN, 0, 0, result];

type Condition = typeof JUMP_EQUAL | typeof JUMP_AT_LEAST | typeof JUMP_ANY_BIT;

/** The block runs where the loaded value meets the condition; otherwise it is jumped over. */
export const when = (condition: Condition, k: number, block: readonly Instruction[]): Instruction[] => [
  [condition, 0, block.length, k],
  ...block,
];
export const unless = (condition: Condition, k: number, block: readonly Instruction[]): Instruction[] => [
  [condition, block.length, 0, k],
  ...block,
];

/** Refuses a call whose argument is one of the values. */
export const refuseValues = (index: number, values: readonly number[], result = EPERM): Instruction[] => [
  load(argument(index)),
  ...values.flatMap((value) => when(JUMP_EQUAL, value, [give(result)])),
];

/** Refuses a call unless its argument is one of the values. */
export const refuseOthers = (index: number, values: readonly number[], result = EPERM): Instruction[] => [
  load(argument(index)),
  ...values.flatMap((value) => when(JUMP_EQUAL, value, [give(ALLOW)])),
  give(result),
];

/** Refuses a call unless its argument, a pointer, is NULL. */
export const refusePointer = (index: number): Instruction[] =>
  (["low", "high"] as const).flatMap((half) => [
    load(argument(index, half)),
    ...unless(JUMP_EQUAL, 0, [give(EPERM)]),
  ]);

/** How each filter begins: with the number of the system call loaded. */
const filterStart = (audit: number): readonly Instruction[] => [
  load(ARCH_OFFSET),
  // Programs of another word size have other numbers: they get no system call at all.
  ...unless(JUMP_EQUAL, audit, [give(ENOSYS)]),
  load(NR_OFFSET),
  // The x32 numbers of x86_64 would pass by the table.
  ...when(JUMP_AT_LEAST, 0x40000000, [give(ENOSYS)]),
];

/** What happens to calls by their name; a block that gives no verdict of its own ends in permission. */
export type CallRules = readonly (readonly [CallName, readonly Instruction[]])[];

/** A filter with a verdict for all other calls; undefined on machines whose numbers are not in the table. */
export const filterProgram = (
  rules: CallRules,
  otherwise: number,
  arch: string,
): readonly Instruction[] | undefined => {
  const machine = MACHINES[arch];
  if (machine === undefined) return undefined;
  const program: Instruction[] = [...filterStart(machine.audit)];
  for (const [name, block] of rules) {
    const number = SYSTEM_CALLS[name][machine.column];
    // Each block ends in a verdict, so the accumulator always holds the number here.
    if (number >= 0) program.push(...when(JUMP_EQUAL, number, [...block, give(ALLOW)]));
  }
  program.push(give(otherwise));
  return program;
};

/** As the kernel and bubblewrap take it. */
export const encodeFilter = (program: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, k], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  });
  return bytes;
};
