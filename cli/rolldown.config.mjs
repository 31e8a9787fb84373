import { join } from 'node:path'
import { defineConfig } from 'rolldown'

export default defineConfig({
  input: join(import.meta.dirname, 'src/main.ts'),
  platform: 'node',
  resolve: { conditionNames: ['gantry-source', 'import', 'node', 'default'] },
  transform: { target: 'node20' },
  treeshake: { propertyReadSideEffects: false },
  plugins: [lazyBuiltins()],
  output: { format: 'esm', banner: '#!/usr/bin/env node', minify: true, codeSplitting: false },
})

/**
 * Node loads what a file imports before it runs a line of it: 100 ms for http and others, which most commands never
 * use. As modules of the bundle they are loaded where they are first needed.
 */
function lazyBuiltins() {
  const PREFIX = '\0lazy '
  return {
    name: 'lazy-builtins',
    resolveId: (id) => (/^node:/.test(id) && id !== 'node:module' ? `${PREFIX}${id}` : null),
    async load(id) {
      if (!id.startsWith(PREFIX)) return null
      const name = id.slice(PREFIX.length)
      const exported = Object.keys(await import(name)).filter(
        (key) => /^[a-z_$][\w$]*$/i.test(key) && key !== 'default',
      )
      return [
        "import { createRequire } from 'node:module'",
        `const builtin = createRequire(import.meta.url)('${name}')`,
        'export default builtin',
        ...exported.map((key) => `const export_${key} = /* @__PURE__ */ (() => builtin.${key})()`),
        `export { ${exported.map((key) => `export_${key} as ${key}`).join(', ')} }`,
      ].join('\n')
    },
  }
}
