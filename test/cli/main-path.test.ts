// From an empty Gantry to a deploy and back, as somebody types it at a terminal, and as a script runs it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { approveLogin, browserThatNotes } from '#test/support/browser-login.ts'
import { openShell } from '#test/support/cli.ts'
import { later } from '#test/support/later.ts'
import { ADMIN_ENVIRONMENT, call, logInAsAdmin, startGantry, temporaryHome } from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'
import { assertShown } from '#test/support/shown.ts'
import { openTypedSession } from '#test/support/typed-session.ts'

/** The whole session as it is on screens of these widths. */
const WIDTHS = [80, 40]
const expectedAt = (columns: number) => new URL(`../fixtures/main-path-${columns}.txt`, import.meta.url)
/** A folder to write the session to, to look at it or to show it elsewhere. */
const KEPT_IN = process.env.GANTRY_SCREENS

async function startEmpty(t: { after(fn: () => Promise<void>): void }) {
  const home = await temporaryHome(t)
  return startGantry(t, { GANTRY_HOME: home, GANTRY_SAMPLE: 'false', ...ADMIN_ENVIRONMENT })
}

/** Somebody's checkout of a repository, and a folder to deploy to. */
async function openCheckout(t: { after(fn: () => Promise<void>): void }) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-path-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  await chmod(folder, 0o755)
  const repository = await makeRepository(t, { files: { 'index.html': 'First version' } })
  const [cwd, root] = [join(folder, 'shop'), join(folder, 'srv')]
  await promisify(execFile)('git', ['clone', '--quiet', repository.address, cwd])
  const live = (application: string) => readFile(join(root, application, 'current/index.html'), 'utf8')
  return { repository, cwd, root, live }
}

for (const columns of WIDTHS)
  test(`typed at a terminal of ${columns} columns: login, init, apply, run, logs, rollback`, async (t) => {
    const { url = '' } = await startEmpty(t)
    const { repository, cwd, root, live } = await openCheckout(t)
    const { env } = await openShell(t)
    const browser = await browserThatNotes(t)
    const options = { cwd, env: { ...env, BROWSER: browser.program }, columns, rows: 30 }
    const { run, type, sees, press, answer, done, screens } = await openTypedSession(t, options)

    type(`gantry login ${url}`)
    await approveLogin(url, await browser.opened())
    await done()

    type('gantry init')
    for (const question of ['Repository', 'Branch to deploy']) {
      await sees(question)
      press('enter')
    }
    await sees('Organization')
    answer('Acme')
    for (const question of ['Project', 'Environment']) {
      await sees(question)
      press('enter')
    }
    await sees('Where to deploy to')
    press('down', 'enter')
    await sees('Folder on the server')
    answer(root)
    await sees('What starts a deploy')
    press('down', 'enter')
    await done()

    type('gantry apply')
    await sees('Apply these changes?')
    press('left', 'enter')
    await done()

    await run('gantry run shop/production/shop --watch')
    assert.equal(await live('shop'), 'First version')
    await repository.commit({ 'index.html': 'Second version' }, { message: 'Sell more' })
    await run('gantry run shop --watch --comment "Sell more"')
    assert.equal(await live('shop'), 'Second version')
    await run('gantry logs 2 --step get-new-release')
    await run('gantry logs #2')
    type('gantry rollback shop --watch; echo "exit code $?"')
    await sees('Roll back?')
    press('left', 'enter')
    await done()
    assert.equal(await live('shop'), 'First version')
    await run('gantry apply')
    await run('gantry actions ls')
    await run('gantry status')
    await run('gantry logs 99')

    const shown = screens.join('\n')
    if (KEPT_IN) await writeFile(join(KEPT_IN, `main-path-${columns}.txt`), `${shown}\n`)
    assertShown(shown, await readFile(expectedAt(columns), 'utf8'))
  })

test('in a pipe: the same, without questions and with an exit code for each end', async (t) => {
  const instance = await startEmpty(t)
  const url = instance.url!
  const { repository, cwd, root, live } = await openCheckout(t)
  const shell = await openShell(t)
  const gantry = (args: string[], input?: string) => shell.gantry(args, { cwd, input })

  assert.equal((await gantry(['run', 'shop', '--wait'])).code, 4, 'nobody is signed in')
  const login = await gantry(['login', url, '--with-token'], await createToken(instance))
  assert.deepEqual(login, { code: 0, stdout: '', stderr: `Signed in to ${url} as admin@example.com.\n` })

  const options = ['--organization', 'Piped', '--server', 'local', '--root', root, '--application', 'site']
  assert.equal((await gantry(['init', ...options])).code, 0)
  const unasked = await gantry(['apply'])
  assert.deepEqual([unasked.code, unasked.stdout], [2, ''])
  assert.match(unasked.stderr, /^gantry: .+\nUse --yes/)
  const applied = await gantry(['apply', '--yes'])
  assert.equal(applied.code, 0)
  assert.match(applied.stderr, /^Applied: 6 created\.\n\nNext: gantry run production\/site\/deploy/)
  assertShown(
    applied.stdout,
    `+ organization Piped
+ project shop
+ environment production
+ server production/local
+ application production/site
+ pipeline production/site/Deploy`,
  )

  const watched = await gantry(['run', 'site', '--watch'])
  assert.deepEqual([watched.code, watched.stderr], [0, ''])
  const [started, ...lines] = watched.stdout.trim().split('\n')
  const id = /^#(\d+)\thttp/.exec(started!)?.[1]
  assertShown(lines.at(-2)!, `✓ #${id} completed in …s`)
  assert.equal(lines.at(-1), `${url}/app/actions/${id}`)
  for (const line of lines.slice(0, -2)) assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z (#\d+|local.*): [A-Z]/)
  assert.match(watched.stdout, /Z local get-new-release: Completed after \d+ m?s\n/)
  assert.equal(await live('site'), 'First version')

  await repository.commit({ 'index.html': 'Second version' }, { message: 'Sell more' })
  const waited = await gantry(['run', 'site', '--wait'])
  assert.deepEqual([waited.code, waited.stdout.split('\n').length], [0, 2], 'its number, and no progress')
  assert.equal(await live('site'), 'Second version')
  const { stdout } = await gantry(['logs', 'site', '--step', 'get-new-release'])
  assertShown(stdout, `Fetching ${repository.address}\nbranch main is at …: Sell more\nNew release: …`)

  const failed = await gantry(['run', 'site', '--ref', 'nowhere', '--wait'])
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /Source not found.*\n.*│ The repository has no branch "nowhere"\.\n/s)
  const mistyped = await gantry(['run', 'sight', '--wait'])
  assert.equal(mistyped.code, 6)
  assert.match(mistyped.stderr, /Did you mean:\n.* {2}shop\/production\/site\/deploy /s)

  const nothing = await gantry(['rollback', 'site', '--watch'])
  assert.equal(nothing.code, 0)
  assert.match(nothing.stdout, /^Nothing to roll back: run #\d+ is not live\. Live now: /)
  assert.equal(await live('site'), 'Second version', 'the deploy that failed has not replaced it')
  const again = await gantry(['run', 'site', '--wait'])
  assert.equal(again.code, 0)
  for (const version of ['Second version', 'First version']) {
    assert.equal((await gantry(['rollback', 'site', '--watch'])).code, 0)
    assert.equal(await live('site'), version)
  }
})

/** As an administrator creates one on the account page. */
async function createToken(gantry: { url?: string }): Promise<string> {
  const token = await logInAsAdmin(gantry)
  const body = { name: 'script' }
  return (await call(gantry, 'POST', '/users/personal-access-tokens', { token, body })).body.token
}
