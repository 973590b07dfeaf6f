import { describe, expect, it } from 'vitest';
import type { CurvesAnswer, RunInfo } from '../../src/contract/types';
import { checkpointAt } from '../../src/views/training/attending.svelte';
import {
  checkpointsOf,
  compared,
  curvesOf,
  firstRun,
  GROUPS,
  progress,
  stories,
} from '../../src/views/training/runs';

const run = (name: string, more: Partial<RunInfo> = {}): RunInfo => ({
  name, status: 'finished', step: 50, steps: 200, family: 'transformer', best: null, measure: null, ...more,
}); // prettier-ignore

describe('a run', () => {
  it('is as far as its steps say', () => {
    const running = { status: 'running' };
    expect(progress(run('a', running))).toBe(0.25);
    expect(progress(run('a', { ...running, steps: null }))).toBeNull();
    expect(progress(run('a', { ...running, step: 500 }))).toBe(1);
    expect(progress(run('a'))).toBe(1); // finished before the last step, when its time was up
  });

  it('is chosen: one that goes on, then one of one’s own', () => {
    const all = [run('grammar'), run('mine'), run('now', { status: 'running' })];
    expect(firstRun(all, new Set(['grammar']))?.name).toBe('now');
    expect(firstRun(all.slice(0, 2), new Set(['grammar']))?.name).toBe('mine');
    expect(firstRun([], new Set())).toBeNull();
  });

  it('has the curves that its log has', () => {
    const series = [
      { name: 'loss', points: [[1, 5]] as [number, number][] },
      { name: 'valid loss', points: [] },
      { name: 'valid bleu', points: [[1, 20]] as [number, number][] },
    ];
    expect(curvesOf(series, GROUPS[0]).map((one) => one.name)).toEqual(['loss']);
    expect(curvesOf(series, GROUPS[1]).map((one) => one.name)).toEqual(['valid bleu']);
    expect(curvesOf(series, GROUPS[2])).toEqual([]);
  });

  it('has one checkpoint a step, the model itself before a file', () => {
    const checkpoints = [
      { step: 300, name: 'step-000300' },
      { step: 100, name: 'step-000100' },
      { step: 300, name: 'model' },
    ];
    const found = checkpointsOf({ checkpoints } as unknown as CurvesAnswer);
    expect(found.map((one) => one.name)).toEqual(['step-000100', 'model']);
    expect(checkpointAt(found, null)).toBe(1);
    expect(checkpointAt(found, 299)).toBe(0);
    expect(checkpointAt(found, 0)).toBe(0);
    expect(checkpointAt(found, 300)).toBe(1);
  });
});

describe('samples', () => {
  it('are told by sentence, the same answer once', () => {
    const sample = (step: number, source: string, output: string) => ({
      step,
      source,
      reference: 'r',
      output,
    });
    const told = stories([
      sample(1, 'a', 'x'),
      sample(1, 'b', 'y'),
      sample(2, 'a', 'x'),
      sample(3, 'a', 'z'),
      sample(4, 'a', 'x'),
    ]);
    expect(told.map((one) => one.source)).toEqual(['a', 'b']);
    expect(told[0].versions).toEqual([
      { step: 1, until: 2, output: 'x' },
      { step: 3, until: 3, output: 'z' },
      { step: 4, until: 4, output: 'x' },
    ]);
  });

  it('have the words marked that the reference does not have there', () => {
    const wrong = (output: string, reference: string) =>
      compared(output, reference)
        .filter((word) => !word.right)
        .map((word) => word.text);
    expect(wrong('Le chat dort.', 'Le chat dort.')).toEqual([]);
    expect(wrong('Le chien dort.', 'Le chat dort.')).toEqual(['chien']);
    expect(wrong('dort Le chat', 'Le chat dort')).toEqual(['dort']);
    expect(wrong('', 'Le chat')).toEqual([]);
    expect(wrong('le le le', 'le')).toHaveLength(2);
    expect(compared('a b', '').map((word) => word.right)).toEqual([false, false]);
  });
});
