// Changes of heads as they stand in the address: `decoder.1.cross~3~silence`, `...~sharpen~4`, `...~pin~10~3`, `...~forbid~~11`.

import type { HeadChange } from '../../contract/types';

const KINDS = ['silence', 'sharpen', 'pin', 'forbid'] as const;
export type Kind = HeadChange['kind'];

const number = (text: string | undefined) => (text === undefined || text === '' ? null : Number(text));
const written = (value: number | null | undefined) =>
  value === null || value === undefined ? '' : String(value);

export function formatChanges(changes: readonly HeadChange[]): string {
  return changes
    .map((one) => {
      const more =
        one.kind === 'sharpen' ? [one.factor] : one.kind === 'silence' ? [] : [one.row, one.column];
      return [one.site, written(one.head), one.kind, ...more.map(written)].join('~').replace(/~+$/, '');
    })
    .join(',');
}

export function parseChanges(text: string | undefined): HeadChange[] {
  const changes: HeadChange[] = [];
  for (const part of (text ?? '').split(',').filter(Boolean)) {
    const [site, head, kind, first, second] = part.split('~');
    if (!site || !KINDS.includes(kind as Kind)) continue;
    const base = { site, head: number(head), kind: kind as Kind };
    const places = [number(head), number(first), number(second)];
    if (places.some((place) => place !== null && !Number.isFinite(place))) continue;
    if (kind === 'sharpen') changes.push({ ...base, factor: number(first) ?? 4 });
    else if (kind === 'silence') changes.push(base);
    else if (number(second) !== null) changes.push({ ...base, row: number(first), column: number(second) });
  }
  return changes;
}

const sameKey = (a: HeadChange, b: HeadChange) =>
  a.site === b.site && a.head === b.head && a.kind === b.kind && a.row === b.row && a.column === b.column;

export const hasChange = (changes: readonly HeadChange[], one: HeadChange): boolean =>
  changes.some((other) => sameKey(other, one));

/** Taken away where it is there, else added, in the place of what cannot be together with it. */
export function toggled(changes: readonly HeadChange[], one: HeadChange): HeadChange[] {
  if (hasChange(changes, one)) return changes.filter((other) => !sameKey(other, one));
  return [...changes.filter((other) => !excludes(one, other)), one];
}

/** A head is not silenced and sharpened at once; a query looks at one key alone, and not at a forbidden one. */
function excludes(one: HeadChange, other: HeadChange): boolean {
  if (other.site !== one.site || other.head !== one.head) return false;
  if (one.kind === 'silence' || one.kind === 'sharpen' || other.kind === 'silence') return true;
  if (other.kind === 'sharpen' || other.row !== one.row) return false;
  return one.kind === other.kind ? one.kind === 'pin' : one.column === other.column;
}
