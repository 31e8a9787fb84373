import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// The API that the pages talk to while they are being worked on: `npx vite web` beside `npm start`.
const API = process.env.GANTRY_URL ?? 'http://127.0.0.1:7070'
const API_PATHS =
  /^\/(session|overview|actions|pipelines|hooks|hook-requests|organizations|projects|environments|users|healthz)(\/|\?|$)/

export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react()],
  // Nothing is inlined: the pages are served under a policy that allows files of this origin only.
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2023',
    // Browsers that know light-dark(), which would be taken apart for older ones.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
  },
  server: { proxy: { [API_PATHS.source]: { target: API, changeOrigin: true } } },
})
