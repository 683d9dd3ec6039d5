import { deflateSync } from "node:zlib";

/** A PDF with one page for each content stream; streams are compressed where asked for. */
export const pdfOf = (
  streams: readonly (string | Buffer)[],
  { title = "", deflate = false } = {},
): Buffer => {
  const objects: Buffer[] = [];
  const kids = streams.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  const text = (source: string): void => void objects.push(Buffer.from(source, "latin1"));
  text("<< /Type /Catalog /Pages 2 0 R >>");
  text(`<< /Type /Pages /Kids [${kids}] /Count ${streams.length} >>`);
  text("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  for (const [index, stream] of streams.entries()) {
    const data = deflate ? deflateSync(stream) : Buffer.from(stream);
    text(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
    );
    const filter = deflate ? "/Filter /FlateDecode " : "";
    objects.push(
      Buffer.concat([
        Buffer.from(`<< ${filter}/Length ${data.length} >>\nstream\n`),
        data,
        Buffer.from("\nendstream"),
      ]),
    );
  }
  text(`<< /Title (${title}) >>`);
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  const offsets: number[] = [];
  let at = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    offsets.push(at);
    const whole = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]);
    parts.push(whole);
    at += whole.length;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info ${objects.length} 0 R >>\nstartxref\n${at}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
};

export const pageOf = (text: string): string => `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`;
