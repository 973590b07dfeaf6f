// What Python packed, opened: for every head its weights as bytes, and the exact ones that came along.
import { Picture, ValuePicture } from "./pictures.js";
import { clamp } from "./tools.js";

export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// All sites of a call, from the description and the three deflated strings of bytes.
export async function unpack(told, packed) {
  const [levels, exact, norms] = await Promise.all(packed.map(inflate));
  const texts = told.texts.map(({ name, tokens, count }) => ({ name, tokens: tokens ?? [...Array(count).keys()] }));
  let level = 0;
  let entry = 0;
  let norm = 0;
  const sites = told.maps.map((map) => {
    const site = new Site(map, texts, levels.subarray(level), { exact, entry, normBytes: norms, norm });
    level += site.stored;
    entry += site.entries;
    norm += site.hasNorms ? site.heads.length * site.wide : 0;
    return site;
  });
  if (level !== levels.length || entry * 4 !== exact.length || norm * 2 !== norms.length)
    throw new Error("its numbers are not all there");
  return sites;
}

// One attention layer: how its cells lie, and the picture of each of its heads.
export class Site {
  constructor(told, texts, levels, beside) {
    Object.assign(this, told, { told, levels, ...beside, pictures: { weight: [], value: [] } });
    this.texts = { input: texts[told.rows], output: texts[told.written ?? told.rows] };
    this.turn("input");
    this.columnText = texts[told.columns];
    this.high = Math.ceil(this.rowText.tokens.length / told.cell[0]);
    this.wide = Math.ceil(this.columnText.tokens.length / told.cell[1]);
    this.pooled = told.cell[0] > 1 || told.cell[1] > 1;
    this.hasNorms = told.norms !== null && !this.pooled;
    this.exactKeys = Math.min(told.keys, this.wide);
    this.starts = [0];
    for (let i = 0; i < this.high; i++) this.starts.push(this.starts[i] + this.heads.length * this.kept(i));
    this.stored = this.starts[this.high];
    this.entries = this.high * this.heads.length * this.exactKeys;
  }

  // Beside a decoder's row stands the token that it writes ("output"), or the one that it has read ("input").
  turn(row) {
    this.writes = row === "output" && this.written !== null;
    this.rowText = this.texts[row];
    this.says = this.told.says[this.writes ? 1 : 0];
    this.own = this.told.own === null ? null : this.told.own + (this.writes ? 1 : 0);
  }

  // How many cells of a row were stored: those it may look at.
  kept(i) {
    return this.pooled || this.bound === null ? this.wide : clamp(i + this.bound, 0, this.wide);
  }

  // May no query of this cell look at any of its keys?
  hidden(i, j) {
    const last = Math.min((i + 1) * this.cell[0], this.rowText.tokens.length) - 1;
    return this.bound !== null && j * this.cell[1] >= last + this.bound;
  }

  // By weight or by value, where it can be: pooled cells are as they came, unless Python gave the others.
  weigh(by) {
    this.by = this.able(by) ? by : this.told.by;
  }

  able(by) {
    return by === this.told.by || this.hasNorms || this.pictures[by].length === this.heads.length;
  }

  // The norms of a head's values, as shares of the largest.
  shares(place) {
    const { normBytes: bytes, norm, wide } = this;
    const first = norm + place * wide;
    const number = (at) => bytes[at] | (bytes[bytes.length / 2 + at] << 8);
    return Float32Array.from({ length: wide }, (_, j) => number(first + j) / 65535);
  }

  picture(place) {
    const [plain, shown] = [this.pictures[this.told.by], this.pictures[this.by]];
    plain[place] ??= new Picture(this, place);
    shown[place] ??= new ValuePicture(plain[place]);
    return shown[place];
  }

  // What Python gave of a pooled head, by the other measure.
  take(by, place, cells) {
    this.pictures[by][place] = new Picture(this, place, by, cells);
  }
}
