import { describe, expect, it } from 'vitest';
import type { ModelInfo, StudioInfo } from '../../src/contract/types';
import {
  closestCall, firstModel, headChoice, lettersBefore, lettersOf, links, peers, readIds, rowAfter, rowLook, strongest, wholeMap,
} from '../../src/views/translate/looks'; // prettier-ignore

// Two heads, two queries, three keys.
const numbers = {
  data: new Float32Array([0.5, 0.5, 0, 0.2, 0.2, 0.6, 0, 0.1, 0.9, 1, 0, 0]),
  shape: [2, 2, 3],
  meta: {},
};
const near = (found: ArrayLike<number>, wanted: number[]) =>
  wanted.forEach((value, index) => expect(found[index]).toBeCloseTo(value, 6));

describe('what a step looked at', () => {
  it('is the mean of the heads, one head, or the most certain one', () => {
    near(rowLook(numbers, 0, 'mean').weights, [0.25, 0.3, 0.45]);
    expect(rowLook(numbers, 0, 'mean').head).toBeNull();
    near(rowLook(numbers, 1, 0).weights, [0.2, 0.2, 0.6]);
    expect(rowLook(numbers, 0, 'strongest').head).toBe(1);
    expect(rowLook(numbers, 1, 'strongest').head).toBe(1);
    near(wholeMap(numbers, 'strongest'), [0, 0.1, 0.9, 1, 0, 0]);
  });

  it('is nothing where there is no such row', () => {
    near(rowLook(numbers, 9, 'mean').weights, [0, 0, 0]);
  });

  it('reads the head from the address, and takes the mean for nonsense', () => {
    expect(headChoice('1', 4)).toBe(1);
    expect(headChoice('strongest', 4)).toBe('strongest');
    for (const text of [undefined, '', '4', '-1', 'x', '1.5']) expect(headChoice(text, 4)).toBe('mean');
    expect(headChoice(undefined, 4, [2])).toBe(2);
    expect(headChoice(undefined, 4, [1, 3, 9])).toEqual([1, 3]);
    expect(headChoice('mean', 4, [1, 3])).toBe('mean');
    near(rowLook(numbers, 0, [0]).weights, [0.5, 0.5, 0]);
  });

  it('orders keys by weight, and draws the few lines that matter', () => {
    expect(strongest([0.1, 0.6, 0.3], 2)).toEqual([1, 2]);
    expect(strongest([0.1, 0.6, 0.3], 3, 0.2)).toEqual([1, 2]);
    const drawn = links([0.9, 0.05, 0.05, 0.4, 0.3, 0.3], 2, 3, 2, 0.1);
    expect(drawn.map(({ row, column }) => [row, column])).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
    ]);
  });
});

describe('the first step to look at', () => {
  const choice = (token: string, probability: number) => ({ token, token_id: 0, probability });

  it('is where another word came closest, not another spelling, a sign or the end', () => {
    const tokens = ["L'", ' chat', ' dort', '.', '</s>'];
    const top = [
      [choice("L'", 0.9), choice(" l'", 0.09), choice('Un', 0.001)],
      [choice(' chat', 0.9), choice(' chien', 0.05)],
      [choice(' dort', 0.9), choice(' dormait', 0.02)],
      [choice('.', 0.5), choice(' bien', 0.4)],
      [choice('</s>', 0.5), choice(' bien', 0.4)],
    ];
    expect(closestCall(top, tokens)).toBe(1);
    expect(closestCall([], [])).toBe(0);
    expect(closestCall([], ['.'])).toBe(0);
  });
});

describe('rows of a model with another tokenizer', () => {
  it('are found by the letters before them', () => {
    const ours = ['Le', ' chat', ' d', 'ort', '.', '</s>'];
    const theirs = ['Le', ' ch', 'at', ' dort', '.', '</s>'];
    expect(lettersBefore(ours, 3)).toBe(7);
    expect(rowAfter(theirs, lettersBefore(ours, 1))).toBe(1);
    expect(rowAfter(theirs, lettersBefore(ours, 2))).toBe(3);
    expect(rowAfter(theirs, lettersBefore(ours, 3))).toBe(3);
    expect(rowAfter(theirs, lettersBefore(ours, 5))).toBe(5);
    expect(rowAfter([], 3)).toBe(0);
  });

  it('count neither spaces nor signs of the tokenizer', () => {
    expect(lettersOf('▁chat')).toBe(4);
    expect(lettersOf('</s>')).toBe(0);
    expect(lettersOf(' 👍🏽')).toBe(2);
  });
});

describe('models', () => {
  const model = (name: string, more: Partial<ModelInfo> = {}): ModelInfo => ({
    name, kind: 'ships', family: 'transformer', task: 'translate', languages: ['en', 'fr'],
    parameters: 1, examples: [], problem: null, searches: true, ...more,
  }); // prettier-ignore
  const studio = (models: ModelInfo[], start: string | null = null) =>
    ({ models, start: { page: 'translate', model: start } }) as unknown as StudioInfo;

  it('are chosen: the one named, the general one, any that can', () => {
    expect(firstModel(studio([model('grammar'), model('en-fr')]))?.name).toBe('en-fr');
    expect(firstModel(studio([model('grammar'), model('mine')], 'mine'))?.name).toBe('mine');
    expect(
      firstModel(studio([model('gpt', { task: 'generate' }), model('bad', { problem: 'x' })])),
    ).toBeNull();
  });

  it('have peers of the other family for the same languages, the model itself first', () => {
    const all = [model('grammar'), model('rnn', { family: 'recurrent' }), model('own', { family: 'recurrent' }), model('fr', { languages: ['fr', 'en'], family: 'recurrent' })]; // prettier-ignore
    expect(peers(studio(all), all[0], true).map((one) => one.name)).toEqual(['rnn', 'own']);
    expect(peers(studio(all), all[2], true).map((one) => one.name)).toEqual(['own', 'rnn']);
    expect(peers(studio(all), all[3], false)).toEqual([]);
  });

  it('read ids from an address, and nothing from nonsense', () => {
    expect(readIds('333,911')).toEqual([333, 911]);
    for (const text of [undefined, '', '3,x', '-1', '1.5']) expect(readIds(text)).toEqual([]);
  });
});
