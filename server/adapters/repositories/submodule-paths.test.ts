import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveParts, concerns } from './submodule-paths.ts'

const submodules = ['apps/lib', 'apps/lib/in', 'vendor'].map((path) => ({ path, hash: path, address: path }))

/** `submodule:folder → prefix`, with a dash for the repository itself. */
const partsOf = (root: string) =>
  archiveParts(
    root,
    submodules.filter(({ path }) => concerns(root, path)),
  ).map(({ submodule, folder, prefix }) => `${submodule?.path ?? '-'}:${folder} → ${prefix}`)

test('a release consists of the root directory and of the submodules in it', () => {
  assert.deepEqual(partsOf(''), [
    '-: → ',
    'apps/lib: → apps/lib',
    'apps/lib/in: → apps/lib/in',
    'vendor: → vendor',
  ])
  assert.deepEqual(partsOf('apps'), ['-:apps → ', 'apps/lib: → lib', 'apps/lib/in: → lib/in'])
  assert.deepEqual(partsOf('app'), ['-:app → '])
  assert.deepEqual(partsOf('other'), ['-:other → '])
})

test('a root directory in a submodule takes its files from there', () => {
  assert.deepEqual(partsOf('vendor'), ['vendor: → '])
  assert.deepEqual(partsOf('vendor/x/y'), ['vendor:x/y → '])
  assert.deepEqual(partsOf('apps/lib'), ['apps/lib: → ', 'apps/lib/in: → in'])
  assert.deepEqual(partsOf('apps/lib/src'), ['apps/lib:src → '])
  assert.deepEqual(partsOf('apps/lib/in/x'), ['apps/lib/in:x → '])
})
