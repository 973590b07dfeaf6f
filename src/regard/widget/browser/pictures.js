// Heads as they can be asked: how much each query looks at each key, exactly where that is known.
import { clamp, ROUNDING, visible } from "./tools.js";

const LEVELS = 255;
const PARTS = 16384; // into which one level is cut for exact weights
const CANDIDATES = 10000; // cells whose exact weights are compared

// What all pictures can tell, whatever they are made from: a grid of bytes with tokens at its sides.
class Grid {
  // The strongest keys of a row; `first` come before all others.
  inRow(i, count, first = null) {
    const found = [];
    for (let j = 0; j < this.wide; j++) if (!this.hidden(i, j)) found.push({ ...this.read(i, j), place: j });
    return this.strongestOf(found, count, "column", first);
  }

  inColumn(j, count) {
    const found = [];
    for (let i = 0; i < this.high; i++) if (!this.hidden(i, j)) found.push({ ...this.read(i, j), place: i });
    return this.strongestOf(found, count, "row");
  }

  strongestOf(found, count, side, first = null) {
    const early = (one) => (first?.has(one.place) ? 1 : 0);
    found.sort((a, b) => early(b) - early(a) || b.weight - a.weight || a.place - b.place);
    const named = (one) => ({ ...one, label: this.label(side, one.place), position: this.position(side, one.place) });
    return found
      .slice(0, count)
      .filter((one) => one.weight > 0)
      .map(named);
  }

  // The strongest cells of all: those whose bytes are among the largest, by their weights.
  surest(count) {
    const counts = new Uint32Array(LEVELS + 1);
    for (const byte of this.bytes) counts[byte]++;
    let least = LEVELS;
    for (let sum = counts[LEVELS]; least > 0 && sum < count;) sum += counts[--least];
    const found = [];
    this.bytes.forEach((byte, at) => {
      const [i, j] = [Math.floor(at / this.wide), at % this.wide];
      if (byte >= least && found.length < CANDIDATES && !this.hidden(i, j)) found.push({ ...this.read(i, j), i, j });
    });
    const both = (tell, { i, j }) => `${tell("row", i)} → ${tell("column", j)}`;
    return found
      .sort((a, b) => b.weight - a.weight)
      .slice(0, count)
      .map((one) => ({
        ...one,
        label: both((side, place) => this.label(side, place), one),
        position: both((side, place) => this.position(side, place), one),
      }));
  }

  // The tokens that a row or column stands for: their first place, their last, and how they read.
  span(side, place) {
    const cell = this.site.cell[side === "row" ? 0 : 1];
    const tokens = side === "row" ? this.site.rowText.tokens : this.site.columnText.tokens;
    const first = place * cell;
    return { first, last: Math.min(first + cell, tokens.length) - 1, tokens };
  }

  label(side, place) {
    const { first, last, tokens } = this.span(side, place);
    return first === last ? visible(tokens[first]) : `${visible(tokens[first])} … ${visible(tokens[last])}`;
  }

  position(side, place) {
    const { first, last } = this.span(side, place);
    return first === last ? `${first}` : `${first}–${last}`;
  }
}

const byteOf = (share) => Math.round(LEVELS * clamp(share, 0, 1));

// One head as it came; or of a pooled one, its cells by the other measure, as Python gave them.
export class Picture extends Grid {
  constructor(site, place, by = site.told.by, cells = null) {
    super();
    Object.assign(this, { site, place, head: site.heads[place], high: site.high, wide: site.wide });
    this.unit = by === "value" ? site.norms.largest[place] : undefined;
    this.rows = new Map(); // rows that Python gave exactly, when it was asked
    this.bytes = new Uint8Array(this.high * this.wide);
    if (cells) this.bytes.set(cells.map((cell) => byteOf(cell / (this.unit ?? 1))));
    if (cells) return;
    for (let i = 0; i < this.high; i++) {
      const start = site.starts[i] + place * site.kept(i);
      this.bytes.set(site.levels.subarray(start, start + site.kept(i)), i * this.wide);
    }
  }

  hidden(i, j) {
    return this.site.hidden(i, j);
  }

  read(i, j) {
    const row = this.rows.get(i);
    if (row) return { weight: row[j], exact: true };
    const known = this.strongest(i).get(j);
    if (known !== undefined) return { weight: known, exact: true };
    const { unit } = this;
    return { weight: this.bytes[i * this.wide + j] / LEVELS, exact: false, unit, error: ROUNDING * (unit ?? 1) };
  }

  // The keys whose exact weights came along are the strongest, whatever the rounded ones say.
  inRow(i, count) {
    return super.inRow(i, count, this.rows.get(i) ? null : this.strongest(i));
  }

  // The exact weights of a row that came with the page, by column.
  strongest(i) {
    this.known ??= [];
    this.known[i] ??= this.decode(i);
    return this.known[i];
  }

  decode(i) {
    const { exactKeys, entries, entry, exact, heads } = this.site;
    const found = new Map();
    if (!entries) return found;
    const count = exact.length / 4;
    const columns = this.sorted(i);
    const first = entry + (i * heads.length + this.place) * exactKeys;
    for (let at = first; at < first + exactKeys; at++) {
      const column = columns[exact[at] | (exact[count + at] << 8)];
      const part = exact[2 * count + at] | (exact[3 * count + at] << 8);
      found.set(column, (this.bytes[i * this.wide + column] - 0.5 + part / PARTS) / LEVELS);
    }
    return found;
  }

  // The columns of a row by their bytes, largest first, equal ones in order: what the places of exact weights count in.
  sorted(i) {
    const row = this.bytes.subarray(i * this.wide, (i + 1) * this.wide);
    const starts = new Uint32Array(LEVELS + 2);
    for (const byte of row) starts[LEVELS - byte + 1]++;
    for (let level = 1; level < starts.length; level++) starts[level] += starts[level - 1];
    const columns = new Uint32Array(this.wide);
    row.forEach((byte, column) => (columns[starts[LEVELS - byte]++] = column));
    return columns;
  }

  // The column of a row's own token, where both are one text.
  own(i) {
    const { own, cell } = this.site;
    const column = own === null ? -1 : Math.floor((i * cell[0] + own) / cell[1]);
    return column >= 0 && column < this.wide ? column : null;
  }
}

// The same head by value: each weight times the norm of what it brings, as a share of the largest norm.
export class ValuePicture extends Grid {
  constructor(plain) {
    super();
    const { site, place, head, high, wide, rows } = plain;
    Object.assign(this, { plain, site, place, head, high, wide, rows, unit: site.norms.largest[place] });
    this.shares = site.shares(place);
    this.bytes = plain.bytes.map((byte, at) => Math.round(byte * this.shares[at % wide]));
  }

  hidden(i, j) {
    return this.plain.hidden(i, j);
  }

  read(i, j) {
    const from = this.plain.read(i, j);
    const norm = this.shares[j] * this.unit;
    const [weight, error] = [from.weight * this.shares[j], ROUNDING * norm];
    return { weight, exact: from.exact, unit: this.unit, error, from, norm };
  }

  own(i) {
    return this.plain.own(i);
  }
}

// A rectangle of a long map, weight by weight, as Python gave it.
export class Tile extends Grid {
  constructor(site, place, rows, columns, weights) {
    super();
    Object.assign(this, { site, place, head: site.heads[place], from: { row: rows[0], column: columns[0] } });
    this.unit = site.by === "value" ? site.norms.largest[place] : undefined;
    this.weights = weights.map((weight) => weight / (this.unit ?? 1));
    this.high = rows[1] - rows[0];
    this.wide = columns[1] - columns[0];
    this.rows = new Map();
    this.bytes = Uint8Array.from(this.weights, byteOf);
  }

  hidden(i, j) {
    return this.site.bound !== null && j + this.from.column >= i + this.from.row + this.site.bound;
  }

  read(i, j) {
    return { weight: this.weights[i * this.wide + j], exact: true, unit: this.unit };
  }

  span(side, place) {
    const first = place + this.from[side];
    return { first, last: first, tokens: side === "row" ? this.site.rowText.tokens : this.site.columnText.tokens };
  }

  // Of the whole row, once Python gave it; the strongest keys may lie outside this rectangle.
  inRow(i, count) {
    const row = this.rows.get(i);
    if (!row) return super.inRow(i, count);
    const { unit } = this;
    const entry = (number, column) => ({
      weight: number / (unit ?? 1),
      exact: true,
      unit,
      place: column - this.from.column,
    });
    return this.strongestOf(Array.from(row, entry), count, "column");
  }

  own(i) {
    const column = this.site.own === null ? -1 : i + this.from.row + this.site.own - this.from.column;
    return column >= 0 && column < this.wide ? column : null;
  }
}
