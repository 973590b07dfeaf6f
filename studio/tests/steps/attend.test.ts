// The arithmetic of the page against numbers of `regard.steps`: tests/golden/studio_steps.json, read on both sides.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  attend,
  fromRows,
  keyOf,
  STEPS,
  type Grid,
  type Inputs,
  type StepName,
} from '../../src/maths/attend';
import { explain, sourcesOf } from '../../src/maths/explain';
import { smallNumbers } from '../../src/maths/invent';

type Rows = (number | null)[][];
interface GoldenSheet {
  name: string;
  asked: { scale?: number | string; temperature?: number; positions?: boolean };
  tokens: string[];
  queries: string[];
  heads: number;
  causal: boolean;
  d: number | null;
  values: Partial<Record<StepName, Rows | Rows[]>>;
}
const golden = JSON.parse(readFileSync('../tests/golden/studio_steps.json', 'utf8')) as {
  sheets: GoldenSheet[];
  small_numbers: Record<string, number[]>;
};

function inputsOf(sheet: GoldenSheet): Inputs {
  const { values, asked } = sheet;
  const given: Inputs['given'] = {};
  const take = (...names: StepName[]) => {
    for (const name of names) if (values[name]) given[name] = fromRows(values[name] as Rows);
  };
  take('x', 'w_o');
  for (const name of ['q', 'k', 'v'] as const) take(values.x && values[`w_${name}`] ? `w_${name}` : name);
  if (!given.q && !given.w_q) take(values.scores ? 'scores' : 'weights');
  const scale = asked.scale === 'none' ? 1 : typeof asked.scale === 'number' ? asked.scale : null;
  return {
    given, scale, heads: sheet.heads, causal: sheet.causal, d: sheet.d && sheet.heads === 1 ? sheet.d : null,
    queries: sheet.queries.length, keys: sheet.tokens.length,
    positions: asked.positions ?? false, temperature: asked.temperature ?? 1,
  }; // prettier-ignore
}

/** What the file has of a step as grids, one for each head; queries and their like split over heads are joined. */
function goldenGrids(sheet: GoldenSheet, step: StepName): Grid[] | null {
  const found = sheet.values[step];
  if (!found) return null;
  const heads = (Array.isArray(found[0][0]) ? found : [found]) as Rows[];
  const hidden = heads.map((rows) => rows.map((row) => row.map((value) => value ?? -Infinity)));
  if (heads.length > 1 && ['q', 'k', 'v'].includes(step)) {
    return [fromRows(hidden[0].map((_, row) => hidden.flatMap((rows) => rows[row])))];
  }
  return hidden.map(fromRows);
}

describe('attend', () => {
  it.each(golden.sheets)('$name: every step as regard.steps has it', (sheet) => {
    const found = attend(inputsOf(sheet));
    const names = STEPS.filter((step) => goldenGrids(sheet, step));
    expect(names.length).toBeGreaterThan(1);
    for (const step of names) {
      const [own, wanted] = [found[step], goldenGrids(sheet, step)!];
      expect(own?.length, step).toBe(wanted.length);
      own!.forEach((grid, head) => {
        expect([grid.rows, grid.columns], step).toEqual([wanted[head].rows, wanted[head].columns]);
        grid.data.forEach((value, index) => {
          const other = wanted[head].data[index];
          if (Number.isFinite(other)) expect(Math.abs(value - other), step).toBeLessThan(1e-12);
          else expect(value, step).toBe(other);
        });
      });
    }
  });

  it('goes on from a number put by hand, and leaves what is before it', () => {
    const inputs = inputsOf(golden.sheets[0]);
    const cell = { step: 'scores', head: 0, row: 1, column: 2 } as const;
    const [before, after] = [attend(inputs), attend(inputs, new Map([[keyOf(cell), 5]]))];
    expect(after.q![0].data).toEqual(before.q![0].data);
    expect(after.scores![0].data[5]).toBe(5);
    expect(after.scaled![0].data[5]).toBeCloseTo(5 / Math.SQRT2, 12);
    expect(after.weights![0].data[5]).toBeGreaterThan(before.weights![0].data[5]);
    expect(after.output![0].data.subarray(0, 2)).toEqual(before.output![0].data.subarray(0, 2));
  });

  it('gives a row that may look nowhere zeros', () => {
    const inputs = { ...inputsOf(golden.sheets[0]), causal: true, queries: 3, keys: 3 };
    const all = new Map(['0,0', '0,1', '0,2'].map((place) => [`masked:0,${place}`, -Infinity]));
    expect(Array.from(attend(inputs, all).weights![0].data.subarray(0, 3))).toEqual([0, 0, 0]);
  });
});

describe('explain', () => {
  it.each(golden.sheets)('$name: what is spelt out comes to the number itself', (sheet) => {
    const inputs = inputsOf(sheet);
    const found = attend(inputs);
    for (const step of STEPS) {
      found[step]?.forEach((grid, head) =>
        grid.data.forEach((value, index) => {
          const cell = { step, head, row: Math.floor(index / grid.columns), column: index % grid.columns };
          const told = explain(inputs, found, cell)!;
          if (told.kind === 'dot') {
            expect(told.terms.reduce((sum, term) => sum + term.product, 0)).toBeCloseTo(value, 11);
          } else if (told.kind === 'softmax') {
            expect(told.terms[cell.column].product / told.total).toBeCloseTo(value, 11);
          } else if (told.kind === 'scale') {
            const scaled =
              (told.score * (told.divisor === null ? told.factor : 1 / told.divisor)) / told.temperature;
            expect(scaled).toBeCloseTo(value, 11);
          } else if (told.kind === 'position') {
            expect(told.odd ? Math.cos(told.angle) : Math.sin(told.angle)).toBeCloseTo(value, 11);
          } else if (told.kind === 'sum') expect(told.left + told.right).toBeCloseTo(value, 11);
        }),
      );
    }
  });

  it('names the cells a number was made of', () => {
    const inputs = inputsOf(golden.sheets[2]); // two heads
    const found = attend(inputs);
    expect(sourcesOf(inputs, found, { step: 'scores', head: 1, row: 0, column: 3 })).toEqual([
      { step: 'q', head: 0, rows: [0, 1], columns: [2, 4] },
      { step: 'k', head: 0, rows: [3, 4], columns: [2, 4] },
    ]);
    expect(sourcesOf(inputs, found, { step: 'weights', head: 0, row: 1, column: 0 })[0].step).toBe('masked');
    expect(sourcesOf(inputs, found, { step: 'w_q', head: 0, row: 1, column: 0 })).toEqual([]);
  });
});

describe('made-up numbers', () => {
  it.each(Object.entries(golden.small_numbers))('%s: as Python draws them', (key, numbers) => {
    expect(smallNumbers(key, numbers.length)).toEqual(numbers);
  });
});
