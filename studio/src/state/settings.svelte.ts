// What a person prefers, on every page and next time: the theme and the language.

export type Theme = 'system' | 'light' | 'dark';
export type Language = 'en' | 'fr';

const KEY = 'regard.studio';

class Settings {
  #theme = $state<Theme>('system');
  #language = $state<Language>('en');
  #dark = $state(false); // what the system prefers
  #root: HTMLElement | null = null;

  constructor() {
    if (typeof window === 'undefined') return;
    const asked = new URLSearchParams(location.search);
    const stored = read();
    this.#theme = themeOf(asked.get('theme')) ?? themeOf(stored.theme) ?? 'system';
    const preferred = navigator.language?.startsWith('fr') ? 'fr' : 'en';
    this.#language = languageOf(asked.get('lang')) ?? languageOf(stored.language) ?? preferred;
    const media = matchMedia('(prefers-color-scheme: dark)');
    this.#dark = media.matches;
    media.addEventListener('change', () => (this.#dark = media.matches));
  }

  /** The document is ours: it has our theme and our language. A notebook is not. */
  rule(document_: Document): void {
    this.#root = document_.documentElement;
    this.#apply();
  }

  get theme(): Theme {
    return this.#theme;
  }

  get dark(): boolean {
    return this.#theme === 'system' ? this.#dark : this.#theme === 'dark';
  }

  get language(): Language {
    return this.#language;
  }

  toggleTheme(): void {
    const wanted: Theme = this.dark ? 'light' : 'dark';
    this.#theme = (wanted === 'dark') === this.#dark ? 'system' : wanted;
    this.#apply();
    this.#store();
  }

  setLanguage(language: Language): void {
    this.#language = language;
    this.#apply();
    this.#store();
  }

  #apply(): void {
    const root = this.#root;
    if (!root) return;
    if (this.#theme === 'system') delete root.dataset.theme;
    else root.dataset.theme = this.#theme;
    root.lang = this.#language;
  }

  #store(): void {
    try {
      localStorage.setItem(KEY, JSON.stringify({ theme: this.#theme, language: this.#language }));
    } catch {
      // no storage here: it holds until the page is closed
    }
  }
}

function read(): Record<string, unknown> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

const themeOf = (value: unknown): Theme | null => (value === 'light' || value === 'dark' ? value : null);
const languageOf = (value: unknown): Language | null => (value === 'en' || value === 'fr' ? value : null);

export const settings = new Settings();
