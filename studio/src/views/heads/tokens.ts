// Tokens as labels: what cannot be seen is named, what is endless is cut. Token text may hold anything.

import type { Look, SiteInfo } from '../../contract/types';

const UNSEEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]/g;
const LONGEST = 48;

/** A token as people read it: without the space before it, with a mark for what has no width. */
export function readable(token: string, longest = LONGEST): string {
  const cut = [...token.slice(0, longest * 2)];
  const short =
    cut.length > longest || token.length > longest * 2 ? `${cut.slice(0, longest).join('')}…` : token;
  const plain = short.replace(UNSEEN, '◌').replace(/^[ \u2581\u0120]+(?=\S)/, '');
  if (plain.trim() !== '') return plain.replace(/\n/g, '⏎').replace(/\t/g, '⇥');
  return plain.replace(/\n/g, '⏎').replace(/\s/g, '␣') || '∅';
}

/** A token inside a sentence: whichever way it is written, the words around it stay in order. */
export const isolated = (token: string): string => `\u2068${token}\u2069`;

/** How a row is called: a row of a decoder by the token that it writes. */
export function rowName(look: Look, site: SiteInfo, row: number): string {
  if (site.writes && site.rows === 'target' && look.written[row] !== undefined)
    return `→ ${readable(look.written[row])}`;
  return readable(sideOf(look, site.rows)[row] ?? String(row));
}

export function columnName(look: Look, site: SiteInfo, column: number): string {
  return readable(sideOf(look, site.columns)[column] ?? String(column));
}

export const sideOf = (look: Look, side: 'source' | 'target'): string[] =>
  side === 'source' ? look.source : look.target;

export const rowNames = (look: Look, site: SiteInfo): string[] =>
  Array.from({ length: site.queries }, (_, row) => rowName(look, site, row));

export const columnNames = (look: Look, site: SiteInfo): string[] =>
  Array.from({ length: site.keys }, (_, column) => columnName(look, site, column));

/** A word of the page: `source:8`, or `written:10`, which the decoder writes there. */
export interface Place {
  side: 'source' | 'written';
  index: number;
}

export function parsePlace(text: string | undefined): Place | null {
  const found = /^(source|written):(\d+)$/.exec(text ?? '');
  return found ? { side: found[1] as Place['side'], index: Number(found[2]) } : null;
}

export const formatPlace = (place: Place): string => `${place.side}:${place.index}`;
