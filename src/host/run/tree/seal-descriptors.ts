import koffi from "koffi";
import { callNumber } from "../../os/system-calls.ts";

const CLOSE_RANGE_CLOEXEC = 4;
const LAST = 0xffffffff;

/**
 * Node opens files so that no child inherits them, but passes on what it was started with itself: whatever a
 * client or a supervisor left open above the standard streams would reach every command. Kernels before 5.11
 * cannot do this, and the command then inherits the same as the server did.
 */
export const sealDescriptors = (): void => {
  const closeRange = koffi.load(null).func("syscall", "long", ["long", "uint", "uint", "uint"]);
  closeRange(callNumber("close_range"), 3, LAST, CLOSE_RANGE_CLOEXEC);
};
