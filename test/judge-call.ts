/** What the kernel would answer: a reading of the same few instructions that does not share the builder. */
export const judgeCall = (
  program: Buffer,
  arch: number,
  call: number,
  args: readonly number[] = [],
): number => {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call, 0);
  data.writeUInt32LE(arch, 4);
  args.forEach((value, index) => {
    data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  });
  let value = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const k = program.readUInt32LE(at + 4);
    const jump = (isTrue: boolean): void => {
      at += 8 * program.readUInt8(at + (isTrue ? 2 : 3));
    };
    if (code === 0x20) value = data.readUInt32LE(k);
    else if (code === 0x54) value = (value & k) >>> 0;
    else if (code === 0x15) jump(value === k);
    else if (code === 0x35) jump(value >= k);
    else if (code === 0x45) jump((value & k) !== 0);
    else if (code === 0x06) return k;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the program has no end");
};
