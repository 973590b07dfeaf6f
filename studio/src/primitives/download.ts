// Files that a person takes along: pictures and tables.

export interface Table {
  columns: readonly string[];
  rows: readonly (readonly (string | number | null)[])[];
}

export function toCsv(table: Table): string {
  return [table.columns, ...table.rows].map((row) => row.map(field).join(',')).join('\r\n') + '\r\n';
}

export function toJson(table: Table): string {
  const named = table.rows.map((row) =>
    Object.fromEntries(table.columns.map((column, index) => [column, plain(row[index])])),
  );
  return JSON.stringify(named, null, 1) + '\n';
}

/** Text that a spreadsheet would run as a formula gets an apostrophe before it. */
function field(value: string | number | null): string {
  if (value === null || (typeof value === 'number' && !Number.isFinite(value))) return '';
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

const plain = (value: string | number | null | undefined) =>
  typeof value === 'number' && !Number.isFinite(value) ? null : (value ?? null);

export function download(name: string, content: Blob | string, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** An SVG painted, twice as sharp as it is large. */
export async function toPng(svg: string, sharp = 2): Promise<Blob> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  canvas.width = picture.width * sharp;
  canvas.height = picture.height * sharp;
  const paint = canvas.getContext('2d')!;
  paint.scale(sharp, sharp);
  paint.drawImage(picture, 0, 0);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
  );
}

/** A file's name from a title: letters, digits and dashes. */
export function fileName(title: string): string {
  const plain = title.normalize('NFKD').replace(/[\u0300-\u036f]/g, '');
  return (
    plain
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'regard'
  );
}
