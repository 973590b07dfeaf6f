// The sheet and its address: a link carries every number.

import { flushSync } from 'svelte';
import { describe, expect, it } from 'vitest';
import type { WorkedExample } from '../../src/contract/types';
import { judge, unitOf } from '../../src/maths/judge';
import { MADE_UP, parseCell, readCells, Sheet, writeCells } from '../../src/state/sheet.svelte';
import { MemoryAddress } from '../../src/state/memoryAddress.svelte';

const sheetAt = (params: Record<string, string>, examples: WorkedExample[] = []) => {
  const address = new MemoryAddress('steps', params);
  let sheet!: Sheet;
  const stop = $effect.root(() => {
    sheet = new Sheet(address, () => examples);
  });
  return { sheet, address, stop };
};

describe('sheet', () => {
  it('opens with numbers small enough to do by hand', () => {
    const { sheet } = sheetAt({});
    expect(sheet.source.tokens).toEqual(['I', 'love', 'AI']);
    expect(Array.from(sheet.found.scores![0].data)).toEqual([0, 1, 1, 1, 1, 2, 1, 2, 3]);
  });

  it('puts a changed number into the address, and takes it back', () => {
    const { sheet, address } = sheetAt({});
    sheet.edit({ step: 'x', head: 0, row: 0, column: 0 }, 2);
    flushSync();
    expect(address.params.edit).toBe('x:0,0,0=2');
    expect(Array.from(sheet.found.q![0].data.subarray(0, 2))).toEqual([2, 0]);
    sheet.edit({ step: 'x', head: 0, row: 0, column: 0 }, 1); // what it was
    expect(address.params.edit).toBeUndefined();
  });

  it('lets the back button take back settings and cells, not every letter of a number', () => {
    const { sheet, address } = sheetAt({});
    const cell = { step: 'x', head: 0, row: 0, column: 0 } as const;
    sheet.set({ mask: 'causal' });
    sheet.edit(cell, 2);
    flushSync();
    sheet.edit(cell, 2.5);
    flushSync();
    sheet.edit(cell, null);
    sheet.set({ t: 3 }, false);
    expect(address.pushed.map((one) => one.split('?')[1] ?? '')).toEqual([
      '', 'mask=causal', 'mask=causal&edit=x%3A0%2C0%2C0%3D2.5',
    ]); // prettier-ignore
  });

  it('keeps the numbers of words it knows and makes up those of others', () => {
    const { sheet } = sheetAt({ text: 'AI hates I' });
    const x = sheet.found.x![0];
    expect(Array.from(x.data.subarray(0, 2))).toEqual([1, 1]);
    expect(Array.from(x.data.subarray(4, 6))).toEqual([1, 0]);
    expect(sheet.found.weights![0].rows).toBe(3);
  });

  it('splits into as many heads as fit, joined by a matrix', () => {
    const { sheet, address } = sheetAt({ example: MADE_UP, text: 'a b', heads: '4', d: '8' });
    expect(sheet.headCounts).toEqual([1, 2, 4, 8]);
    expect(sheet.found.scores).toHaveLength(4);
    expect([sheet.found.z![0].rows, sheet.found.z![0].columns]).toEqual([2, 8]);
    address.set({ heads: 3 });
    expect(sheet.inputs.heads).toBe(1);
  });

  it('survives any address', () => {
    const { sheet } = sheetAt({
      example: 'no-such', text: 'x '.repeat(500), d: '-1', heads: 'NaN', scale: '-3', t: '0', pos: '1', seed: '-7',
      edit: 'x:0,0,0=;scores:0,0=3;;=;y:0,0,0=1;x:9,99,999=5', cell: 'weights:7,7,7', head: '99',
    }); // prettier-ignore
    expect(sheet.source.tokens).toHaveLength(12);
    expect(sheet.picked).toBeNull();
    expect(sheet.found.output![0].data.every(Number.isFinite)).toBe(true);
  });

  it('says the same in one line for a terminal', () => {
    expect(sheetAt({}).sheet.command).toBe('regard steps --example i-love-ai');
    const params = { example: MADE_UP, text: 'a b', heads: '2', mask: 'causal', t: '2', pos: '1' };
    const long = 'regard steps "a b" --heads 2 --causal --temperature 2 --positions';
    expect(sheetAt(params).sheet.command).toBe(long);
    expect(sheetAt({ edit: 'x:0,0,0=5' }).sheet.command).toBeNull();
  });
});

describe('cells in the address', () => {
  it('go there and back', () => {
    const cells = new Map([
      ['x:0,1,0', -0.5],
      ['scores:2,0,3', 1e-3],
    ]);
    expect(readCells(writeCells(cells)!, Number)).toEqual(cells);
    expect(parseCell('weights:1,2,3')).toEqual({ step: 'weights', head: 1, row: 2, column: 3 });
    expect(parseCell('weights:1,2')).toBeNull();
  });
});

describe('judge', () => {
  it.each([
    ['1.41', Math.SQRT2, 'right'], ['1,41', Math.SQRT2, 'right'], ['1.4', Math.SQRT2, 'right'],
    ['1.5', Math.SQRT2, 'right'], ['1.43', Math.SQRT2, 'wrong'], ['1', Math.SQRT2, 'wrong'], ['2', 2, 'right'],
    ['−2', -2, 'right'], ['3/4', 0.75, 'right'], ['0.71', 1.414, 'wrong'], ['abc', 1, 'unread'], ['-∞', -Infinity, 'right'],
    ['0', -Infinity, 'wrong'],
  ] as const)('%s for %f is %s', (written, expected, verdict) => {
    expect(judge(written, expected)).toBe(verdict);
  }); // prettier-ignore

  it('reads how exact a number is from its digits', () => {
    expect(unitOf('0.40')).toBeCloseTo(0.01);
    expect(unitOf('7')).toBeLessThan(1e-6);
  });
});
