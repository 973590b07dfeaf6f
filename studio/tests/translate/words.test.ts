import { describe, expect, it } from 'vitest';
import { aboutWidth, languageName, shown } from '../../src/views/translate/words';
import { lastOf, schematic, windowOf } from '../../src/views/translate/schematic';

describe('tokens of any kind', () => {
  it('are trimmed, and blanks are shown', () => {
    expect(shown(' chat')).toBe('chat');
    expect(shown(' ')).toBe('␣');
    expect(shown('\n')).toBe('⏎');
    expect(shown('')).toBe('∅');
  });

  it('stay text: tags as they are, letters that hide or turn the line around by their number', () => {
    expect(shown('<script>')).toBe('<script>');
    expect(shown('a\u200bb')).toBe('a‹200b›b');
    expect(shown('\u202eevil')).toBe('‹202e›evil');
    expect(shown('\u0000')).toBe('‹0000›');
    expect(shown('שלום')).toBe('שלום');
  });

  it('are cut, by letters and not by halves of them', () => {
    expect([...shown('x'.repeat(10_000))]).toHaveLength(24);
    expect(shown('😀'.repeat(30), 5)).toBe('😀😀😀😀…');
  });

  it('have a width, more for wide letters', () => {
    expect(aboutWidth('漢字')).toBeGreaterThan(aboutWidth('il'));
    expect(aboutWidth('')).toBe(0);
  });
});

describe('languages', () => {
  it('come with their names', () => {
    expect(languageName('fr', 'en')).toBe('French');
    expect(languageName('not a language', 'en')).toBe('not a language');
  });
});

describe('the pictures of 2014, 2015 and 2017', () => {
  it('have room for every word, the current one below the others', () => {
    for (const [source, own] of [[1, 0], [6, 3], [3, 14]]) {
      const plan = schematic(source, own);
      const all = [...plan.sourceY, ...plan.ownY, plan.nowY];
      expect(Math.max(...all) + plan.row / 2).toBeLessThanOrEqual(plan.height);
      expect(plan.sourceY).toHaveLength(source);
      expect(plan.ownY.every((y) => y < plan.nowY)).toBe(true);
    }
  }); // prettier-ignore

  it('show a part of what is long', () => {
    expect(windowOf(10, 16, 3)).toEqual({ from: 0, to: 10 });
    expect(windowOf(100, 16, 50)).toEqual({ from: 42, to: 58 });
    expect(windowOf(100, 16, 99)).toEqual({ from: 84, to: 100 });
    expect(lastOf(40, 15)).toEqual({ from: 25, hidden: 25 });
    expect(lastOf(3, 15)).toEqual({ from: 0, hidden: 0 });
  });
});
