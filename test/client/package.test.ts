// The package as people get it: packed by npm, installed elsewhere, compiled with TypeScript 5, run by their own Node.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { signDelivery, signingKey } from '#adapters/http-client/sign.ts'
import { USERS_NODE } from '#test/support/cli.ts'
import { pack } from '#test/support/npm.ts'
import { openRunWorld } from '#test/support/run-world.ts'

const run = promisify(execFile)
const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const TSC = inProject('client/node_modules/typescript/bin/tsc')
const STRICT = [
  ...['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck', 'false'],
  ...['--target', 'es2022', '--module', 'nodenext', '--types', 'node'],
]

const folder = await mkdtemp(join(tmpdir(), 'gantry-client-'))
after(() => rm(folder, { recursive: true, force: true }))
const installed = join(folder, 'node_modules/@gantry/client')
await install()

/** Without a network: the tarball is unpacked, and its dependencies are those of this checkout. */
async function install(): Promise<void> {
  const { tarball } = await pack('client', folder)
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types']) {
    await mkdir(join(folder, 'node_modules', name, '..'), { recursive: true })
    await cp(inProject(`node_modules/${name}`), join(folder, 'node_modules', name), { recursive: true })
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
}

/** The TypeScript examples of a page. One that imports nothing continues the first. */
async function examplesOf(page: string): Promise<string[]> {
  const text = await readFile(inProject(page), 'utf8')
  const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1]!)
  return blocks.map((block) => (block.startsWith('import') ? block : `${blocks[0]}${block}`))
}

test('it holds built JavaScript that needs nothing but web standards and its dependencies', async () => {
  const { dependencies, exports } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  const files = await readdir(join(installed, 'dist'))
  assert.ok(files.includes('index.js') && files.includes('index.d.ts') && files.includes('LICENSE'))
  assert.deepEqual([exports['.'].default, exports['.'].types], ['./dist/index.js', './dist/index.d.ts'])
  const sources = await Promise.all(
    files
      .filter((name) => name.endsWith('.js'))
      .map((name) => readFile(join(installed, 'dist', name), 'utf8')),
  )
  sources.push(await readFile(join(folder, 'node_modules/openapi-fetch/dist/index.mjs'), 'utf8'))
  const imported = sources.flatMap((source) =>
    [...source.matchAll(/\bfrom ['"]([^'"]+)['"]/g)].map(([, from]) => from!),
  )
  assert.ok(imported.length > 5)
  for (const name of imported) assert.ok(name.startsWith('./') || name in dependencies, `it imports ${name}`)
  for (const source of sources)
    assert.doesNotMatch(
      source,
      /\b(require\(|Buffer\b|__dirname\b|setImmediate\b)/,
      'an API that only Node has',
    )
})

suite('examples of the documentation', async () => {
  const world = await openRunWorld({ after })
  const { pipelineId } = await world.makeCustom([{ name: 'greet', command: 'echo hello' }])
  assert.equal(pipelineId, 1, 'the pipeline that the examples run')
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const env = {
    PATH: process.env.PATH,
    GANTRY_URL: world.processes[0]!.url,
    GANTRY_TOKEN: world.owner.token,
    GANTRY_HOOK_SECRET: secret,
  }
  const [, calls, wait, follow, errors, receive] = await examplesOf('client/README.md')
  const [guide] = await examplesOf('docs/guides/client.md')
  const examples = { calls, wait, follow, errors, receive, guide }

  async function output(name: keyof typeof examples | 'deliver', more: Record<string, string> = {}) {
    return (await run(USERS_NODE, [join(folder, `${name}.js`)], { env: { ...env, ...more } })).stdout
  }

  test('compile under strict TypeScript 5', async () => {
    for (const [name, text] of Object.entries(examples)) await writeFile(join(folder, `${name}.ts`), text!)
    const files = Object.keys(examples).map((name) => `${name}.ts`)
    const compiling = run(process.execPath, [TSC, ...STRICT, ...files], { cwd: folder })
    await compiling.catch(({ stdout }) => assert.fail(stdout))
  })

  test('run and do what they say', async () => {
    assert.match(await output('wait'), /\/app\/actions\/1: Completed\n$/)
    assert.match(await output('follow'), /Step 1: in-progress\nhello\nStep 1: completed\n.+\n$/)
    assert.match(await output('guide'), /^Completed/i)
    assert.match(await output('calls'), /^Signed in as .+@example\.com\n$/)
    assert.equal(await output('errors'), 'There is no such pipeline.\n')
    assert.equal(await output('errors', { GANTRY_URL: 'http://127.0.0.1:1' }), 'Try again later.\n')
  })

  test('verify a delivery', async () => {
    const body = '{"event":{"kind":"action.completed"}}'
    const delivery = { id: 'd-1', timestampSeconds: Date.now() / 1_000, body, keys: [signingKey(secret)] }
    const calls = [body, `${body} `].map((sent) => ({
      method: 'POST',
      headers: signDelivery(delivery),
      body: sent,
    }))
    await writeFile(
      join(folder, 'deliver.js'),
      `import { receive } from './receive.js'
       for (const call of JSON.parse(process.env.CALLS))
         console.log((await receive(new Request('http://receiver.test', call))).status)`,
    )
    const printed = await output('deliver', { CALLS: JSON.stringify(calls) })
    assert.equal(printed, `Delivery d-1: ${body}\n204\n403\n`)
  })
})
