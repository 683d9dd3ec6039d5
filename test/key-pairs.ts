import { execFileSync } from "node:child_process";
import { join } from "node:path";

export const hasOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** A self-signed pair for localhost, whose common name tells one from another. */
export const makePair = (folder: string, name: string): void => {
  execFileSync(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
      ...["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.crt`)],
    ],
    { stdio: "ignore" },
  );
};
