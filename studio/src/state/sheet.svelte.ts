// The sheet of the page Steps: its numbers from an example or made up, what was changed by hand, and all that follows.
// Everything is in the address, so that a link carries a sheet with every number of it.

import type { WorkedExample } from '../contract/types';
import {
  at, attend, fromRows, keyOf, STEPS, type Attention, type Cell, type Grid, type Inputs, type Overrides, type StepName,
} from '../maths/attend'; // prettier-ignore
import { explain, isGiven, sourcesOf } from '../maths/explain';
import { smallNumbers } from '../maths/invent';
import type { Address, Changes, Params } from './address.svelte';

export const MOST_WORDS = 12;
export const MADE_UP = 'made-up';
const WIDTHS = [2, 3, 4, 6, 8];
const FIRST_TEXT = 'I love AI';

/** What the page opens with: numbers small enough to do by hand. */
const FIRST = {
  x: [[1, 0], [0, 1], [1, 1]],
  w_q: [[1, 0], [1, 1]],
  w_k: [[0, 1], [1, 0]],
  w_v: [[1, 2], [0, 1]],
}; // prettier-ignore

export interface Source {
  tokens: string[];
  queries: string[];
  given: Partial<Record<StepName, Grid>>;
  d: number | null; // whose root is taken, where the matrices do not say
  scale: number | null; // of the example itself; null: 1 / √d
  madeUp: boolean;
  invented: boolean; // some of its words have numbers from their letters
  example: WorkedExample | null;
}

export class Sheet {
  constructor(
    private readonly address: Address,
    private readonly examples: () => readonly WorkedExample[],
  ) {}

  readonly source = $derived.by(() => readSource(this.address.params, this.examples()));
  readonly edits = $derived.by(() => readCells(this.address.params.edit, Number));
  readonly typed = $derived.by(() => readCells(this.address.params.typed, String));

  readonly headCounts = $derived.by(() => headCountsOf(this.source));
  readonly canPlace = $derived.by(() => {
    const x = this.source.given.x;
    return !!x && x.columns % 2 === 0 && !!this.source.given.w_q;
  });

  readonly inputs = $derived.by((): Inputs => {
    const params = this.address.params;
    const { source } = this;
    const heads = this.headCounts.includes(Number(params.heads)) ? Number(params.heads) : 1;
    const own = Number(params.scale);
    return {
      given: heads > 1 ? withOutput(source, seedOf(params)) : source.given,
      queries: source.queries.length,
      keys: source.tokens.length,
      heads,
      causal: params.mask === 'causal',
      positions: params.pos === '1' && this.canPlace,
      scale: params.scale === 'none' ? 1 : own > 0 ? own : source.scale,
      temperature: Number(params.t) > 0 ? Number(params.t) : 1,
      d: source.d,
    };
  });

  readonly found = $derived.by((): Attention => attend(this.inputs, this.edits as Overrides));
  /** The same without what was changed by hand. */
  readonly unchanged = $derived.by((): Attention => attend(this.inputs));

  readonly head = $derived.by(() => {
    const head = Number(this.address.params.head ?? 0);
    return head > 0 && head < this.inputs.heads ? head : 0;
  });

  readonly picked = $derived.by((): Cell | null => {
    const cell = parseCell(this.address.params.cell ?? '');
    return cell && this.value(cell) !== null ? cell : null;
  });

  readonly mode = $derived.by((): 'explore' | 'check' | 'tour' => {
    const mode = this.address.params.mode;
    return mode === 'check' || mode === 'tour' ? mode : 'explore';
  });

  readonly widths = WIDTHS;

  value(cell: Cell): number | null {
    const own = this.found[cell.step]?.[cell.head];
    return own && cell.row < own.rows && cell.column < own.columns ? at(own, cell.row, cell.column) : null;
  }

  explain(cell: Cell) {
    return explain(this.inputs, this.found, cell);
  }

  sources(cell: Cell) {
    return sourcesOf(this.inputs, this.found, cell);
  }

  given(step: StepName): boolean {
    return isGiven(this.inputs, step);
  }

  isEdited(cell: Cell): boolean {
    return this.edits.has(keyOf(cell));
  }

  /** Put a number there; null takes it back. */
  edit(cell: Cell, value: number | null): void {
    const edits = new Map(this.edits);
    const key = keyOf(cell);
    const grid = this.unchanged[cell.step]?.[cell.head];
    const same = value !== null && this.given(cell.step) && grid && at(grid, cell.row, cell.column) === value;
    if (value === null || same) edits.delete(key);
    else edits.set(key, value);
    this.address.set({ edit: writeCells(edits) }, { push: edits.size !== this.edits.size });
  }

  type(cell: Cell, text: string): void {
    const typed = new Map(this.typed);
    if (text.trim()) typed.set(keyOf(cell), text.trim().slice(0, 20));
    else typed.delete(keyOf(cell));
    this.address.set({ typed: writeCells(typed) });
  }

  pick(cell: Cell | null): void {
    this.address.set({ cell: cell && keyOf(cell) });
  }

  /** Another choice of words or sizes: what was changed by hand belonged to the old one. */
  choose(changes: Changes, push = true): void {
    this.address.set({ edit: null, typed: null, cell: null, head: null, ...changes }, { push });
  }

  /** A setting, and a step of the back button; not so what is typed or slid through many values. */
  set(changes: Changes, push = true): void {
    this.address.set(changes, { push });
  }

  /** The same sheet in the terminal, where it can be said in one line. */
  readonly command = $derived.by(() => {
    const { params } = this.address;
    const { inputs, source } = this;
    if (this.edits.size) return null;
    const parts = ['regard steps'];
    if (source.example && !params.text) parts.push(`--example ${source.example.name}`);
    else if (source.madeUp) parts.push(JSON.stringify(source.tokens.join(' ')));
    else if (!params.text) parts.push('--example i-love-ai');
    else return null;
    if (source.madeUp && source.given.x!.columns !== 4) parts.push(`--d ${source.given.x!.columns}`);
    if (inputs.heads > 1) parts.push(`--heads ${inputs.heads}`);
    if (inputs.causal) parts.push('--causal');
    if (params.scale) parts.push(`--scale ${params.scale}`);
    if (inputs.temperature !== 1) parts.push(`--temperature ${inputs.temperature}`);
    if (inputs.positions) parts.push('--positions');
    if (seedOf(params) !== 0 && (source.madeUp || inputs.heads > 1)) parts.push(`--seed ${seedOf(params)}`);
    return parts.join(' ');
  });
}

const seedOf = (params: Params): number => Math.max(0, Math.floor(Number(params.seed ?? 0)) || 0);

export const splitWords = (text: string): string[] => text.split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);

export function readSource(params: Params, examples: readonly WorkedExample[]): Source {
  const seed = seedOf(params);
  const words = splitWords(params.text ?? '');
  if (params.example === MADE_UP) {
    const d = WIDTHS.includes(Number(params.d)) ? Number(params.d) : 4;
    return madeUp(words.length ? words : splitWords(FIRST_TEXT), d, seed);
  }
  const example = examples.find((one) => one.name === params.example) ?? null;
  const source = example ? fromExample(example) : first();
  return words.length ? withWords(source, words, seed) : source;
}

function first(): Source {
  const given = Object.fromEntries(Object.entries(FIRST).map(([name, rows]) => [name, fromRows(rows)]));
  const tokens = splitWords(FIRST_TEXT);
  return {
    tokens,
    queries: tokens,
    given,
    d: null,
    scale: null,
    madeUp: false,
    invented: false,
    example: null,
  };
}

function madeUp(tokens: string[], d: number, seed: number): Source {
  const rows = (name: string) =>
    Array.from({ length: d }, (_, row) => smallNumbers(`${seed}/${name}/${row}`, d));
  const given: Source['given'] = { x: fromRows(tokens.map((token) => smallNumbers(`${seed}/${token}`, d))) };
  for (const name of ['w_q', 'w_k', 'w_v'] as const) given[name] = fromRows(rows(name));
  return {
    tokens,
    queries: tokens,
    given,
    d: null,
    scale: null,
    madeUp: true,
    invented: true,
    example: null,
  };
}

type Rows = (number | null)[][];

/** As early as the example begins: its words and matrices, else its queries, its scores or its weights. */
function fromExample(example: WorkedExample): Source {
  const given: Source['given'] = {};
  const take = (...names: StepName[]) => {
    for (const name of names) {
      const rows = (example as unknown as Record<string, Rows | null | undefined>)[name];
      if (rows && !Array.isArray(rows[0]?.[0])) given[name] = fromRows(rows);
    }
  };
  const has = (name: string) => Boolean((example as unknown as Record<string, unknown>)[name]);
  take('x');
  for (const name of ['q', 'k', 'v'] as const) take(has('x') && has(`w_${name}`) ? `w_${name}` : name);
  if (!given.q && !given.w_q) take(has('scores') ? 'scores' : has('scaled') ? 'scaled' : 'weights');
  const { tokens } = example;
  const queries = example.queries.length ? example.queries : tokens;
  const root = example.scale ? 1 / example.scale ** 2 : NaN;
  const width = (given.q ?? given.w_q)?.columns ?? null;
  const whole = Math.abs(root - Math.round(root)) < 1e-9 ? Math.round(root) : null;
  const usual = whole !== null && whole === width;
  return {
    tokens,
    queries,
    given,
    d: usual ? null : whole,
    scale: usual || whole !== null ? null : (example.scale ?? null),
    madeUp: false,
    invented: false,
    example,
  };
}

/** Other words in an example: those it knows keep their numbers, the others get some from their letters. */
function withWords(source: Source, words: string[], seed: number): Source {
  const { x, w_q: wq, w_k: wk, w_v: wv } = source.given;
  if (!x || !wq || !wk || !wv) return madeUp(words, 4, seed);
  const rows = words.map((word) => {
    const index = source.tokens.indexOf(word);
    return index < 0 ? smallNumbers(`${seed}/${word}`, x.columns) : rowOf(x, index);
  });
  const invented = words.some((word) => !source.tokens.includes(word));
  return {
    ...source,
    tokens: words,
    queries: words,
    invented,
    given: { ...source.given, x: fromRows(rows) },
  };
}

const rowOf = (matrix: Grid, row: number): number[] =>
  Array.from({ length: matrix.columns }, (_, column) => at(matrix, row, column));

function withOutput(source: Source, seed: number): Source['given'] {
  const values = source.given.v ?? source.given.w_v;
  if (!values || source.given.w_o) return source.given;
  const width = source.given.x?.columns ?? values.columns;
  const rows = Array.from({ length: values.columns }, (_, row) => smallNumbers(`${seed}/w_o/${row}`, width));
  return { ...source.given, w_o: fromRows(rows) };
}

/** Into how many heads queries, keys and values can be shared equally. */
function headCountsOf(source: Source): number[] {
  const columns = (['q', 'k', 'v'] as const).map(
    (name) => (source.given[name] ?? source.given[`w_${name}`])?.columns,
  );
  if (columns.some((width) => width === undefined)) return [1];
  return [1, 2, 3, 4, 6, 8].filter((heads) => columns.every((width) => width! % heads === 0));
}

export function parseCell(text: string): Cell | null {
  const parts = /^(\w+):(\d+),(\d+),(\d+)$/.exec(text);
  if (!parts || !(STEPS as readonly string[]).includes(parts[1])) return null;
  return {
    step: parts[1] as StepName,
    head: Number(parts[2]),
    row: Number(parts[3]),
    column: Number(parts[4]),
  };
}

/** `x:0,1,0=0.5;scores:0,2,1=3` and back. */
export function readCells<Value>(
  text: string | undefined,
  read: (text: string) => Value,
): Map<string, Value> {
  const cells = new Map<string, Value>();
  for (const part of (text ?? '').split(';')) {
    const equals = part.indexOf('=');
    const value = read(part.slice(equals + 1));
    if (equals > 0 && parseCell(part.slice(0, equals)) && !Number.isNaN(value))
      cells.set(part.slice(0, equals), value);
  }
  return cells;
}

export function writeCells(cells: ReadonlyMap<string, number | string>): string | null {
  const parts = [...cells].map(([key, value]) => `${key}=${String(value).replace(/;/g, '')}`);
  return parts.length ? parts.join(';') : null;
}
