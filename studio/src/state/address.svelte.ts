// All state of the page is in its address: #/heads?model=grammar&head=3. Copy the link, go back, reload: the same page.

export type Params = Record<string, string>;
export type Changes = Record<string, string | number | boolean | null | undefined>;

export interface Address {
  readonly page: string;
  /** What stands behind the page's name; reactive. */
  readonly params: Params;
  /** Change some of them; null removes one. `push` makes it a step of the back button. */
  set(changes: Changes, options?: { push?: boolean }): void;
  /** Another page with params of its own: always a step of the back button. */
  go(page: string, params?: Changes): void;
  /** The same as a link. */
  href(page: string, params?: Changes): string;
  /** True where the frame is hidden: ?embed=1, before the # or behind it. */
  readonly embed: boolean;
}

const WRITE_AFTER = 120; // milliseconds: browsers refuse to rewrite the address at each move of a slider

export function parseHash(hash: string): { page: string; params: Params } {
  const [path, query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const params: Params = {};
  for (const [name, value] of new URLSearchParams(query)) params[name] = value;
  return { page: path.replace(/^\/+|\/+$/g, ''), params };
}

export function formatHash(page: string, params: Params): string {
  const query = new URLSearchParams(params).toString();
  return `#/${page}${query ? `?${query}` : ''}`;
}

export function applyChanges(params: Params, changes: Changes): Params {
  const next = { ...params };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined) delete next[name];
    else next[name] = value === true ? '1' : value === false ? '0' : String(value);
  }
  return next;
}

export class BrowserAddress implements Address {
  #page = $state('');
  #params = $state.raw<Params>({});
  #embedded: boolean;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly view: Window) {
    this.#embedded = new URLSearchParams(view.location.search).get('embed') === '1';
    this.#read();
    view.addEventListener('popstate', () => this.#read());
    view.addEventListener('hashchange', () => this.#read());
    view.addEventListener('pagehide', () => this.#write(false));
  }

  get page(): string {
    return this.#page;
  }

  get params(): Params {
    return this.#params;
  }

  get embed(): boolean {
    return this.#params.embed === '1' || this.#embedded;
  }

  set(changes: Changes, { push = false } = {}): void {
    const next = applyChanges(this.#params, changes);
    if (formatHash(this.#page, next) === formatHash(this.#page, this.#params)) return;
    if (push) this.#write(false);
    this.#params = next;
    if (push) this.#write(true);
    else this.#timer ??= setTimeout(() => this.#write(false), WRITE_AFTER);
  }

  go(page: string, params: Changes = {}): void {
    this.#write(false);
    this.#page = page;
    this.#params = applyChanges(this.#kept(), params);
    this.#write(true);
    this.view.scrollTo(0, 0);
  }

  href(page: string, params: Changes = {}): string {
    return formatHash(page, applyChanges(this.#kept(), params));
  }

  /** The page shown when none is named, without a step of the back button. */
  start(page: string, params: Changes = {}): void {
    this.#page = page;
    this.#params = applyChanges(this.#params, params);
    this.#write(false);
  }

  #kept(): Params {
    return this.#params.embed === '1' ? { embed: '1' } : {};
  }

  #read(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const { page, params } = parseHash(this.view.location.hash);
    this.#page = page;
    this.#params = params;
  }

  #write(push: boolean): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const hash = formatHash(this.#page, this.#params);
    if (!this.#page || hash === this.view.location.hash) return;
    const url = this.view.location.pathname + this.view.location.search + hash;
    if (push) this.view.history.pushState(null, '', url);
    else this.view.history.replaceState(null, '', url);
  }
}

/** The address as one page sees it: what another page, still being fetched, has there is not its own. */
export class PageAddress implements Address {
  #params: Params;

  constructor(
    private readonly whole: Address,
    readonly page: string,
  ) {
    this.#params = whole.params;
  }

  get params(): Params {
    if (this.whole.page === this.page) this.#params = this.whole.params;
    return this.#params;
  }

  get embed(): boolean {
    return this.whole.embed;
  }

  set(changes: Changes, options?: { push?: boolean }): void {
    if (this.whole.page === this.page) this.whole.set(changes, options);
  }

  go(page: string, params?: Changes): void {
    this.whole.go(page, params);
  }

  href(page: string, params?: Changes): string {
    return this.whole.href(page, params);
  }
}
