// Tab in a real bash, and the scripts for other shells.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { createProgram } from '#cli/program.ts'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const run = promisify(execFile)
const api = await openTestApp({ after })
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const tree = await createTestTree(api.db)
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: tree.owner.token })
await writeFile(join(shell.folder, 'gantry'), `#!/bin/sh\nexec "${USERS_NODE}" "${CLI}" "$@"\n`, {
  mode: 0o755,
})

/** What bash offers after these words. */
async function tab(...words: string[]): Promise<string[]> {
  const script = `source <(gantry completion bash)
COMP_WORDS=(gantry "$@"); COMP_CWORD=$#; _gantry; printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = { ...shell.env, PATH: `${shell.folder}:${process.env.PATH}` }
  const { stdout } = await run('bash', ['-c', script, 'bash', ...words], { env })
  return stdout.split('\n').filter(Boolean)
}

test('Tab completes commands, options and the names that the instance knows', async () => {
  assert.deepEqual(await tab('stat'), ['status'])
  assert.deepEqual(await tab('context', ''), ['ls', 'use'])
  assert.ok((await tab('actions', 'ls', '--')).includes('--status'))
  assert.deepEqual(await tab('completion', 'f'), ['fish'])
  const applications = await tab('applications', 'show', '')
  assert.ok(applications.length > 0)
  const [first] = applications
  assert.deepEqual(await tab('applications', 'show', first!.slice(0, -1)), [first])
})

test('Tab completes senders and receivers, and the fields of the one that was chosen', async () => {
  assert.deepEqual(await tab('hook', 'create', '--to', 'github'), ['github-status', 'github-deployment'])
  assert.ok((await tab('hook', 'create', '--from', '')).includes('linear'))
  const deployment = ['hook', 'create', '--to', 'github-deployment']
  assert.deepEqual(await tab(...deployment, '--env'), ['--environment', '--environment-url'])
  assert.deepEqual(await tab(...deployment, '--environment', ''), [])
  const status = await tab('hook', 'create', '--to', 'github_status', '--')
  assert.ok(['--pipeline', '--credential', '--status-context'].every((flag) => status.includes(flag)))
  assert.ok(!(await tab('hook', 'create', '--')).includes('--status-context'))
  assert.ok((await tab(...deployment, '--pipeline', '')).some((path) => path.endsWith('/deploy')))
})

test('without an instance Tab offers commands, and says nothing about names', async () => {
  const { stdout, stderr } = await shell.gantry(['__complete', '--', 'applications', 'show', ''], {
    env: { GANTRY_URL: 'http://127.0.0.1:1' },
  })
  assert.deepEqual([stdout, stderr], ['', ''])
})

test('docs/cli.md is what the commands say (scripts/cli-reference.ts writes it)', async () => {
  const root = join(import.meta.dirname, '../..')
  const args = ['--conditions=gantry-source', 'scripts/cli-reference.ts', '--print']
  const { stdout } = await run(process.execPath, args, { cwd: root })
  assert.equal(await readFile(join(root, 'docs/cli.md'), 'utf8'), stdout)
})

test('singular and plural names are the same command', () => {
  const { commands } = createProgram()
  const called = (name: string) =>
    commands.find((command) => command.name() === name || command.aliases().includes(name))
  for (const [one, other] of [
    ['hook', 'hooks'],
    ['server', 'servers'],
    ['application', 'applications'],
    ['variable', 'variables'],
    ['action', 'runs'],
    ['release', 'releases'],
    ['log', 'logs'],
  ] as const) {
    assert.ok(called(one), one)
    assert.equal(called(one), called(other))
  }
  const names = commands.flatMap((command) => [command.name(), ...command.aliases()])
  assert.equal(new Set(names).size, names.length, 'no name means two commands')
})
