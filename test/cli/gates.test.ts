// `gantry waiting`, `approve`, `reject`, `freeze` and `unfreeze`: what they show, ask and change.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { openTerminal } from '#test/support/terminal.ts'

const world = await openRunWorld({ after }, { roles: ['api', 'worker'] })
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
    for (const name of ['One', 'Two'])
      assert.equal((await gantry(['freeze', where, '--reason', 'Because', '--name', name])).code, 0)
    const which = await gantry(['unfreeze', where])
    assert.deepEqual([which.code, which.stdout], [6, ''])
    assert.match(which.stderr, /Add --name:\n {2}Two\n {2}One/)
    const json = await gantry(['unfreeze', where, '--name', 'One', '--json'])
    assert.equal(JSON.parse(json.stdout).name, 'One')
    assert.match((await gantry(['unfreeze', where])).stdout, /^"Two"/)
  })
})
