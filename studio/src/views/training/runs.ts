// What a run's numbers say, as curves and as lines of text.

import type { CheckpointInfo, CurvesAnswer, CurveSeries, RunInfo, RunSample } from '../../contract/types';

export type Points = [number, number][];
export interface Curve {
  name: string;
  points: Points;
  dashed?: boolean;
}

/** The checkpoint that no file keeps: the weights of step 0, which the server draws again. */
export const START = 'start';

/** The panels of curves: which series stand together. */
export const GROUPS = [
  { name: 'loss', log: true, series: ['loss', 'valid loss'] },
  { name: 'score', log: false, series: ['valid bleu', 'valid chrf', 'valid accuracy'] },
  { name: 'rate', log: false, series: ['rate'] },
  { name: 'speed', log: false, series: ['tokens_per_second'] },
] as const;
export type GroupName = (typeof GROUPS)[number]['name'];

/** The curves of a group that a run has. */
export function curvesOf(series: readonly CurveSeries[], group: (typeof GROUPS)[number]): Curve[] {
  return group.series.flatMap((name) => {
    const one = series.find((found) => found.name === name);
    if (!one || !one.points.length) return [];
    return [{ name, points: one.points as Points, dashed: group.name === 'loss' && name !== 'loss' }];
  });
}

/** Is somebody at it, as far as can be known? */
export const isRunning = (run: RunInfo): boolean => run.status === 'running' || run.status === 'training';

/** The share that is done; null where the end is not known. */
export function progress(run: RunInfo): number | null {
  if (!run.steps || run.steps <= 0) return null;
  if (run.status === 'finished') return 1; // also where its time was up before the last step
  return Math.min(1, Math.max(0, run.step / run.steps));
}

export interface Version {
  step: number;
  /** Until which step it stayed the same. */
  until: number;
  output: string;
}
export interface SampleStory {
  source: string;
  reference: string;
  versions: Version[];
}

/** Each sentence, and what became of it: the same answer over several validations is one version. */
export function stories(samples: readonly RunSample[]): SampleStory[] {
  const found = new Map<string, SampleStory>();
  for (const { step, source, reference, output } of samples) {
    const key = `${source}\u0000${reference}`;
    const story = found.get(key) ?? { source, reference, versions: [] };
    found.set(key, story);
    const last = story.versions[story.versions.length - 1];
    if (last && last.output === output) last.until = step;
    else story.versions.push({ step, until: step, output });
  }
  return [...found.values()];
}

export interface Word {
  text: string;
  /** Is it a word of the reference, in order? */
  right: boolean;
}

/** The words of an output, those in common with the reference marked (longest common subsequence). */
export function compared(output: string, reference: string, most = 400): Word[] {
  const words = output.split(/\s+/).filter(Boolean).slice(0, most);
  const wanted = reference.split(/\s+/).filter(Boolean).slice(0, most);
  const table = Array.from({ length: words.length + 1 }, () => new Uint16Array(wanted.length + 1));
  for (let row = words.length - 1; row >= 0; row--) {
    for (let column = wanted.length - 1; column >= 0; column--) {
      table[row][column] =
        words[row] === wanted[column]
          ? table[row + 1][column + 1] + 1
          : Math.max(table[row + 1][column], table[row][column + 1]);
    }
  }
  const marked: Word[] = [];
  let [row, column] = [0, 0];
  while (row < words.length) {
    if (column < wanted.length && words[row] === wanted[column]) {
      marked.push({ text: words[row++], right: true });
      column++;
    } else if (column < wanted.length && table[row][column + 1] > table[row + 1][column]) column++;
    else marked.push({ text: words[row++], right: false });
  }
  return marked;
}

/** The checkpoints in order of their steps; one a step, and a file before the model itself. */
export function checkpointsOf(curves: CurvesAnswer): CheckpointInfo[] {
  const sorted = [...curves.checkpoints].sort((a, b) => a.step - b.step || (a.name === 'model' ? 1 : -1));
  return sorted.filter((one, index) => sorted[index + 1]?.step !== one.step);
}

/** The run that the page opens with: one that is going on, one of one's own, else any. */
export function firstRun(runs: readonly RunInfo[], shipped: ReadonlySet<string>): RunInfo | null {
  return runs.find(isRunning) ?? runs.find((run) => !shipped.has(run.name)) ?? runs[0] ?? null;
}
