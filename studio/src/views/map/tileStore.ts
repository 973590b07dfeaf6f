// Tiles as they arrive: those that are needed are asked for, a few at a time; those that nobody needs any more are given up.

import type { LookSource, Pool } from '../heads/source';
import { sentenceOf } from '../../contract/requests';
import { cellsOf, LruCache, massShare, numberType, type MapSize, type Tile, tileAt } from '../../maths/tiles';

export interface LoadedTile extends Tile {
  numbers: Float32Array;
  cells: [number, number];
  /** The largest number, as it is shown. */
  largest: number;
  factor: number;
}

const AT_ONCE = 3;
const KEPT = 160; // tiles of at most 256 x 256 numbers: 40 MB

export class TileStore {
  readonly #tiles: LruCache<LoadedTile>;
  readonly #running = new Map<string, AbortController>();
  readonly #failed = new Set<string>();
  readonly #largest = new Map<number, number>(); // of each level
  #wanted: Tile[] = [];

  constructor(
    private readonly reader: LookSource,
    private readonly site: string,
    private readonly head: number,
    private readonly by: Pool,
    private readonly changed: (problem: string) => void,
    letGo: (key: string) => void,
  ) {
    this.#tiles = new LruCache<LoadedTile>(KEPT, (tile) => letGo(tile.key));
  }

  get(key: string): LoadedTile | undefined {
    return this.#tiles.get(key);
  }

  /** What there is to draw; where tiles are still on their way, those of coarser levels lie below. */
  shown(needed: readonly Tile[], coarser: () => Iterable<Tile>): LoadedTile[] {
    const missing = needed.some((tile) => !this.#tiles.has(tile.key));
    const found = [...(missing ? coarser() : []), ...needed].map((tile) => this.get(tile.key));
    return found.filter((tile) => tile !== undefined);
  }

  get waiting(): number {
    return this.#wanted.filter((tile) => !this.#tiles.has(tile.key) && !this.#failed.has(tile.key)).length;
  }

  largestAt(level: number): number {
    return this.#largest.get(level) ?? 0;
  }

  /** What is needed now, the most wanted first. */
  want(tiles: Tile[]): void {
    this.#wanted = tiles;
    const keys = new Set(tiles.map((tile) => tile.key));
    for (const [key, running] of this.#running) {
      if (!keys.has(key)) {
        running.abort();
        this.#running.delete(key);
      }
    }
    this.#next();
  }

  /** The value under a position, from the finest tile there is. */
  valueAt(
    row: number,
    column: number,
    size: MapSize,
    from: number,
    to: number,
  ): { value: number; level: number } | null {
    for (let level = from; level <= to; level++) {
      const tile = this.#tiles.get(tileAt(level, row, column, size).key);
      if (!tile) continue;
      const cell = 2 ** level;
      const at =
        Math.floor((row - tile.rows[0]) / cell) * tile.cells[1] +
        Math.floor((column - tile.columns[0]) / cell);
      return { value: tile.numbers[at] * tile.factor, level };
    }
    return null;
  }

  retry(): void {
    this.#failed.clear();
    this.#next();
  }

  stop(): void {
    for (const running of this.#running.values()) running.abort();
    this.#running.clear();
    this.#tiles.clear();
    this.#wanted = [];
  }

  #next(): void {
    for (const tile of this.#wanted) {
      if (this.#running.size >= AT_ONCE) return;
      if (this.#tiles.has(tile.key) || this.#running.has(tile.key) || this.#failed.has(tile.key)) continue;
      void this.#load(tile);
    }
  }

  async #load(tile: Tile): Promise<void> {
    const control = new AbortController();
    this.#running.set(tile.key, control);
    let problem = '';
    try {
      const found = await this.reader.tile(
        this.site,
        this.head,
        tile.rows,
        tile.columns,
        cellsOf(tile),
        this.by,
        numberType(tile.level),
        control.signal,
      );
      if (control.signal.aborted) return;
      this.#keep(tile, found.data, [found.shape[0], found.shape[1]]);
    } catch (error) {
      const sentence = sentenceOf(error);
      if (sentence === null) return;
      this.#failed.add(tile.key);
      problem = sentence;
    } finally {
      if (this.#running.get(tile.key) === control) this.#running.delete(tile.key);
    }
    this.changed(problem);
    this.#next();
  }

  #keep(tile: Tile, numbers: Float32Array, cells: [number, number]): void {
    const factor = massShare(tile.level, this.by);
    let largest = 0;
    for (const value of numbers) if (value > largest) largest = value;
    this.#tiles.set(tile.key, { ...tile, numbers, cells, factor, largest: largest * factor });
    this.#largest.set(tile.level, Math.max(this.largestAt(tile.level), largest * factor));
  }
}
