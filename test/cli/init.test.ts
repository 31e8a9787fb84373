// `gantry init` in a folder of somebody's source, without a terminal; what it writes applies.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson } from '#test/support/world.ts'

const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const administrator = await createPerson(api.db, { admin: true })
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: administrator.token })

/** A checkout whose remote is `address`. */
async function openCheckout(name: string, address: string, files: Record<string, string> = {}) {
  const cwd = join(shell.folder, name)
  await mkdir(cwd)
  const git = (...args: string[]) => promisify(execFile)('git', args, { cwd })
  await git('init', '--quiet', '--initial-branch=trunk')
  await git('remote', 'add', 'origin', address)
  for (const [file, text] of Object.entries(files)) await writeFile(join(cwd, file), text)
  const read = async () => {
    const text = await readFile(join(cwd, 'gantry.yaml'), 'utf8')
    return { text, document: parse(text) }
  }
  return { cwd, read }
}

test('detects what it can, and writes a file that applies', async () => {
  const { cwd, read } = await openCheckout('shop', 'https://someone:ghp_secret@github.com/acme/shop.git', {
    'package.json': '{"scripts":{"build":"tsc"}}',
    'package-lock.json': '{}',
  })
  const args = ['init', '--yes', '--private', '--server', 'deploy@web-1.example.com:2222']
  const { code, stderr } = await shell.gantry(args, { cwd })
  assert.equal(code, 0, stderr)
  const { text, document } = await read()
  assert.ok(text.startsWith(`# yaml-language-server: $schema=${url}/gantry.schema.json\n`))
  assert.doesNotMatch(text, /ghp_secret|someone/, 'the token of the remote stays where it is')
  assert.deepEqual([document.organization, document.project], ['acme', { name: 'shop' }])
  const { servers, applications } = document.environments.production
  assert.deepEqual(servers['web-1.example.com'].port, 2222)
  const { pipelines, ...application } = applications.shop
  assert.deepEqual(application, {
    repository: 'https://github.com/acme/shop.git',
    credential: 'GitHub',
    default_branch: 'trunk',
    programming_language: 'nodejs',
    install_dependencies_command: 'npm ci',
    build_command: 'npm run build',
    servers: ['web-1.example.com'],
  })
  const { GitHub } = pipelines.Deploy.hooks.incoming
  assert.deepEqual(GitHub.trigger_when.conditions, [{ path: 'ref', accepted_values: ['refs/heads/trunk'] }])

  const applied = await shell.gantry(['apply', '--yes'], { cwd, env: { GITHUB_TOKEN: 'ghp_other' } })
  assert.equal(applied.code, 0, applied.stderr)
  assert.match(applied.stdout, /New SSH key Servers\nssh-ed25519 /)
  assert.match(applied.stderr, /At GitHub:\n +1\. Open the repository.*\n +2\. Payload URL: http/)
})

test('an SSH remote gets a deploy key, and a file is never overwritten unasked', async () => {
  const { cwd, read } = await openCheckout('api', 'git@gitlab.com:acme/api.git')
  const args = ['init', '--yes', '--server', 'local', '--environment', 'staging', '--sender', 'none']
  assert.equal((await shell.gantry(args, { cwd })).code, 0)
  const { text, document } = await read()
  assert.deepEqual(document.credentials, { 'Deploy key': { provider_code: 'ssh', generate: true } })
  const { type, applications } = document.environments.staging
  assert.deepEqual([type, applications.api.repository], ['staging', 'git@gitlab.com:acme/api.git'])
  const again = await shell.gantry([...args, '--branch', 'other'], { cwd })
  assert.deepEqual([again.code, again.stderr.includes('--force')], [2, true])
  assert.equal((await read()).text, text)
  const applied = await shell.gantry(['apply', '--yes'], { cwd })
  assert.equal(applied.code, 0, applied.stderr)
})

test('what it cannot know, it asks for by the name of an option', async () => {
  const cwd = join(shell.folder, 'empty')
  await mkdir(cwd)
  const ask = async (...args: string[]) => (await shell.gantry(['init', '--yes', ...args], { cwd })).stderr
  assert.match(await ask(), /--repository/)
  const repository = ['--repository', 'https://git.example.com/acme/x.git']
  assert.match(await ask(...repository), /--server/)
  assert.match(await ask(...repository, '--server', 'nowhere'), /user@host/)
})
