// What a part of a page waits for, and what came of it.

import { latest, sentenceOf } from '../../contract/requests';

/** An answer that is asked for whenever what it depends on changes; only the newest counts. Call it where effects may be made. */
export class Answer<T> {
  value = $state.raw<T | null>(null);
  busy = $state(false);
  problem = $state('');

  constructor(ask: (signal: AbortSignal) => Promise<T> | null) {
    const next = latest();
    $effect(() => {
      const signal = next();
      this.#take(ask(signal), signal);
      return () => void next();
    });
  }

  #take(promise: Promise<T> | null, signal: AbortSignal): void {
    this.problem = '';
    if (!promise) {
      [this.value, this.busy] = [null, false];
      return;
    }
    this.busy = true;
    promise
      .then((value) => {
        if (!signal.aborted) [this.value, this.busy] = [value, false];
      })
      .catch((error: unknown) => {
        const problem = sentenceOf(error);
        if (signal.aborted) return;
        [this.value, this.busy, this.problem] = [null, false, problem ?? ''];
      });
  }
}
