/** Programs and their libraries: what any command may read and run. */
export const SYSTEM_FOLDERS = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  // Where NixOS and Guix keep all programs.
  "/nix/store",
  "/gnu/store",
] as const;

/** The little of /etc that programs need to start; nothing here is secret or says who uses the machine. */
export const SYSTEM_FILES = `
  /etc/alternatives /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld-musl-x86_64.path
  /etc/ld-musl-aarch64.path /etc/localtime /etc/timezone /etc/mime.types /etc/magic /etc/nsswitch.conf
  /etc/os-release /etc/ssl/certs /etc/ssl/openssl.cnf /etc/ca-certificates /etc/pki/tls/certs
  /etc/pki/ca-trust/extracted`
  .trim()
  .split(/\s+/);

export const HOSTS_FILE = "/etc/hosts";

export const NETWORK_FILES = ["/etc/resolv.conf", HOSTS_FILE, "/etc/services", "/etc/gai.conf"] as const;
