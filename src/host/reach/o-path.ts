/**
 * Linux's own flag, which Node does not name: a descriptor that stands for the file and opens nothing, so that not even a
 * FIFO or a device notices. The value is that of every architecture Node runs on.
 */
export const O_PATH = 0o10000000;
