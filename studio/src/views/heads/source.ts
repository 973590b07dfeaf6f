// What a picture asks, whoever answers: the studio's server, a notebook's kernel, or a page that brought its numbers along.

import type {
  CellAnswer, FoundPositions, HeadsAnswer, Look, Numbers, SiteInfo, StrongCell, TextPart,
} from '../../contract/types'; // prettier-ignore

export type Pool = 'mass' | 'max' | 'mean';
export type Range = [number, number];
export type By = 'weight' | 'value';
export type Side = 'source' | 'target';

export interface LookSource {
  readonly id: string;
  readonly look: Look;
  readonly can: Abilities;
  site(name: string | undefined): SiteInfo | undefined;
  /** All heads of a site. */
  weights(site: string, by?: By): Promise<Numbers>;
  /** One head; `meta` says which. */
  head(site: string, head: number, by?: By): Promise<Numbers>;
  heads(): Promise<HeadsAnswer>;
  cell(site: string, head: number, row: number, column: number): Promise<CellAnswer>;
  tile(site: string, head: number, rows: Range, columns: Range, size: [number, number], by: Pool,
    dtype: 'float16' | 'float32', signal?: AbortSignal): Promise<Numbers>;
  /** Beside the rows and above the columns of a part; `meta` says of which, where it is not all. */
  marginals(site: string, head: number, bins: number, part: Where, signal?: AbortSignal): Promise<Numbers>;
  strongest(site: string, head: number, count: number, where: Where, signal?: AbortSignal): Promise<StrongCell[]>;
  text(side: Side, from: number, to: number): Promise<TextPart>;
  search(side: Side, q: string, signal?: AbortSignal): Promise<FoundPositions>;
} // prettier-ignore

/** A part of a map; `all`: with the diagonal and the first key, too. */
export interface Where {
  rows?: Range;
  columns?: Range;
  all?: boolean;
}

export interface Abilities {
  /** Queries and keys are known: a cell can be explained. */
  readonly why: boolean;
  /** The level of the finest cells that are known: 0 where these are single weights, L where they are 2^L wide. */
  finest(site: string, head: number): number;
  /** How the weights under a pixel can be made one number. */
  pools(site: string, head: number): readonly Pool[];
  /** A number as far as it is known, where not all are exact. */
  figure?(site: string, head: number, row: number, column: number, by: By): string;
}

/** Whoever has everything. */
export const EVERYTHING: Abilities = {
  why: true,
  finest: () => 0,
  pools: () => ['mass', 'max', 'mean'],
};

/** One head out of all of a site. */
export function headOf(all: Numbers, site: SiteInfo, head: number, by: By): Numbers {
  const size = site.queries * site.keys;
  const first = size * site.head_numbers.indexOf(head);
  const meta = { site: site.site, head, by };
  return { data: all.data.subarray(first, first + size), shape: [site.queries, site.keys], meta };
}
