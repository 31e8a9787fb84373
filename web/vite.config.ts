import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

// The API behind the development server: `npx vite web` next to `npm start`.
const API = process.env.GANTRY_URL ?? 'http://127.0.0.1:7070'
const API_PATHS =
  /^\/(session|overview|names|applications|servers|credentials|catalog|repositories|permissions|actions|pipelines|hooks|hook-requests|organizations|projects|environments|users|healthz)(\/|\?|$)/

/** Mantine declares 38 variables for each of its colors; these are used nowhere. */
const UNUSED_COLORS = ['cyan', 'grape', 'green', 'indigo', 'lime', 'pink', 'violet']

const dropUnusedColors: Plugin = {
  name: 'drop-unused-colors',
  enforce: 'pre',
  transform: (code, id) =>
    id.includes('default-css-variables.css')
      ? code.replace(new RegExp(`--mantine-color-(${UNUSED_COLORS.join('|')})-[^;}]*;`, 'g'), '')
      : undefined,
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react(), dropUnusedColors],
  // Nothing is inlined: the content security policy allows only files of this origin.
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2023',
    // Browsers that support light-dark(), which would be compiled away for older ones.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
    // The first page lists the files of all others, to load them together: long names would be most of that list.
    rolldownOptions: { output: { chunkFileNames: 'assets/c-[hash].js' } },
    // These browsers load modules ahead by themselves.
    modulePreload: { polyfill: false },
  },
  server: { proxy: { [API_PATHS.source]: { target: API, changeOrigin: true } } },
})
