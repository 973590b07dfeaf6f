// Is a number that a learner wrote right? As exact as it was written, and no more: 1.41 for √2 is no mistake.

import { parseNumber } from './numbers';

export type Verdict = 'right' | 'wrong' | 'follows' | 'unread';

/** Half a unit of the last digit written, and what rounding on the way may add: one unit in all. */
export function judge(written: string, expected: number): Verdict {
  const value = parseNumber(written);
  if (value === null) {
    const infinite = /^[-−–](∞|inf|infinity|oo)$/i.test(written.trim());
    return infinite ? (expected === -Infinity ? 'right' : 'wrong') : 'unread';
  }
  if (!Number.isFinite(expected)) return 'wrong';
  return Math.abs(value - expected) <= unitOf(written) * (1 + 1e-9) ? 'right' : 'wrong';
}

/** What one step of the last digit is: 0.01 of "1.41"; nothing of a whole number or a fraction. */
export function unitOf(written: string): number {
  const decimals = /[.,](\d+)\s*$/.exec(written.trim());
  return decimals ? 10 ** -decimals[1].length : 1e-9;
}
