// Fills dist/ with what a release consists of, as `npm pack` needs it: the server as JavaScript, because Node strips no
// types below node_modules, the pages, the guides, and the command line. Run by `prepack`.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { filesIn, root } from './built.mjs'

const dist = join(root, 'dist')
/** Beside the code, for tests only. */
const TESTS = /(\.test\.ts|\/fixtures\.ts|\/test-[^/]+\.ts)$/
/** `from './a.ts'`, `import('#b.ts')` */
const IMPORTS = /(\bfrom\s*|\bimport\s*\(?\s*)'([.#][^']*)\.ts'/g

/** Modules of the client that the server imports. */
const shared = new Set()

rmSync(dist, { recursive: true, force: true })
for (const script of ['build-web.mjs', 'build-cli.mjs', 'build-guides.mjs']) await import(`./${script}`)
for (const path of filesIn(join(root, 'server'))) if (!TESTS.test(path)) copySource(path)
for (const path of shared) copySource(path)
copy('web/dist')
copy('cli/dist/gantry.mjs')
copy('docs/dist')
copy('scripts/gantry-server.mjs')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const manifest = {
  version,
  private: true,
  type: 'module',
  imports: { '#client/*': './client/src/*', '#*': './server/*' },
}
write('package.json', `${JSON.stringify(manifest, null, 2)}\n`)

function copySource(path) {
  const name = relative(root, path)
  if (!path.endsWith('.ts')) return copy(name)
  const code = stripTypeScriptTypes(readFileSync(path, 'utf8'))
  for (const [, module] of code.matchAll(/'#client\/([^']+)'/g))
    shared.add(join(root, 'client', 'src', module))
  write(name.replace(/\.ts$/, '.js'), code.replaceAll(IMPORTS, "$1'$2.js'"))
}

function copy(name) {
  cpSync(join(root, name), join(dist, name), { recursive: true, filter: (path) => !path.endsWith('/.built') })
}

function write(name, text) {
  mkdirSync(dirname(join(dist, name)), { recursive: true })
  writeFileSync(join(dist, name), text)
}
