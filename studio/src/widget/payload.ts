// What Python packed (regard.lens.draw.page), opened: of every head its numbers, as bytes and as far as they are exact.

import type { SiteInfo } from '../contract/types';

export interface BadgeWords {
  state: 'true' | 'unchecked' | 'false';
  verdict: string;
  lines: [string, string][];
  text: string;
}
export interface MapWords {
  site: string;
  kind: SiteInfo['kind'];
  heads: number[];
  /** Places of texts: beside the rows, above the columns, and what a decoder's rows write. */
  rows: number;
  columns: number;
  written: number | null;
  says: string[];
  cell: [number, number];
  /** Query i may look at the keys before i + bound. */
  bound: number | null;
  own: number | null;
  keys: number; // of each row that are exact
  closer: boolean;
  by: 'weight' | 'value';
  norms: { of: string; largest: number[] } | null;
  measures: Record<string, (number | null)[]>;
  badge: BadgeWords;
  broken: number;
}
export interface Description {
  title: string;
  open: { site: string; head: number } | null;
  row: 'input' | 'output';
  by: 'weight' | 'value';
  texts: { name: string; tokens?: (string | number)[]; count?: number }[];
  maps: MapWords[];
  badge: BadgeWords;
}

const LEVELS = 255;
const PARTS = 16384; // into which one level is cut for exact weights
const NORMS = 65535; // into which the largest norm is

export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~';
const VALUES = new Map([...LETTERS].map((letter, value) => [letter.charCodeAt(0), value]));

/** Five letters are four bytes, as Python's `b85encode` writes them, but for a comma where it has a <. */
export function fromLetters(text: string): Uint8Array<ArrayBuffer> {
  const last = LETTERS.length - 1;
  const bytes = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
  for (let at = 0; at < text.length; at += 5) {
    let word = 0;
    for (let letter = at; letter < at + 5; letter++) {
      const value = letter < text.length ? VALUES.get(text.charCodeAt(letter)) : last;
      if (value === undefined) throw new Error(`there is a ${text[letter]} among its numbers`);
      word = word * LETTERS.length + value;
    }
    bytes.setUint32((at / 5) * 4, word);
  }
  return new Uint8Array(bytes.buffer, 0, Math.floor((text.length * 4) / 5));
}

/** One head: its numbers, and which of them are exact. */
export interface HeadNumbers {
  data: Float32Array;
  exact: Uint8Array;
}

/** One attention layer as it was packed. */
export class Plate {
  readonly high: number;
  readonly wide: number;
  readonly pooled: boolean;
  readonly #known = new Map<number, HeadNumbers>();
  readonly #starts: Uint32Array;

  constructor(
    readonly words: MapWords,
    readonly queries: number,
    readonly columns: number,
    private readonly bytes: { levels: Uint8Array; exact: Uint8Array; norms: Uint8Array },
    private readonly at: { level: number; entry: number; norm: number },
  ) {
    const { cell, heads } = words;
    this.high = Math.ceil(queries / cell[0]);
    this.wide = Math.ceil(columns / cell[1]);
    this.pooled = cell[0] > 1 || cell[1] > 1;
    this.#starts = new Uint32Array(this.high + 1);
    for (let i = 0; i < this.high; i++)
      this.#starts[i + 1] = this.#starts[i] + heads.length * this.#stored(i);
  }

  /** Bytes, exact numbers and norms that this one takes. */
  get sizes(): { levels: number; entries: number; norms: number } {
    const { heads, norms } = this.words;
    return {
      levels: this.#starts[this.high],
      entries: this.high * heads.length * this.#exactKeys,
      norms: norms && !this.pooled ? heads.length * this.wide : 0,
    };
  }

  get hasNorms(): boolean {
    return this.words.norms !== null && !this.pooled;
  }

  /** Weights; of maps that were pooled by value what their cells are: shares of the largest norm. */
  numbers(place: number): HeadNumbers {
    let found = this.#known.get(place);
    if (!found) this.#known.set(place, (found = this.#decoded(place)));
    return found;
  }

  /** What each key brings. */
  norms(place: number): Float32Array {
    const { norms } = this.bytes;
    const first = this.at.norm + place * this.wide;
    const half = norms.length / 2;
    const largest = this.words.norms?.largest[place] ?? 1;
    return Float32Array.from(
      { length: this.wide },
      (_, key) => ((norms[first + key] | (norms[half + first + key] << 8)) / NORMS) * largest,
    );
  }

  get #exactKeys(): number {
    return Math.min(this.words.keys, this.wide);
  }

  /** How many cells of a row were stored: those that it may look at. */
  #stored(row: number): number {
    const { bound } = this.words;
    return this.pooled || bound === null ? this.wide : Math.min(this.wide, Math.max(0, row + bound));
  }

  #decoded(place: number): HeadNumbers {
    const { high, wide } = this;
    const [data, exact] = [new Float32Array(high * wide), new Uint8Array(high * wide)];
    for (let row = 0; row < high; row++) {
      const length = this.#stored(row);
      const start = this.at.level + this.#starts[row] + place * length;
      const levels = new Uint8Array(wide);
      levels.set(this.bytes.levels.subarray(start, start + length));
      for (let column = 0; column < wide; column++) data[row * wide + column] = levels[column] / LEVELS;
      if (this.#exactKeys) this.#strongest(place, row, levels, data, exact);
    }
    return { data, exact };
  }

  /** The exact weights of a row: by their places when its bytes are sorted, with what rounding took from them. */
  #strongest(place: number, row: number, levels: Uint8Array, data: Float32Array, exact: Uint8Array): void {
    const packed = this.bytes.exact;
    const [keys, count] = [this.#exactKeys, packed.length / 4];
    const order = sorted(levels);
    const first = this.at.entry + (row * this.words.heads.length + place) * keys;
    for (let at = first; at < first + keys; at++) {
      const column = order[packed[at] | (packed[count + at] << 8)];
      const part = packed[2 * count + at] | (packed[3 * count + at] << 8);
      data[row * this.wide + column] = (levels[column] - 0.5 + part / PARTS) / LEVELS;
      exact[row * this.wide + column] = 1;
    }
  }
}

/** Columns by their bytes, the largest first, equal ones in order. */
function sorted(levels: Uint8Array): Uint32Array {
  const starts = new Uint32Array(LEVELS + 2);
  for (const level of levels) starts[LEVELS - level + 1]++;
  for (let level = 1; level < starts.length; level++) starts[level] += starts[level - 1];
  const columns = new Uint32Array(levels.length);
  levels.forEach((level, column) => (columns[starts[LEVELS - level]++] = column));
  return columns;
}

/** All that was packed, opened; an error where something is missing. */
export async function openPayload(
  description: Description,
  packed: readonly Uint8Array<ArrayBuffer>[],
): Promise<Plate[]> {
  const [levels, exact, norms] = await Promise.all(packed.map(inflate));
  const length = (place: number) => {
    const text = description.texts[place];
    return text.tokens?.length ?? text.count ?? 0;
  };
  const at = { level: 0, entry: 0, norm: 0 };
  const plates = description.maps.map((words) => {
    const plate = new Plate(
      words,
      length(words.rows),
      length(words.columns),
      { levels, exact, norms },
      { ...at },
    );
    const { sizes } = plate;
    at.level += sizes.levels;
    at.entry += sizes.entries;
    at.norm += sizes.norms;
    return plate;
  });
  if (at.level !== levels.length || at.entry * 4 !== exact.length || at.norm * 2 !== norms.length)
    throw new Error('its numbers are not all there');
  return plates;
}
