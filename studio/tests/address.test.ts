import { describe, expect, it } from 'vitest';
import { applyChanges, formatHash, PageAddress, parseHash } from '../src/state/address.svelte';
import { MemoryAddress } from '../src/state/memoryAddress.svelte';

describe('address', () => {
  it('goes there and back, whatever the text', () => {
    const params = { text: 'a & b = <c> ? # % é 注意\n;', head: '3', empty: '' };
    expect(parseHash(formatHash('heads', params))).toEqual({ page: 'heads', params });
  });

  it('reads what people type', () => {
    expect(parseHash('')).toEqual({ page: '', params: {} });
    expect(parseHash('#/map/')).toEqual({ page: 'map', params: {} });
    expect(parseHash('#map?a=1?2')).toEqual({ page: 'map', params: { a: '1?2' } });
  });

  it('removes what is null and writes numbers and switches as text', () => {
    expect(applyChanges({ a: '1', b: '2' }, { a: null, b: undefined, c: 3, d: true, e: false })).toEqual({
      c: '3',
      d: '1',
      e: '0',
    });
  });
});

describe('the address of a page', () => {
  it('keeps its params, and writes nothing, while another page takes its place', () => {
    const whole = new MemoryAddress('map', { row: '3' });
    const own = new PageAddress(whole, 'map');
    own.set({ column: 4 });
    expect(own.params).toEqual({ row: '3', column: '4' });
    whole.go('compare', { model: 'grammar' });
    own.set({ row: 9 });
    expect(own.params).toEqual({ row: '3', column: '4' });
    expect(whole.params).toEqual({ model: 'grammar' });
  });
});
