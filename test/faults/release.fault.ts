// A release as people get it: packed, installed elsewhere by npm, and started with one command.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from '#platform/version.ts'
import { npm, pack } from '#test/support/npm.ts'
import { startGantry, temporaryHome } from '#test/support/process.ts'

const run = promisify(execFile)

describe('a release', () => {
  let folder: string
  let files: string[]
  let program: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-release-'))
    const packed = await pack(null, folder)
    files = packed.files
    const prefix = join(folder, 'prefix')
    await npm(['install', '--global', `--prefix=${prefix}`, '--prefer-offline', '--no-audit', packed.tarball])
    program = join(prefix, 'bin', 'gantry-server')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('holds built JavaScript, the pages and the command line, and neither sources nor tests', () => {
    for (const file of [
      'dist/server/main.js',
      'dist/web/dist/index.html',
      'dist/cli/dist/gantry.mjs',
      'dist/server/adapters/repositories/git.config',
      'LICENSE',
    ])
      assert.ok(files.includes(file), file)
    assert.deepEqual(
      files.filter((file) => /\.tsx?$|\.test\.|fixtures/.test(file)),
      [],
    )
  })

  it('starts with one command, serves the pages and the command line, and stops on SIGTERM', async (t) => {
    const home = await temporaryHome(t)
    const gantry = await startGantry(t, { GANTRY_HOME: home }, undefined, [program])
    assert.match(gantry.output.join('\n'), /first start: log in as admin@example\.com/)
    const page = await fetch(`${gantry.url}/app`)
    assert.match(await page.text(), /<title>/)
    const service = (await (await fetch(`${gantry.url}/`)).json()) as { version: string }
    assert.equal(service.version, VERSION)
    assert.equal((await fetch(`${gantry.url}/readyz`)).status, 200)
    assert.equal((await fetch(`${gantry.url}/cli/gantry.mjs`)).status, 200)
    assert.equal((await fetch(`${gantry.url}/docs`)).status, 200)
    assert.equal(await gantry.stop(), 0)
    const again = await startGantry(t, { GANTRY_HOME: home }, undefined, [program])
    assert.doesNotMatch(again.output.join('\n'), /first start/)
    assert.equal(await again.stop(), 0)
    const backup = join(folder, 'saved.gantry')
    const { stdout } = await run(program, ['backup', backup], { env: { ...process.env, GANTRY_HOME: home } })
    assert.match(stdout, /saved\.gantry/)
  })

  it('has a systemd unit that systemd accepts', async () => {
    const unit = await readFile(new URL('../../deploy/gantry.service', import.meta.url), 'utf8')
    const copy = join(folder, 'gantry.service')
    // The program has to exist; the account does not.
    await writeFile(copy, unit.replace('/usr/local/bin/gantry-server', program))
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--recursive-errors=no', copy])
    assert.equal(stdout + stderr, '')
  })

  it('says its version, what it can do, and what it does not know', async () => {
    assert.equal((await run(program, ['--version'])).stdout, `gantry-server ${VERSION}\n`)
    assert.match((await run(program, ['--help'])).stdout, /^Usage: gantry-server \[command\]/)
    await assert.rejects(run(program, ['strat']), { code: 2, stderr: /unknown command strat/ })
  })
})
