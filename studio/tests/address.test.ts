import { describe, expect, it } from 'vitest';
import { applyChanges, formatHash, parseHash } from '../src/state/address.svelte';

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
