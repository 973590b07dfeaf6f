// Where one number comes from, product by product, and which cells it was made of.

import {
  at,
  maySee,
  rootOf,
  type Attention,
  type Cell,
  type Grid,
  type Inputs,
  type StepName,
} from './attend';

/** One product of a sum, or one power of a softmax. */
export interface Term {
  left: number;
  right: number;
  product: number;
  /** Which word or dim it is about. */
  index: number;
}

export type Explanation =
  | { kind: 'given' }
  | { kind: 'position'; angle: number; odd: boolean; dim: number; d: number; value: number }
  | { kind: 'sum'; left: number; right: number; value: number }
  | { kind: 'dot'; terms: Term[]; value: number; over: 'dims' | 'words' }
  | {
      kind: 'scale';
      score: number;
      divisor: number | null;
      factor: number;
      temperature: number;
      value: number;
    }
  | { kind: 'mask'; seen: boolean; value: number }
  | { kind: 'softmax'; terms: Term[]; total: number; shift: number; value: number; hidden: boolean }
  | { kind: 'copy'; source: Cell; value: number };

const LARGE = 10; // beyond it, e^s gets out of hand: the largest score is subtracted first

export function explain(inputs: Inputs, found: Attention, cell: Cell): Explanation | null {
  const { step, head, row, column } = cell;
  const own = found[step]?.[head];
  if (!own || row >= own.rows || column >= own.columns) return null;
  const value = at(own, row, column);
  if (step === 'positions') return position(own, row, column, value);
  if (isGiven(inputs, step)) return { kind: 'given' };
  if (step === 'x_p') {
    return {
      kind: 'sum',
      left: at(found.x![0], row, column),
      right: at(found.positions![0], row, column),
      value,
    };
  }
  if (step === 'q' || step === 'k' || step === 'v') {
    const words = (found.x_p ?? found.x)![0];
    return dot(words, found[`w_${step}`]![0], row, column, value, 'dims');
  }
  if (step === 'scores') return score(inputs, found, cell, value);
  if (step === 'scaled') {
    const d = rootOf(inputs);
    const scored = at(found.scores![head], row, column);
    const divisor = d === null ? null : Math.sqrt(d);
    return {
      kind: 'scale',
      score: scored,
      divisor,
      factor: inputs.scale ?? 1,
      temperature: inputs.temperature,
      value,
    };
  }
  if (step === 'masked') return { kind: 'mask', seen: maySee(inputs, row, column), value };
  if (step === 'weights') return power((found.masked ?? found.scaled)![head], row, column, value);
  if (step === 'output') {
    const values = found.v![0];
    const start = (head * values.columns) / inputs.heads;
    return dot(found.weights![head], values, row, start + column, value, 'words');
  }
  if (step === 'concat') {
    const width = found.output![0].columns;
    const source: Cell = { step: 'output', head: Math.floor(column / width), row, column: column % width };
    return { kind: 'copy', source, value };
  }
  return dot(found.concat![0], found.w_o![0], row, column, value, 'dims');
}

/** Taken as it is: what is typed or chosen, not computed. */
export function isGiven(inputs: Inputs, step: StepName): boolean {
  return step === 'x' || step.startsWith('w_') || inputs.given[step] !== undefined;
}

function dot(
  left: Grid,
  right: Grid,
  row: number,
  column: number,
  value: number,
  over: 'dims' | 'words',
): Explanation {
  const terms = Array.from({ length: left.columns }, (_, index) =>
    term(at(left, row, index), at(right, index, column), index),
  );
  return { kind: 'dot', terms, value, over };
}

function score(inputs: Inputs, found: Attention, { head, row, column }: Cell, value: number): Explanation {
  const [queries, keys] = [found.q![0], found.k![0]];
  const width = queries.columns / inputs.heads;
  const terms = Array.from({ length: width }, (_, index) => {
    const dim = head * width + index;
    return term(at(queries, row, dim), at(keys, column, dim), dim);
  });
  return { kind: 'dot', terms, value, over: 'dims' };
}

const term = (left: number, right: number, index: number): Term => ({
  left,
  right,
  product: left * right,
  index,
});

function power(logits: Grid, row: number, column: number, value: number): Explanation {
  const scores = Array.from({ length: logits.columns }, (_, key) => at(logits, row, key));
  const largest = Math.max(...scores);
  const shift = Number.isFinite(largest) && largest > LARGE ? largest : 0;
  const terms = scores.map((one, index) => ({
    left: one,
    right: shift,
    product: Math.exp(one - shift),
    index,
  }));
  const total = terms.reduce((sum, one) => sum + one.product, 0);
  return { kind: 'softmax', terms, total, shift, value, hidden: scores[column] === -Infinity };
}

function position(own: Grid, row: number, column: number, value: number): Explanation {
  const dim = column - (column % 2);
  const angle = row / 10000 ** (dim / own.columns);
  return { kind: 'position', angle, odd: column % 2 === 1, dim, d: own.columns, value };
}

/** A stretch of cells that a number was made of: a row, a column or one cell. */
export interface Source {
  step: StepName;
  head: number;
  rows: [number, number]; // from, to before
  columns: [number, number];
}

export function sourcesOf(inputs: Inputs, found: Attention, { step, head, row, column }: Cell): Source[] {
  if (isGiven(inputs, step)) return [];
  const cells = (name: StepName, of: number, rows: [number, number], columns: [number, number]): Source[] =>
    found[name]?.[of] ? [{ step: name, head: of, rows, columns }] : [];
  const one = (index: number): [number, number] => [index, index + 1];
  const width = (name: StepName, of = 0): [number, number] => [0, found[name]?.[of]?.columns ?? 0];
  const height = (name: StepName, of = 0): [number, number] => [0, found[name]?.[of]?.rows ?? 0];
  const slice = (name: StepName): [number, number] => {
    const each = (found[name]?.[0].columns ?? 0) / inputs.heads;
    return [head * each, (head + 1) * each];
  };
  const words = found.x_p ? 'x_p' : 'x';
  switch (step) {
    case 'x_p':
      return [...cells('x', 0, one(row), one(column)), ...cells('positions', 0, one(row), one(column))];
    case 'q':
    case 'k':
    case 'v':
      return [
        ...cells(words, 0, one(row), width(words)),
        ...cells(`w_${step}`, 0, height(`w_${step}`), one(column)),
      ];
    case 'scores':
      return [...cells('q', 0, one(row), slice('q')), ...cells('k', 0, one(column), slice('k'))];
    case 'scaled':
      return cells('scores', head, one(row), one(column));
    case 'masked':
      return cells('scaled', head, one(row), one(column));
    case 'weights': {
      const from = found.masked ? 'masked' : 'scaled';
      return cells(from, head, one(row), width(from, head));
    }
    case 'output':
      return [
        ...cells('weights', head, one(row), width('weights', head)),
        ...cells('v', 0, height('v'), one(slice('v')[0] + column)),
      ];
    case 'concat': {
      const each = found.output?.[0].columns ?? 1;
      return cells('output', Math.floor(column / each), one(row), one(column % each));
    }
    case 'z':
      return [
        ...cells('concat', 0, one(row), width('concat')),
        ...cells('w_o', 0, height('w_o'), one(column)),
      ];
    default:
      return [];
  }
}
