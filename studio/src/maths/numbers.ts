// Numbers as people read them: the same rules as `regard steps` in the terminal.

/** 0.7071, 0.5, −2, −∞, with no more decimals than it needs; a dot for what is not known. */
export function figure(number: number, digits = 4): string {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? '·' : number > 0 ? '∞' : '−∞';
  return fixed(number, decimals(number, digits));
}

/** A matrix's numbers in one format: all whole, or all with as many decimals. */
export function columnDigits(numbers: ArrayLike<number>, digits = 4): number {
  let needed = 0;
  for (let index = 0; index < numbers.length && needed < digits; index++) {
    if (Number.isFinite(numbers[index])) needed = Math.max(needed, decimals(numbers[index], digits));
  }
  return needed;
}

export function decimals(number: number, most: number): number {
  for (let digits = 0; digits < most; digits++) {
    const unit = 10 ** digits;
    if (Math.abs(number - Math.round(number * unit) / unit) < 1e-9) return digits;
  }
  return most;
}

export function fixed(number: number, digits: number): string {
  if (!Number.isFinite(number)) return figure(number);
  const text = number.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', '−');
}

/** As a factor in a sum: negative numbers in brackets. */
export function bracketed(number: number, digits = 4): string {
  const text = figure(number, digits);
  return text.startsWith('−') ? `(${text})` : text;
}

/** What a person typed: both decimal signs, all minus signs, fractions; null where it is no number. */
export function parseNumber(text: string): number | null {
  const plain = text.trim().replace(/[−–]/g, '-').replace(',', '.').replace(/\s/g, '');
  const fraction = /^(-?[\d.]+)\/([\d.]+)$/.exec(plain);
  if (fraction) {
    const value = Number(fraction[1]) / Number(fraction[2]);
    return Number.isFinite(value) ? value : null;
  }
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain)) return null;
  const value = Number(plain);
  return Number.isFinite(value) ? value : null;
}

/** So many digits at most, in the way of a language. */
export const rounded = (number: number, language: string, digits = 4): string =>
  new Intl.NumberFormat(language, { maximumSignificantDigits: digits }).format(number).replace('-', '−');

/** 42 k, 1.2 M: for counts. */
export function compact(number: number, language: string): string {
  for (const [size, letter] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (Math.abs(number) >= size) return `${rounded(number / size, language, 3)} ${letter}`;
  }
  return String(number);
}

const LEAST = 1e-6;

/** 0.9623 as 96%, 0.00015 as 0.015%, in the way of a language; what is all but certain is no 100%. */
export function percent(share: number, language: string): string {
  if (!Number.isFinite(share)) return '·';
  if (share > 0 && share < LEAST) return `< ${percent(LEAST, language)}`;
  const options: Intl.NumberFormatOptions = { style: 'percent' };
  let written = share;
  if (share >= 0.995 && share < 1) {
    const digits = share >= 0.9995 ? 2 : 1;
    written = Math.floor(share * 100 * 10 ** digits) / (100 * 10 ** digits);
    options.maximumFractionDigits = digits;
  } else options.maximumSignificantDigits = 2;
  return new Intl.NumberFormat(language, options).format(written);
}

/** The same with one decimal, whatever its size: where small changes are compared. */
export function percentTenths(share: number, language: string): string {
  const options: Intl.NumberFormatOptions = {
    style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1,
  }; // prettier-ignore
  return new Intl.NumberFormat(language, options).format(share);
}
