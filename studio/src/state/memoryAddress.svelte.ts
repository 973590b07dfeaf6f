// An address without a browser.

import { applyChanges, formatHash, type Address, type Changes, type Params } from './address.svelte';

export class MemoryAddress implements Address {
  #params = $state.raw<Params>({});
  #page = $state('');
  readonly embed = false;
  /** What was pushed, to be gone back to. */
  readonly pushed: string[] = [];

  constructor(page: string, params: Params = {}) {
    this.#page = page;
    this.#params = params;
  }

  get page(): string {
    return this.#page;
  }

  get params(): Params {
    return this.#params;
  }

  set(changes: Changes, { push = false } = {}): void {
    if (push) this.pushed.push(formatHash(this.#page, this.#params));
    this.#params = applyChanges(this.#params, changes);
  }

  go(page: string, params: Changes = {}): void {
    this.pushed.push(formatHash(this.#page, this.#params));
    this.#page = page;
    this.#params = applyChanges({}, params);
  }

  href(page: string, params: Changes = {}): string {
    return formatHash(page, applyChanges({}, params));
  }
}
