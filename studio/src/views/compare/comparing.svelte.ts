// What is compared: two looks, a head of each, and how their words belong together.

import { untrack } from 'svelte';
import type { Numbers, SiteInfo, StudioInfo } from '../../contract/types';
import { largestOf } from '../../primitives/svg';
import type { Address } from '../../state/address.svelte';
import { Answer } from '../heads/answer.svelte';
import { Looking } from '../heads/looking.svelte';
import type { LookReader } from '../heads/reader';
import { columnNames, rowNames } from '../heads/tokens';
import { headWeights, type Weights } from '../heads/weights';
import { alignTokens, difference, firstShared, pairName } from './align';
import { differingHeads, rankable, type DifferingHead, type WordPair } from './ranking';
import { headOf, modelsOf, SIDES, siteOf, spaceOf, textsOf, wordOf, type SideNumber } from './sides';

export const MOST = 220; // words of a side

export class Comparing {
  readonly looking = [new Looking(), new Looking()] as const;
  readonly answers: readonly Answer<Numbers>[];
  /** The heads that differ most; null where heads do not stand for each other. */
  readonly differing: Answer<DifferingHead[]>;

  constructor(
    private readonly address: Address,
    private readonly studio: () => StudioInfo,
  ) {
    $effect(() => {
      const [models, texts] = [this.models, this.texts];
      untrack(() => SIDES.forEach((side) => this.looking[side].open(models[side], texts[side])));
    });
    this.answers = SIDES.map(
      (side) =>
        new Answer<Numbers>(() => {
          const [reader, site] = [this.readers[side], this.sites[side]];
          return reader && site && !tooLong(site) ? reader.weights(site.site) : null;
        }),
    );
    this.differing = new Answer(() => {
      const [[left, right], word] = [this.readers, this.words];
      const same = left && right && spaceOf(left.subject.model) === spaceOf(right.subject.model);
      return same && rankable(left.look, right.look) ? ranked(left, right, word) : null;
    });
  }

  readonly models = $derived.by(() => modelsOf(this.address.params, this.studio()));
  readonly texts = $derived.by(() => textsOf(this.address.params, this.studio(), this.models[0]));
  readonly readers = $derived.by(() => [this.looking[0].reader, this.looking[1].reader] as const);

  /** Nobody has said yet which head is to be seen: then it is the one that differs most. */
  readonly #open = $derived.by(() => {
    const { site, site2, head, head2 } = this.address.params;
    return [site, site2, head, head2].every((one) => one === undefined);
  });
  readonly #first = $derived.by(() => (this.#open ? this.differing.value?.[0] : undefined));

  readonly sites = $derived.by(() => {
    const { site, site2 } = this.address.params;
    const [left, right] = this.readers.map((reader) => reader?.look.sites ?? []);
    if (this.#open && this.differing.busy) return [null, null] as const; // which head it is, is not known yet
    const first = this.#first?.site;
    return [
      siteOf(left, site ?? first),
      siteOf(right, site2 ?? site ?? first ?? siteOf(left, undefined)?.site),
    ] as const;
  });
  readonly heads = $derived.by(() => {
    const { head, head2 } = this.address.params;
    const left = headOf(this.sites[0], head, this.#first?.head ?? this.sites[0]?.head_numbers.at(-1) ?? 0);
    return [left, headOf(this.sites[1], head2 ?? head, left)] as const;
  });
  readonly long = $derived.by(() => this.sites.some((site) => site !== null && tooLong(site)));

  readonly weights = $derived.by(() =>
    SIDES.map((side): Weights | null => {
      const [found, site] = [this.answers[side].value, this.sites[side]];
      if (!found || !site || found.data.length !== site.heads * site.queries * site.keys) return null;
      return headWeights(found.data, site, site.head_numbers.indexOf(this.heads[side]));
    }),
  );
  readonly labels = $derived.by(() =>
    SIDES.map((side) => {
      const [reader, site] = [this.readers[side], this.sites[side]];
      return reader && site
        ? { rows: rowNames(reader.look, site), columns: columnNames(reader.look, site) }
        : { rows: [], columns: [] };
    }),
  );

  readonly pairs = $derived.by(() => ({
    rows: alignTokens(this.labels[0].rows, this.labels[1].rows),
    columns: alignTokens(this.labels[0].columns, this.labels[1].columns),
  }));
  readonly pairLabels = $derived.by(() => {
    const [left, right] = this.labels;
    return {
      rows: this.pairs.rows.map((pair) => pairName(pair, left.rows, right.rows)),
      columns: this.pairs.columns.map((pair) => pairName(pair, left.columns, right.columns)),
    };
  });
  /** Right minus left; null while one of them is not there. */
  readonly difference = $derived.by(() => {
    const [left, right] = this.weights;
    return left && right ? difference(left, right, this.pairs.rows, this.pairs.columns) : null;
  });
  /** What has the strongest colour: what is alike is not to look different. */
  readonly strongest = $derived.by(() =>
    this.difference ? Math.max(0.05, largestOf(this.difference, 'difference')) : 1,
  );

  /** The word of each side that is compared layer by layer. */
  readonly words = $derived.by(() => {
    const [left, right] = this.readers;
    const shared = left && right ? firstShared(left.look.source, right.look.source) : null;
    const { word, word2 } = this.address.params;
    return [
      wordOf(word, shared?.left, left?.look.source.length ?? 0),
      wordOf(word2, shared?.right, right?.look.source.length ?? 0),
    ] as const;
  });

  valueAt(side: SideNumber, row: number | null, column: number | null): number | null {
    const of = this.weights[side];
    return of && row !== null && column !== null ? of.data[row * of.columns + column] : null;
  }

  /** Another model or another text on a side; the other side stays as it is. */
  ask(side: SideNumber, model: string, text: string): void {
    const [models, texts] = [this.models.with(side, model), this.texts.with(side, text)];
    this.address.set(
      { model: models[0], text: texts[0], model2: models[1], text2: texts[1], word: null, word2: null },
      { push: true },
    );
  }

  /** Another head on a side; the right side follows the left one until it has a head of its own. */
  setHead(side: SideNumber, site: string, head: number): void {
    const known = this.readers[side]?.site(site)?.head_numbers ?? [];
    const number = known.includes(head) ? head : (known[0] ?? 0);
    if (side === 0) this.address.set({ site, head: number }, { push: true });
    else
      this.address.set(
        { text: this.texts[0], text2: this.texts[1], site2: site, head2: number },
        { push: true },
      );
  }

  /** A head for both sides. */
  showHead(site: string, head: number): void {
    this.address.set(
      { site, head, site2: null, head2: null, text: this.texts[0], text2: this.texts[1] },
      { push: true },
    );
  }

  /** Another word on a side, and on the left also its partner on the right. */
  setWord(side: SideNumber, index: number): void {
    const [left, right] = this.readers;
    if (!left || !right) return;
    const pairs = alignTokens(left.look.source, right.look.source);
    const partner = pairs.find((pair) => (side === 0 ? pair.left : pair.right) === index);
    if (side === 0) this.address.set({ word: index, word2: partner?.right ?? this.words[1] });
    else this.address.set({ word: this.words[0] ?? partner?.left, word2: index });
  }
}

const tooLong = (site: SiteInfo): boolean => Math.max(site.queries, site.keys) > MOST;

async function ranked(left: LookReader, right: LookReader, word: WordPair): Promise<DifferingHead[]> {
  const whole = async (reader: LookReader) => {
    const { look } = reader;
    const weights = look.sites.map(async ({ site }) => [site, await reader.weights(site)] as const);
    return { look, weights: new Map(await Promise.all(weights)) };
  };
  return differingHeads(await whole(left), await whole(right), word);
}
