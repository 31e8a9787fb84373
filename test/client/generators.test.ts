// Other generators make something of the document, too: what @hey-api/openapi-ts writes compiles.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openTestApp } from '#test/support/harness.ts'

const run = promisify(execFile)
const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/**
 * The generator needs the compiler API of TypeScript 5, and is installed next to 7, which has none. Here it gets a
 * folder of links where `typescript` is 5.
 */
async function linkPackages(folder: string): Promise<void> {
  const modules = inProject('node_modules')
  await mkdir(join(folder, 'node_modules'))
  for (const name of await readdir(modules)) {
    if (name.startsWith('.')) continue
    const target = name === 'typescript' ? inProject('client/node_modules/typescript') : join(modules, name)
    await symlink(target, join(folder, 'node_modules', name))
  }
}

test('a client that @hey-api/openapi-ts generates has every operation and compiles under strict TypeScript 5', async (t) => {
  const { app } = await openTestApp(t)
  const folder = await mkdtemp(join(tmpdir(), 'gantry-generated-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await linkPackages(folder)
  const document = app.swagger()
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, include: ['generated'] }),
  )
  const inFolder = (script: string, ...args: string[]) =>
    run(process.execPath, [...LINKED, join(folder, 'node_modules', script), ...args], { cwd: folder })

  await inFolder('@hey-api/openapi-ts/dist/run.mjs', '-i', 'openapi.json', '-o', 'generated', '--no-log-file')
  const sdk = await readFile(join(folder, 'generated/sdk.gen.ts'), 'utf8')
  const operations = Object.values(document.paths!).flatMap((methods) => Object.values(methods!))
  assert.ok(operations.length > 100)
  for (const { operationId } of operations as { operationId: string }[])
    assert.match(sdk, new RegExp(`export const ${operationId} = `))
  await inFolder('typescript/bin/tsc', '-p', '.').catch(({ stdout }) => assert.fail(stdout))
})

/** Packages are looked up where their link is, not where it points to. */
const LINKED = ['--preserve-symlinks', '--preserve-symlinks-main']
const STRICT = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  skipLibCheck: true,
}
