// Who watches a run asks for it now and then, not without end.

import { flushSync } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunInfo, StudioInfo } from '../../src/contract/types';
import { MemoryAddress } from '../../src/state/memoryAddress.svelte';
import { Watching } from '../../src/views/training/watching.svelte';

const mine: RunInfo = {
  name: 'mine', status: 'running', step: 5, steps: 9, family: 'transformer', best: null, measure: null,
}; // prettier-ignore
const asked: string[] = [];

beforeEach(() => {
  asked.length = 0;
  vi.useFakeTimers();
  vi.stubGlobal('document', { hidden: false, addEventListener: () => {}, removeEventListener: () => {} });
  vi.stubGlobal('fetch', (path: string) => {
    asked.push(path);
    if (asked.length > 20) return new Promise(() => {}); // whoever asks without end gets no more
    const body = path.endsWith('/curves') ? { run: mine, series: [], samples: [], checkpoints: [] } : [mine];
    return Promise.resolve(new Response(JSON.stringify(body)));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Everything that comes of what happened, for so many milliseconds of a clock that the test holds. */
async function after(milliseconds: number): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    flushSync();
    await vi.advanceTimersByTimeAsync(milliseconds / 20);
  }
}

describe('watching', () => {
  it('asks for the runs and the curves once, and again after three seconds while a run goes on', async () => {
    let watching!: Watching;
    const stop = $effect.root(() => {
      watching = new Watching(
        new MemoryAddress('training'),
        () => ({ runs: [mine], models: [] }) as never as StudioInfo,
      );
    });
    await after(1000);
    expect(watching.curves?.run.name).toBe('mine');
    expect(asked).toEqual(['api/runs', 'api/runs/mine/curves']);
    await after(3000);
    expect(asked).toHaveLength(4);
    stop();
    await after(60_000);
    expect(asked).toHaveLength(4);
  });
});
