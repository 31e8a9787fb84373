// `gantry waiting`, `approve`, `reject`, `freeze` and `unfreeze`: what they show, ask and change; and what commands that show a
// run say about the checks that it waits for.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { startRepository } from '#test/support/checks.ts'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { stateOf } from '#test/support/services/github-checks.ts'
import { openTerminal } from '#test/support/terminal.ts'
import { until } from '#test/support/until.ts'

const world = await openRunWorld(
  { after },
  { roles: ['api', 'worker'], environment: { GANTRY_CHECKS_SECONDS: '1' } },
)
const url = world.processes[0]!.url!
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: world.owner.token })
const { gantry } = shell

type Closer = Parameters<typeof openTerminal>[0]

const onTerminal = (t: Closer, args: string[]) =>
  openTerminal(t, [USERS_NODE, CLI, ...args], { env: shell.env, columns: 120 })

const setApproval = async (environmentId: number, approval: object) =>
  assert.equal((await world.ask('PUT', `/environments/${environmentId}`, { approval })).status, 200)

async function openShop(t: Closer, name: string) {
  const repository = await makeRepository(t, { files: { n: '1' } })
  const shop = await world.makeDeployable({
    repository: repository.address,
    application: { name },
    pipeline: { name: 'Deploy' },
  })
  const { body } = await world.ask('GET', '/names?type=environment&per_page=1000')
  const { path } = body.find(({ id }: { id: number }) => id === shop.environmentId)
  return { ...shop, repository, where: path as string }
}

suite('approvals', () => {
  const approval = { not_the_starter: false }

  test('without a terminal need --yes, and say what became of the run', async (t) => {
    const { pipelineId, environmentId } = await openShop(t, 'Piped')
    await setApproval(environmentId, approval)
    const id = await world.run(pipelineId)
    const silent = await gantry(['approve', String(id)])
    assert.deepEqual([silent.code, silent.stdout], [2, ''])
    assert.match(silent.stderr, /Add --yes/)
    const waiting = new RegExp(`\\nWaiting for you\\n#${id}\\t`)
    await until('the run waits for a decision', 20_000, async () =>
      waiting.test((await gantry(['status'])).stdout),
    )
    const done = await gantry(['approve', String(id), '--yes', '--comment', 'Fine'])
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /Nothing was live on these servers before/)
    assert.match(done.stdout, new RegExp(`\n#${id} is approved\\. `))
    await world.completed(id)
    const { body } = await world.ask('GET', `/actions/${id}/gates`)
    assert.equal(body.gates[0].details.decisions[0].comment, 'Fine')
    const late = await gantry(['reject', String(id), '--yes'])
    assert.deepEqual([late.code, late.stdout], [6, ''])
    assert.match(late.stderr, new RegExp(`#${id} does not wait for approval`))
  })

  test('of people who started the run say so, and not that a permission is missing', async (t) => {
    const { pipelineId, environmentId } = await openShop(t, 'Own')
    await setApproval(environmentId, {})
    const id = await world.run(pipelineId)
    const { code, stderr } = await gantry(['approve', String(id), '--yes'])
    assert.equal(code, 4)
    assert.match(stderr, /You started this run/)
    assert.doesNotMatch(stderr, /permission|scope/)
  })

  test('on a terminal show what ships and ask; a run that waits is listed until then', async (t) => {
    const { pipelineId, repository, environmentId } = await openShop(t, 'Shown')
    await world.completed(await world.run(pipelineId))
    await setApproval(environmentId, approval)
    await repository.commit({ n: '2' }, { message: 'Count to two' })
    const id = await world.run(pipelineId)
    const kept = await onTerminal(t, ['approve', `${id}`])
    await kept.sees(`Approve #${id}?`)
    assert.match(kept.history(), /Count to two/)
    kept.press('enter')
    assert.equal(await kept.ended, 3)
    const listed = await gantry(['waiting'])
    assert.ok(listed.stdout.startsWith(`#${id}\t`), listed.stdout)
    const rejected = await onTerminal(t, ['reject', `${id}`])
    await rejected.sees(`Reject #${id}?`)
    rejected.press('left', 'enter')
    assert.equal(await rejected.ended, 0, rejected.history())
    await world.endedWith('FAILED_REJECTED', id)
    assert.equal((await gantry(['waiting'])).stdout, '')
  })
})

suite('an approval of something that has changed since', () => {
  const move = async (shop: { serverIds: number[] }, folder: string) => {
    const path = `/servers/${shop.serverIds[0]}`
    const { root_directory } = (await world.ask('GET', path)).body
    const moved = await world.ask('PUT', path, { root_directory: `${root_directory}/${folder}` })
    assert.equal(moved.status, 200, JSON.stringify(moved.body))
  }

  test('shows what ships now, says what has changed, and asks again', async (t) => {
    const shop = await openShop(t, 'Moved')
    await setApproval(shop.environmentId, { not_the_starter: false })
    const id = await world.run(shop.pipelineId)
    const terminal = await onTerminal(t, ['approve', `${id}`])
    await terminal.sees(`Approve #${id}?`)
    await move(shop, 'one')
    terminal.press('left', 'enter')
    await terminal.sees('Since you looked, the servers have changed. This ships now:')
    const asked = () => terminal.history().split('This ships now:')[1]?.includes(`Approve #${id}?`)
    await until('it asks again', 20_000, async () => asked() === true)
    assert.equal((await world.ask('GET', `/actions/${id}`)).body.status_reason_code, 'WAITING_APPROVAL')
    terminal.press('left', 'enter')
    assert.equal(await terminal.ended, 0, terminal.history())
    await world.completed(id)
  })
})

suite('freezes', () => {
  test('hold what starts until they are ended', async (t) => {
    const { pipelineId, where } = await openShop(t, 'Frozen')
    const bad = await gantry(['freeze', where, '--reason', 'Incident', '--until', 'soon'])
    assert.deepEqual([bad.code, bad.stdout], [2, ''])
    const made = await gantry(['freeze', where, '--reason', 'Incident 7', '--until', '4h'])
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, / is frozen until 2\S+: nothing starts there\.\n$/)
    const id = await world.run(pipelineId)
    const plan = await gantry(['plan', 'frozen'])
    assert.match(plan.stdout, /Gates\s+freeze until 2/)
    const ended = await gantry(['unfreeze', where])
    assert.equal(ended.stdout, '"Stop the line" (Incident 7) is over. Held runs start by themselves.\n')
    await world.completed(id)
    const none = await gantry(['unfreeze', where])
    assert.deepEqual([none.code, none.stdout], [6, ''])
    assert.match(none.stderr, /itself is not frozen/)
  })

  test('of the same place are told apart by their names', async (t) => {
    const { where } = await openShop(t, 'Twice')
    for (const name of ['One', 'Two', 'Three'])
      assert.equal((await gantry(['freeze', where, '--reason', 'Because', '--name', name])).code, 0)
    const which = await gantry(['unfreeze', where])
    assert.deepEqual([which.code, which.stdout], [6, ''])
    assert.match(which.stderr, /Add --name:\n {2}Three\n {2}Two\n {2}One/)
    const ended = await gantry(['unfreeze', where, '--name', 'Three'])
    assert.equal(
      ended.stdout,
      '"Three" (Because) is over. Still frozen by "Two" (Because), "One" (Because).\n',
    )
    const json = await gantry(['unfreeze', where, '--name', 'One', '--json'])
    assert.equal(JSON.parse(json.stdout).name, 'One')
    assert.match((await gantry(['unfreeze', where])).stdout, /^"Two"/)
  })
})

suite('a run that waits for checks', () => {
  test('says which one while it is watched, on its page, and when it ends', async (t) => {
    const { host, tip, url: at } = await startRepository(t, 'github')
    const suiteOf = host.checks.addSuite({ repository: 'acme/shop', sha: tip, ...stateOf('in_progress') })
    const link = 'https://ci.example.com/1'
    const build = host.checks.addRun(suiteOf, 'build \u001b[2J', 'in_progress', link)
    const token = { name: 'Host', provider_code: 'github', base_url: at, token: 'token-of-the-host' }
    const credential = await world.ask('POST', `/organizations/${world.organizationId}/credentials`, token)
    assert.equal(credential.status, 201, JSON.stringify(credential.body))
    const { pipelineId } = await world.makeDeployable({
      repository: `${at}/acme/shop.git`,
      application: { name: 'Checked', credential_id: credential.body.id },
      pipeline: { name: 'Deploy' },
    })
    const set = await world.ask('PUT', `/pipelines/${pipelineId}`, { wait_for_checks: {} })
    assert.equal(set.status, 200, JSON.stringify(set.body))

    const watching = shell.start(['run', 'checked', '--watch'])
    const line = /^#(\d+): Waiting for build \[2J \(in_progress\)\. https:\/\/ci\.example\.com\/1$/m
    await until('the check is named', 20_000, () => line.test(watching.output.stdout))
    const id = line.exec(watching.output.stdout)![1]!
    const terminal = await onTerminal(t, ['watch', id])
    await terminal.sees('Waiting for build [2J (in_progress). https://ci.example.com/1')
    const shown = await gantry(['actions', 'show', id])
    assert.match(shown.stdout, /^Checks +Waiting for build \[2J \(in_progress\)\. https:\/\/ci/m)
    Object.assign(build, stateOf('failure'))
    Object.assign(suiteOf, stateOf('failure'))
    const { code, stdout } = await watching.ended
    assert.equal(code, 1)
    const end = stdout.slice(stdout.indexOf('✗'))
    assert.equal(end.split('\n')[0], `✗ #${id} never started: the checks of its commit failed`)
    assert.equal(end.split('\n')[1], `build [2J reported failure. ${link}`)
    assert.doesNotMatch(stdout, /\u001b|Failed on/)
    assert.equal(await terminal.ended, 1)
    await terminal.sees('build [2J reported failure.')
    assert.equal((await gantry(['watch', id])).code, 1)
  })
})
