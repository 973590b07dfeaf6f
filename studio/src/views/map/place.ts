// What stands in the address about a map: where it is looked at, and how.

import type { SiteInfo } from '../../contract/types';
import { settings } from '../../state/settings.svelte';
import type { Pool, Range } from '../heads/source';

export const LARGE = 256; // tokens from which on a pixel may stand for many weights
export const SHORT = 40; // tokens up to which all of a map is near enough
export const NEAR = 22; // pixels of a token where one has jumped to

/** One weight: which query looks at which key. */
export interface MapCell {
  row: number;
  column: number;
}
/** The middle of what is seen, and the pixels of a token. */
export interface MapPlace extends MapCell {
  zoom: number;
}
/** A cell that is pointed at, and what is known of it: its value, or that of so many weights in one. */
export interface PointedCell extends MapCell {
  value: number | null;
  level: number;
}

/** Null: all of the map. */
export function atOf(text: string | undefined): MapPlace | null {
  const found = /^(-?[\d.]+),(-?[\d.]+),([\d.e-]+)$/.exec(text ?? '');
  const [row, column, zoom] = found ? found.slice(1).map(Number) : [NaN, NaN, NaN];
  return Number.isFinite(row) && Number.isFinite(column) && zoom > 0 ? { row, column, zoom } : null;
}

export function placeOf(text: string | undefined, count: number): number | null {
  const value = Number(text ?? NaN);
  return Number.isInteger(value) && value >= 0 && value < count ? value : null;
}

/** How weights are made one number: as asked for, where that can be. */
export function poolOf(text: string | undefined, pools: readonly Pool[]): Pool {
  return pools.find((one) => one === text) ?? pools[0] ?? 'mass';
}

/** The rectangle of weights that lie under a pixel. */
export function under(row: number, column: number, level: number, site: SiteInfo) {
  const cell = 2 ** level;
  const range = (value: number, count: number): Range => {
    const first = Math.floor(value / cell) * cell;
    return [first, Math.min(count, first + cell)];
  };
  return { rows: range(row, site.queries), columns: range(column, site.keys), all: true };
}

/** A position or a number of tokens, as a person of this language writes it. */
export const counted = (count: number): string => count.toLocaleString(settings.language);
