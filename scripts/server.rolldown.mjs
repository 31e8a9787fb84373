import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig } from 'rolldown'

const root = join(import.meta.dirname, '..')
const text = JSON.stringify

export default defineConfig({
  cwd: root,
  input: { process: join(root, 'server', 'process.ts') },
  platform: 'node',
  tsconfig: false,
  // Compiled code, which is optional and not installed.
  external: ['pg-native', /\.node$/],
  plugins: [
    {
      // A map of all of them would take a second to read.
      name: 'no source maps of dependencies',
      transform: {
        filter: { id: /[\\/]node_modules[\\/]/ },
        handler: (code) => ({ code, map: { version: 3, sources: [], names: [], mappings: '' } }),
      },
    },
    {
      name: 'where sources and dependencies are',
      transform: {
        filter: { code: /\bimport\.meta\.url\b|\b__(dir|file)name\b/ },
        handler(code, id) {
          const located = code
            .replaceAll(/\bimport\.meta\.url\b/g, text(pathToFileURL(id).href))
            .replaceAll(/\b__dirname\b/g, text(dirname(id)))
            .replaceAll(/\b__filename\b/g, text(id))
          // No line moves, so the source map stays as it is.
          return { code: located, map: null }
        },
      },
    },
  ],
  output: {
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
  },
})
