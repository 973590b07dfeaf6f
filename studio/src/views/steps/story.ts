// The steps in order, and which matrices each of them shows.

import type { Attention, StepName } from '../../maths/attend';

export type StepId = 'words' | 'project' | 'score' | 'scale' | 'mask' | 'softmax' | 'mix' | 'join';

export interface Step {
  id: StepId;
  number: string; // empty: before or after the six
  /** Matrices, those of one line together; a sign stands between them. */
  lines: (StepName | Sign)[][];
}
export type Sign = '+' | '=' | '·' | '→';
export const SIGNS: readonly string[] = ['+', '=', '·', '→'];
export const isSign = (part: string): part is Sign => SIGNS.includes(part);

/** How a matrix is written, in the letters of the equation. */
export const SYMBOLS: Record<StepName, string> = {
  x: 'X', positions: 'P', x_p: 'X + P', w_q: 'W_Q', w_k: 'W_K', w_v: 'W_V', q: 'Q', k: 'K', v: 'V',
  scores: 'QKᵀ', scaled: 'S', masked: 'M', weights: 'A', output: 'AV', concat: 'C', w_o: 'W_O', z: 'Z',
}; // prettier-ignore

export const TOUR: StepId[] = ['project', 'score', 'scale', 'mask', 'softmax', 'mix'];

export function stepsOf(found: Attention): Step[] {
  const has = (step: StepName) => found[step] !== undefined;
  const steps: Step[] = [];
  if (has('x_p')) steps.push({ id: 'words', number: '', lines: [['x', '+', 'positions', '=', 'x_p']] });
  else if (has('x') && !has('q')) steps.push({ id: 'words', number: '', lines: [['x']] });
  const projected = (['q', 'k', 'v'] as const).filter(has);
  if (projected.length) {
    const lines: Step['lines'] = projected.map((name) =>
      has(`w_${name}`) ? [`w_${name}` as const, '→' as const, name] : [name],
    );
    if (has('x') && !has('x_p')) lines.unshift(['x']);
    steps.push({ id: 'project', number: '1', lines });
  }
  if (has('scores')) steps.push({ id: 'score', number: '2', lines: [['scores']] });
  if (has('scaled')) steps.push({ id: 'scale', number: '3', lines: [['scaled']] });
  if (has('scaled')) steps.push({ id: 'mask', number: '4', lines: has('masked') ? [['masked']] : [] });
  if (has('weights')) steps.push({ id: 'softmax', number: '5', lines: [['weights']] });
  if (has('output')) steps.push({ id: 'mix', number: '6', lines: [['output']] });
  if (has('concat')) steps.push({ id: 'join', number: '', lines: [['concat', '·', 'w_o', '=', 'z']] });
  return steps;
}

export const MAPS: readonly StepName[] = ['scores', 'scaled', 'masked', 'weights'];
export const isMap = (step: StepName): boolean => MAPS.includes(step);
export const perHead = (step: StepName): boolean => isMap(step) || step === 'output';
export const hasRowWords = (step: StepName): boolean => !step.startsWith('w_');
