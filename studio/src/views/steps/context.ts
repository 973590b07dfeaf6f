// What all parts of the page share: the sheet, the check, and which number is pointed at.

import { getContext, setContext } from 'svelte';
import type { ExampleMistake } from '../../contract/types';
import type { Cell, StepName } from '../../maths/attend';
import type { Source } from '../../maths/explain';
import type { Check } from '../../state/check.svelte';
import type { Sheet } from '../../state/sheet.svelte';

export interface StepsContext {
  readonly sheet: Sheet;
  readonly check: Check;
  /** The number that is explained: pointed at, else picked. */
  readonly current: Cell | null;
  readonly sources: readonly Source[];
  readonly mistakes: readonly ExampleMistake[];
  hover(cell: Cell | null): void;
  /** The words beside the rows and over the columns of a matrix. */
  rowWords(step: StepName): readonly string[];
  columnWords(step: StepName): readonly string[];
}

const KEY = Symbol('steps');
export const provide = (context: StepsContext): StepsContext => setContext(KEY, context);
export const use = (): StepsContext => getContext<StepsContext>(KEY);
