// While a learner works the steps out, no number is shown that is still to be found, nor one that would tell it.

import type { Cell, Grid, StepName } from '../../maths/attend';
import type { Check } from '../../state/check.svelte';
import type { Sheet } from '../../state/sheet.svelte';

/** May this number be seen: is it given, or found by now? */
export function isKnown(sheet: Sheet, check: Check, cell: Cell): boolean {
  const { step, head, row, column } = cell;
  if (check.open(step)) return ['right', 'follows'].includes(check.verdict(cell) ?? '');
  if (sheet.mode !== 'check') return true;
  if (step === 'masked')
    return sheet.value(cell) === -Infinity || isKnown(sheet, check, { ...cell, step: 'scaled' });
  const width = sheet.found.output?.[0].columns ?? 1;
  if (step === 'concat') {
    const place = { head: Math.floor(column / width), column: column % width };
    return isKnown(sheet, check, { step: 'output', row, ...place });
  }
  if (step === 'z')
    return Array.from({ length: sheet.found.concat![0].columns }).every((_, index) =>
      isKnown(sheet, check, { step: 'concat', head, row, column: index }),
    );
  return true;
}

/** A matrix as it may be taken away: nothing stands where a number is still to be found. */
export function onlyKnown(sheet: Sheet, check: Check, step: StepName, head: number, grid: Grid): Grid {
  const data = grid.data.map((number, index) => {
    const [row, column] = [Math.floor(index / grid.columns), index % grid.columns];
    return isKnown(sheet, check, { step, head, row, column }) ? number : NaN;
  });
  return { ...grid, data };
}

/** The two numbers of a product, or the one of a power, as cells of the sheet; `index` is the term's own. */
export function factorsOf(sheet: Sheet, { step, head, row, column }: Cell, index: number): Cell[] {
  const { inputs, found } = sheet;
  const whole = (name: Cell['step'], r: number, c: number): Cell => ({
    step: name,
    head: 0,
    row: r,
    column: c,
  });
  if (step === 'scores') return [whole('q', row, index), whole('k', column, index)];
  if (step === 'scaled') return [{ step: 'scores', head, row, column }];
  if (step === 'weights') return [{ step: found.masked ? 'masked' : 'scaled', head, row, column: index }];
  if (step === 'output') {
    const start = (head * found.v![0].columns) / inputs.heads;
    return [{ step: 'weights', head, row, column: index }, whole('v', index, start + column)];
  }
  if (step === 'z') return [whole('concat', row, index), whole('w_o', index, column)];
  return []; // of what is given
}
