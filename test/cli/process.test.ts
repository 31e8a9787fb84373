// What holds for every command: closed pipes, Ctrl-C, bad environments. No service is needed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openShell } from '#test/support/cli.ts'
import { later } from '#test/support/later.ts'

const STACK = /\n\s+at |node:internal/

/** Accepts connections and never answers. */
const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
await once(silent, 'listening')
after(() => silent.close())
const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`

test('a closed pipe ends help and version quietly, too', async (t) => {
  const shell = await openShell(t)
  for (const args of [['--help'], ['version'], ['help', 'run'], ['nosuch']]) {
    const { child, ended } = shell.start(args)
    child.stdout.destroy()
    const { code, stderr } = await ended
    assert.doesNotMatch(stderr, STACK)
    assert.equal(code, args[0] === 'nosuch' ? 2 : 0, args.join(' '))
  }
})

test('Ctrl-C ends a command whose request never gets a response', async (t) => {
  const shell = await openShell(t, { GANTRY_URL: silentUrl, GANTRY_TOKEN: 'x' })
  for (const args of [['whoami'], ['actions', 'ls'], ['login', silentUrl]]) {
    const connected = once(silent, 'connection')
    const { child, ended } = shell.start(args)
    const [socket] = await connected
    child.kill('SIGINT')
    const { code, stderr } = await ended
    socket.destroy()
    assert.deepEqual([code, stderr], [130, ''], args.join(' '))
  }
})

test('Ctrl-C ends a command that reads stdin', async (t) => {
  const instance = createHttpServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"Gantry"}'),
  ).listen(0, '127.0.0.1')
  later(t, async () => {
    instance.close()
    instance.closeAllConnections()
  })
  await once(instance, 'listening')
  const shell = await openShell(t)
  const asked = once(instance, 'request')
  const address = `http://127.0.0.1:${(instance.address() as AddressInfo).port}`
  const { child, ended } = shell.start(['login', address, '--with-token'], { keepsInput: true })
  await asked
  child.kill('SIGINT')
  const { code, stderr } = await ended
  assert.deepEqual([code, stderr], [130, ''])
})

test('a token that cannot be one is refused without being shown', async (t) => {
  const shell = await openShell(t, { GANTRY_URL: silentUrl })
  for (const token of ['gty_pat_s3cret\ngty_pat_s3cret', '“gty_pat_s3cret”', 'gty_pat_s3cret\u0001x']) {
    const { code, stderr } = await shell.gantry(['whoami'], { env: { GANTRY_TOKEN: token } })
    assert.equal(code, 4)
    assert.match(stderr, /^gantry: GANTRY_TOKEN is not a token\./)
    assert.doesNotMatch(stderr, /s3cret/)
  }
})

test('an address with a password is refused without being shown', async (t) => {
  const shell = await openShell(t, { GANTRY_URL: 'https://me:s3cret@gantry.example.com' })
  const { code, stderr } = await shell.gantry(['whoami'])
  assert.equal(code, 2)
  assert.doesNotMatch(stderr, /s3cret/)
})

test('a context is only ever one that was signed in to', async (t) => {
  const shell = await openShell(t)
  const folder = shell.env.GANTRY_CONFIG_DIR
  await mkdir(folder, { recursive: true })
  const known = { url: silentUrl, token: 'x', user: 'a@example.com', expires_at: null }
  const file = join(folder, 'config.json')
  await writeFile(file, JSON.stringify({ current: 'here', contexts: { here: known } }))
  for (const name of ['constructor', '__proto__', 'toString']) {
    const { code, stderr } = await shell.gantry(['context', 'use', name])
    assert.equal(code, 2, name)
    assert.match(stderr, /There is no context/)
    assert.equal((await shell.gantry(['--context', name, 'whoami'])).code, 2)
  }
  assert.equal(JSON.parse(await readFile(file, 'utf8')).current, 'here')
})

test('without a folder for the configuration there is nothing to read, which is no error', async (t) => {
  const shell = await openShell(t, { GANTRY_CONFIG_DIR: '/dev/null/gantry' })
  const { code, stderr } = await shell.gantry(['whoami'])
  assert.equal(code, 4)
  assert.match(stderr, /^gantry: You are not signed in\./)
})

test('a damaged configuration is named, whatever is wrong with it', async (t) => {
  const shell = await openShell(t)
  const folder = shell.env.GANTRY_CONFIG_DIR
  await mkdir(folder, { recursive: true })
  const context = { url: silentUrl, token: 'x', user: 'a@example.com', expires_at: null }
  for (const text of [
    '',
    'null',
    '{"contexts": [',
    JSON.stringify({ current: 'a', contexts: { a: { ...context, url: 'no address' } } }),
    JSON.stringify({ current: 'a', contexts: { a: { ...context, user: 5 } } }),
    JSON.stringify({ current: 'a', contexts: { a: null } }),
  ]) {
    await writeFile(join(folder, 'config.json'), text)
    const { code, stderr } = await shell.gantry(['context', 'ls'])
    assert.equal(code, 2, text)
    assert.match(stderr, /config\.json is damaged\.\nRemove it, and sign in again/)
  }
})

test('wrong arguments are a usage error that names the help', async (t) => {
  const shell = await openShell(t, { GANTRY_URL: silentUrl, GANTRY_TOKEN: 'x' })
  for (const [args, message] of [
    [['nosuch'], /^gantry: unknown command 'nosuch'\n`gantry --help` shows/],
    [['actions', 'show'], /^gantry: missing required argument 'action'\n`gantry actions show --help` shows/],
    [['run', 'web', '--watch', '--wait'], /^gantry: option '--watch' cannot be used with option '--wait'\n/],
    [['tokens', 'create', 'ci', '--days', '99999999'], /^gantry: --days takes a whole number up to 3650/],
    [['api', 'GET', '/', '--input', '-'], /^gantry: GET takes no body/],
    [['api', 'GET', '/', '-H', 'a b: s3cret'], /^gantry: "a b" is not a header/],
  ] as const) {
    const { code, stderr } = await shell.gantry([...args])
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /s3cret/)
  }
})
