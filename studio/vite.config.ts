import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

const server = process.env.REGARD_STUDIO ?? 'http://127.0.0.1:8000';

export default defineConfig({
  plugins: [svelte()],
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined, // states as in a browser, not as on a server
  base: './', // the page works under any path
  build: {
    outDir: process.env.REGARD_STUDIO_PAGE ?? '../src/regard/server/studio/page',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // nothing inline: the page is served under a strict Content-Security-Policy
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  server: { proxy: { '/api': server } },
  test: { environment: './tests/environment.ts', include: ['tests/**/*.test.ts', 'src/**/*.test.ts'] },
});
