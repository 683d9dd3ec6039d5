import {
  ALLOW,
  EAFNOSUPPORT,
  ENOSYS,
  encodeFilter,
  filterProgram,
  give,
  refuseOthers,
  refuseValues,
} from "../os/bpf.ts";
import { AF_NETLINK, AF_UNIX, callsNamed, INET_FAMILIES, TERMINAL_REQUESTS } from "../os/system-calls.ts";

/** Those that a network namespace holds. Others, such as AF_VSOCK, lead out of it. */
const FAMILIES = [AF_UNIX, ...INET_FAMILIES, AF_NETLINK];

/** Queued operations make sockets that no filter sees. */
const QUEUES = callsNamed("io_uring_enter io_uring_register io_uring_setup");

/**
 * What a network namespace does not hold: sockets of other families, and a controlling terminal outside, where somebody
 * works. In force for everything inside, for good; programs of another word size get no system call at all. Undefined on
 * architectures whose system call numbers are not in the table.
 */
export const airGapFilter = (arch: string = process.arch): Buffer | undefined => {
  const families = refuseOthers(0, FAMILIES, EAFNOSUPPORT);
  const program = filterProgram(
    [
      ...QUEUES.map((name) => [name, [give(ENOSYS)]] as const),
      ["ioctl", refuseValues(1, TERMINAL_REQUESTS)],
      ["socket", families],
      ["socketpair", families],
    ],
    ALLOW,
    arch,
  );
  return program && encodeFilter(program);
};
