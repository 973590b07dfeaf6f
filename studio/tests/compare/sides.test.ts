import { describe, expect, it } from 'vitest';
import type { CurvesAnswer, ModelInfo, SiteInfo, StudioInfo } from '../../src/contract/types';
import { presetsFor } from '../../src/views/compare/presets';
import {
  headOf,
  modelsOf,
  siteOf,
  spaceOf,
  tellingModel,
  textsOf,
  TIRED,
  WIDE,
  wordOf,
} from '../../src/views/compare/sides';

const model = (name: string, languages: [string, string] | null, examples: string[] = []) =>
  ({ name, kind: 'ships', task: 'translate', languages, examples, problem: null }) as unknown as ModelInfo;
const ships = [
  model('en-fr', ['en', 'fr'], [TIRED, WIDE]),
  model('fr-en', ['fr', 'en'], ['Le chat dort.', 'Il dort.']),
  model('grammar', ['en', 'fr'], [TIRED, WIDE]),
];
const studio = (models: ModelInfo[], recording?: string) =>
  ({
    models,
    recordings: recording ? [{ name: recording }] : [],
    runs: [],
    start: { page: 'steps', recording },
  }) as unknown as StudioInfo;
const site = (name: string, kind: SiteInfo['kind'], heads = [0, 1]) =>
  ({ site: name, kind, head_numbers: heads }) as SiteInfo;

describe('what is meant where nothing stands in the address', () => {
  it('is two sentences of which one word differs', () => {
    const [left, right] = modelsOf({}, studio(ships));
    expect(left).toBe(right);
    expect(textsOf({}, studio(ships), 'grammar')).toEqual([TIRED, WIDE]);
    expect(textsOf({}, studio(ships), 'fr-en')).toEqual(['Le chat dort.', 'Il dort.']);
    expect(textsOf({ text: 'a' }, studio(ships), 'grammar')).toEqual(['a', 'a']);
    expect(textsOf({ head2: '3' }, studio(ships), 'grammar')).toEqual([TIRED, TIRED]);
    expect(textsOf({ text: 'a', text2: '' }, studio(ships), 'grammar')).toEqual(['a', '']);
  });
  it('is the model that tells il from elle, unless one was named', () => {
    expect(modelsOf({}, studio(ships))).toEqual(['grammar', 'grammar']);
    expect(modelsOf({ model: 'en-fr' }, studio(ships))).toEqual(['en-fr', 'en-fr']);
    expect(modelsOf({ model2: 'fr-en' }, studio(ships))).toEqual(['grammar', 'fr-en']);
    expect(modelsOf({}, studio(ships, 'cat'))[0]).toBe('recording:cat');
    expect(tellingModel(studio(ships.slice(0, 2)))).toBe('en-fr');
  });
  it('is the second site between the sentences, or what there is', () => {
    const sites = [site('e.0', 'encoder'), site('d.0', 'cross'), site('d.1', 'cross'), site('d.2', 'cross')];
    expect(siteOf(sites, undefined)?.site).toBe('d.1');
    expect(siteOf(sites, 'd.2')?.site).toBe('d.2');
    expect(siteOf(sites, 'gone')?.site).toBe('d.1');
    expect(siteOf(sites.slice(0, 2), undefined)?.site).toBe('d.0');
    expect(siteOf(sites.slice(0, 1), undefined)?.site).toBe('e.0');
    expect(siteOf([], undefined)).toBeNull();
  });
  it('is a head that was recorded', () => {
    const some = site('d.1', 'cross', [2, 5]);
    expect([headOf(some, '5', 2), headOf(some, '3', 5), headOf(some, 'x', 0), headOf(null, '7', 0)]).toEqual([
      5, 5, 2, 0,
    ]);
  });
  it('is a word that both say', () => {
    expect([wordOf('3', 1, 4), wordOf('-1', 1, 4), wordOf(undefined, undefined, 4)]).toEqual([3, 1, 0]);
    expect([wordOf('4', 1, 4), wordOf(undefined, undefined, 0)]).toEqual([null, null]);
  });
  it('is one space for the checkpoints of a run', () => {
    expect(spaceOf('run:mine@model')).toBe(spaceOf('run:mine@step-10'));
    expect(spaceOf('run:mine@model')).not.toBe(spaceOf('run:other@model'));
  });
});

describe('comparisons to begin with', () => {
  const shown = { model: 'grammar', text: 'The cat sleeps.', site: 'd.1', heads: [0, 1, 2, 3] };
  const named = (...asked: Parameters<typeof presetsFor>) =>
    Object.fromEntries(presetsFor(...asked).map(({ name, use }) => [name, use]));
  it('are sentences, heads, contexts and two models that read the same language', () => {
    const found = named(studio(ships), shown, []);
    expect(Object.keys(found)).toEqual(['sentences', 'heads', 'contexts', 'models']);
    expect(found.sentences).toMatchObject({ text: TIRED, text2: WIDE, model2: null });
    expect(found.heads).toMatchObject({ site: 'd.1', head: 3, head2: 0 });
    expect(found.models).toMatchObject({ model: 'en-fr', model2: 'grammar', text: shown.text });
  });
  it('show two contexts in a model that knows the words, and in one’s own', () => {
    expect(named(studio(ships), shown, []).contexts).toMatchObject({ model: 'en-fr' });
    expect(named(studio(ships), { ...shown, model: 'mine' }, []).contexts.model).toBeUndefined();
  });
  it('need a second model to compare two', () => {
    expect(named(studio(ships.slice(0, 1)), shown, [])).not.toHaveProperty('models');
  });
  it('leave a recording, whose text is what it is', () => {
    const found = named(studio(ships, 'cat'), { ...shown, model: 'recording:cat' }, []);
    expect(found.sentences.model).toBe('grammar');
    expect(found.models.text).toBe(TIRED);
    expect(found.heads.model).toBeUndefined();
  });
  it('are also before and after training, where a run has kept both', () => {
    const run = (names: string[], of = 'mine') =>
      ({
        run: { name: of },
        checkpoints: names.map((name, step) => ({ name, step })),
      }) as unknown as CurvesAnswer;
    const ends = [run(['start', 'model'], 'en-fr'), run(['start', 'model'], 'grammar')];
    expect(named(studio(ships), shown, ends).training).toMatchObject({ model: 'run:grammar@start' });
    expect(named(studio(ships), shown, [run(['model'])])).not.toHaveProperty('training');
    expect(
      named(studio(ships), shown, [run(['model']), run(['step-1', 'step-2', 'model'])]).training,
    ).toMatchObject({
      model: 'run:mine@step-1',
      model2: 'run:mine@model',
    });
  });
});
