// The heads and maps alone, as one script without anything beside it: for files (`regard look --html`) and notebooks.

import { svelte, vitePreprocess } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

/**
 * Styles among strangers: a rem would be the notebook's own, so it becomes pixels; and what a screen is to a page, the
 * width of the output is to a widget.
 */
function amongStrangers(css: string): string {
  return css
    .replace(/(\d*\.?\d+)rem\b/g, (_, size: string) => `${Number(size) * 16}px`)
    .replace(/@media \(max-width:/g, '@container (max-width:');
}

const theme: Plugin = {
  name: 'theme-among-strangers',
  enforce: 'pre',
  transform: (code, id) => (id.endsWith('theme.css?inline') ? amongStrangers(code) : undefined),
};

export default defineConfig({
  plugins: [
    theme,
    svelte({
      preprocess: [vitePreprocess(), { style: ({ content }) => ({ code: amongStrangers(content) }) }],
      compilerOptions: { css: 'injected' },
    }),
  ],
  build: {
    outDir: process.env.REGARD_WIDGET ?? '../src/regard/widget/browser',
    emptyOutDir: false,
    target: 'es2022',
    lib: { entry: 'src/widget/main.ts', formats: ['iife'], name: 'regardLook', fileName: () => 'look.js' },
    copyPublicDir: false,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
