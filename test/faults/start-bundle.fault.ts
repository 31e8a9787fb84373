import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BUNDLES = 'node_modules/.cache/gantry-server'

/** With dependencies of its own as far as folders go: builds put their results there. */
async function copyCheckout(t: TestContext): Promise<string> {
  const checkout = await mkdtemp(join(tmpdir(), 'gantry-checkout-'))
  t.after(() => rm(checkout, { recursive: true, force: true }))
  for (const name of ['package.json', 'package-lock.json', 'server', 'scripts', 'client', 'cli', 'web'])
    await cp(join(ROOT, name), join(checkout, name), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    })
  await mkdir(join(checkout, 'node_modules'))
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '.cache')
      await symlink(join(ROOT, 'node_modules', name), join(checkout, 'node_modules', name))
  return checkout
}

/** Up to the check of the settings, which are wrong. */
async function start(checkout: string): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, HOME: checkout, PORT: 'many' }
  return new Promise((resolve, reject) =>
    execFile(process.execPath, ['scripts/start.mjs'], { cwd: checkout, env }, (error, stdout, stderr) =>
      error?.code === 1 ? resolve({ stdout, stderr }) : reject(error ?? new Error(stdout)),
    ),
  )
}

async function edit(checkout: string, name: string, from: string, to: string): Promise<void> {
  const text = await readFile(join(checkout, name), 'utf8')
  assert.ok(text.includes(from), `${name} contains ${from}`)
  await writeFile(join(checkout, name), text.replace(from, to))
}

const bundlesOf = async (checkout: string) =>
  (await readdir(join(checkout, BUNDLES))).filter((name) => !name.startsWith('.'))

describe('the bundle that npm start runs', () => {
  test('an edited source is what runs after the next start, and its stack traces name it', async (t) => {
    const checkout = await copyCheckout(t)
    assert.match((await start(checkout)).stderr, /PORT must be/)
    const [first] = await bundlesOf(checkout)
    assert.match((await start(checkout)).stderr, /PORT must be/)
    assert.deepEqual(await bundlesOf(checkout), [first], 'nothing has changed, and nothing is built')

    await edit(checkout, 'server/platform/config.ts', '`must be an integer', '`has to be an integer')
    await edit(
      checkout,
      'server/process.ts',
      'await serve()',
      'console.log(new Error().stack); await serve()',
    )
    const { stdout, stderr } = await start(checkout)
    assert.match(stderr, /PORT has to be/)
    const lines = (await readFile(join(checkout, 'server/process.ts'), 'utf8')).split('\n')
    const line = lines.findIndex((one) => one.includes('new Error().stack')) + 1
    assert.ok(stdout.includes(`${checkout}/server/process.ts:${line}:`), stdout)
    const bundles = await bundlesOf(checkout)
    assert.equal(bundles.length, 1, 'the old one is removed')
    assert.notEqual(bundles[0], first)

    await edit(checkout, 'server/platform/config.ts', '`has to be an integer', '`must be an integer')
    await edit(checkout, 'server/process.ts', 'console.log(new Error().stack); ', '')
    assert.match((await start(checkout)).stderr, /PORT must be/)
    assert.deepEqual(await bundlesOf(checkout), [first], 'the same sources are the same bundle')
  })

  test('without a bundle, the sources run', async (t) => {
    const checkout = await copyCheckout(t)
    await writeFile(join(checkout, 'scripts/server.rolldown.mjs'), 'throw new Error("broken on purpose")')
    const { stderr } = await start(checkout)
    assert.match(stderr, /broken on purpose/)
    assert.match(stderr, /failed to bundle the server/)
    assert.match(stderr, /PORT must be/)
    assert.deepEqual(await bundlesOf(checkout), [])
  })
})
