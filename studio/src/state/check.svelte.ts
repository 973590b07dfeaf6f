// "Type what you computed": each number judged at once, and by the server (`regard check`) for what follows from what.

import { isAbort, latest, postJson } from '../contract/api';
import type { CheckAnswer, CheckRequest } from '../contract/types';
import { at, keyOf, scaleOf, toRows, type Cell, type StepName } from '../maths/attend';
import { judge, type Verdict } from '../maths/judge';
import { parseNumber } from '../maths/numbers';
import type { Sheet } from './sheet.svelte';

const PAUSE = 350; // milliseconds after the last key
/** What can be asked of a learner, in order. */
export const OPEN: readonly StepName[] = ['q', 'k', 'v', 'scores', 'scaled', 'weights', 'output'];

export class Check {
  #answer = $state.raw<{ typed: unknown; answer: CheckAnswer } | null>(null);
  readonly #next = latest();

  constructor(private readonly sheet: Sheet) {
    $effect(() => {
      const request = this.#request;
      const typed = sheet.typed;
      if (!request) return;
      const timer = setTimeout(() => void this.#ask(request, typed), PAUSE);
      return () => clearTimeout(timer);
    });
  }

  /** Must this number be typed? */
  open(step: StepName): boolean {
    return this.sheet.mode === 'check' && OPEN.includes(step) && !this.sheet.given(step);
  }

  verdict(cell: Cell): Verdict | null {
    const written = this.sheet.typed.get(keyOf(cell));
    const expected = this.sheet.value(cell);
    if (written === undefined || expected === null) return null;
    const own = judge(written, expected);
    if (own === 'unread' || !this.#answer || this.#answer.typed !== this.sheet.typed) return own;
    const found = this.#answer.answer.findings.some(
      (one) =>
        one.step === cell.step && one.row === cell.row && (one.column === null || one.column === cell.column),
    );
    if (found) return own === 'right' ? 'right' : 'wrong';
    return own === 'wrong' ? 'follows' : own;
  }

  readonly progress = $derived.by(() => {
    let [right, wrong, all] = [0, 0, 0];
    for (const step of OPEN) {
      if (!this.open(step)) continue;
      this.sheet.found[step]?.forEach((grid, head) => {
        all += grid.data.length;
        for (let index = 0; index < grid.data.length; index++) {
          const [row, column] = [Math.floor(index / grid.columns), index % grid.columns];
          const verdict = this.verdict({ step, head, row, column });
          if (verdict === 'right' || verdict === 'follows') right++;
          else if (verdict) wrong++;
        }
      });
    }
    return { right, wrong, all };
  });

  /** What `regard check` is asked; null where it cannot be: several heads, or queries that are no words of the sheet. */
  readonly #request = $derived.by((): CheckRequest | null => {
    const { sheet } = this;
    const { inputs, source, found, typed } = sheet;
    if (sheet.mode !== 'check' || typed.size === 0 || inputs.heads > 1) return null;
    if (source.queries !== source.tokens && source.queries.join('\n') !== source.tokens.join('\n'))
      return null;
    if ('scores' in inputs.given || 'scaled' in inputs.given || 'weights' in inputs.given) return null;
    const given: Record<string, number[][]> = {};
    for (const name of Object.keys(inputs.given) as StepName[]) given[name] = toRows(found[name]![0]);
    if (found.x_p) given.x = toRows(found.x_p[0]);
    const stated: Record<string, (string | null)[][]> = {};
    for (const step of OPEN) {
      const grid = found[step]?.[0];
      if (!grid || !this.open(step)) continue;
      const rows = Array.from({ length: grid.rows }, (_, row) =>
        Array.from({ length: grid.columns }, (_, column) => {
          const written = typed.get(keyOf({ step, head: 0, row, column }));
          const hidden = step === 'weights' && found.masked && at(found.masked[0], row, column) === -Infinity;
          return written === undefined || hidden || parseNumber(written) === null ? null : plain(written);
        }),
      );
      if (rows.some((row) => row.some((written) => written !== null))) stated[step] = rows;
    }
    if (!Object.keys(stated).length) return null;
    return { tokens: source.tokens, inputs: given, stated, scale: scaleOf(inputs), causal: inputs.causal };
  });

  async #ask(request: CheckRequest, typed: unknown): Promise<void> {
    try {
      const answer = await postJson<CheckAnswer>('api/check', request, this.#next());
      this.#answer = { typed, answer };
    } catch (error) {
      if (!isAbort(error)) this.#answer = null; // each number is still judged by itself
    }
  }
}

/** As the server reads numbers: a point, a plain minus, a fraction worked out. */
function plain(written: string): string {
  return written.includes('/')
    ? String(parseNumber(written))
    : written.replace(',', '.').replace(/[−–]/g, '-').trim();
}
