// `gantry rollback`: undoes the newest deploy, asks on a terminal, and changes nothing when there is nothing to undo.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { deployWith } from '#test/support/inventory.ts'
import { liveRelease } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { openTerminal } from '#test/support/terminal.ts'

const world = await openRunWorld({ after }, { roles: ['api', 'worker'] })
const url = world.processes[0]!.url!
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: world.owner.token })
const { gantry } = shell

type Closer = Parameters<typeof openTerminal>[0]

/** An application of this name; a deploy of "bad" is reverted. */
async function openShop(t: Closer, name: string, servers = 1) {
  const repository = await makeRepository(t, { files: { verdict: 'good' } })
  const shop = await world.makeDeployable({
    repository: repository.address,
    servers: Array.from({ length: servers }, () => world.newLocalServer()),
    application: { name },
    pipeline: { name: 'Deploy', on_failure: 'revert' },
    steps: deployWith({ 'activate-new-release': { name: 'verify', command: '[ "$(<verdict)" != bad ]' } }),
  })
  async function deploy(verdict: string) {
    await repository.commit({ verdict }, { message: `Make it ${verdict}` })
    const id = await world.run(shop.pipelineId)
    const { action_data } = await (verdict === 'bad'
      ? world.endedWith('FAILED_REVERTED', id)
      : world.completed(id))
    return { id, release: action_data.release_name as string, hash: action_data.commit.hash.slice(0, 8) }
  }
  const newest = async () =>
    (await world.ask('GET', `/actions?filter[pipeline_id]=${shop.pipelineId}`)).body[0].id as number
  return { ...shop, deploy, newest, live: () => liveRelease(shop.bases[0]!) }
}

const onTerminal = (t: Closer, args: string[], env = {}) =>
  openTerminal(t, [USERS_NODE, CLI, ...args], { env: { ...shell.env, ...env }, columns: 120 })

test('a run that was reverted leaves nothing to undo: the healthy release stays, and that is no failure', async (t) => {
  const { deploy, newest, live } = await openShop(t, 'Reverted')
  await deploy('fine')
  const healthy = await deploy('better')
  const bad = await deploy('bad')
  const message = `Nothing to roll back: run #${bad.id} is not live. Live now: ${healthy.release} (commit ${healthy.hash}, run #${healthy.id}).`

  const plain = await gantry(['rollback', 'reverted', '--wait'])
  assert.deepEqual([plain.code, plain.stdout], [0, `${message}\n`], plain.stderr)
  assert.match(plain.stderr, /^To choose a release: gantry rollback \S+ --to <release>; /)
  const json = await gantry(['rollback', 'reverted', '--json'])
  assert.deepEqual([json.code, json.stderr], [0, ''])
  assert.deepEqual(JSON.parse(json.stdout), { code: 'nothing_to_roll_back', message })
  const terminal = await onTerminal(t, ['rollback', 'reverted'])
  assert.equal(await terminal.ended, 0, terminal.history())
  assert.match(terminal.history(), /^Nothing to roll back: run #/)
  assert.doesNotMatch(terminal.history(), /Roll back\?/)
  assert.deepEqual([await newest(), await live()], [bad.id, healthy.release])
})

test('without a terminal it rolls back without a question, further each time, and says from what to what', async (t) => {
  const { deploy, live } = await openShop(t, 'Piped')
  const releases = [await deploy('one'), await deploy('two'), await deploy('three')]
  const [first, second, third] = releases as [
    (typeof releases)[0],
    (typeof releases)[0],
    (typeof releases)[0],
  ]
  const back = await gantry(['rollback', 'piped', '--wait', '--comment', 'broken'])
  assert.equal(back.code, 0, back.stderr)
  const [, id] = /^#(\d+)\thttp\S+\n$/.exec(back.stdout)!
  const about = ({ id, release, hash }: typeof first, word: string) =>
    `${release}  #${id}  ${hash}  Make it ${word}`
  assert.ok(
    back.stderr.startsWith(
      `From  ${about(third, 'three')}\n→ to  ${about(second, 'two')}\n✓ #${id} completed in `,
    ),
    back.stderr,
  )
  assert.equal((await world.show(Number(id))).trigger_comment, 'broken')
  assert.equal(await live(), second.release)

  const again = await gantry(['rollback', 'piped', '--wait', '--json'])
  assert.equal(JSON.parse(again.stdout).action_data.release_name, first.release)
  assert.ok(again.stderr.startsWith(`From  ${second.release}  #${id}  `), again.stderr)
  assert.equal(await live(), first.release)
  const none = await gantry(['rollback', 'piped'])
  assert.deepEqual([none.code, none.stdout], [6, ''])
  assert.match(none.stderr, /no release before the live one/)
  const named = await gantry(['rollback', 'piped', '--to', third.release, '--wait'])
  assert.equal(named.code, 0, named.stderr)
  assert.equal(await live(), third.release)
})

test('a deploy that failed before it switched leaves nothing to undo, unless a release is named', async (t) => {
  const { pipelineId, deploy, live } = await openShop(t, 'Unswitched')
  const first = await deploy('one')
  const second = await deploy('two')
  const id = await world.run(pipelineId, { source_ref: 'nowhere' })
  await world.endedWith('FAILED_SOURCE', id)
  const back = await gantry(['rollback', 'unswitched'])
  assert.equal(back.code, 0, back.stderr)
  assert.match(
    back.stdout,
    new RegExp(`^Nothing to roll back: run #${id} is not live\\. Live now: ${second.release}`),
  )
  assert.equal(await live(), second.release)
  assert.equal((await gantry(['rollback', 'unswitched', '--to', first.release, '--wait'])).code, 0)
  assert.equal(await live(), first.release)
})

test('servers with different live releases need a name, and the message says which server has which', async (t) => {
  const { pipelineId, serverIds, deploy, live } = await openShop(t, 'Stopped', 2)
  const first = await deploy('one')
  const second = await world.completed(await world.run(pipelineId, { servers: [serverIds[0]] }))
  const { release_name } = second.action_data
  const back = await gantry(['rollback', 'stopped'])
  assert.deepEqual([back.code, back.stdout], [6, ''])
  assert.match(
    back.stderr,
    new RegExp(`different live releases: ${release_name} on .*; ${first.release} on `),
  )
  assert.match(back.stderr, /\nTo choose a release: gantry rollback \S+ --to <release>; /)
  const named = await gantry(['rollback', 'stopped', '--to', first.release, '--wait'])
  assert.equal(named.code, 0, named.stderr)
  assert.match(named.stderr, new RegExp(`^From  whatever is live on each server\n→ to  ${first.release}  `))
  assert.equal(await live(), first.release)
})

test('on a terminal it asks, changes nothing without a yes, and --yes skips the question', async (t) => {
  const { deploy, newest, live } = await openShop(t, 'Asked')
  const first = await deploy('one')
  const second = await deploy('two')
  const third = await deploy('three')
  const refused = await onTerminal(t, ['rollback', 'asked'])
  await refused.sees('Roll back?')
  assert.match(refused.history(), new RegExp(`^From  ${third.release}  .*\n→ to  ${second.release}  `))
  refused.press('enter')
  assert.equal(await refused.ended, 3)
  assert.match(refused.history(), /Nothing was changed\./)
  assert.deepEqual([await newest(), await live()], [third.id, third.release])

  const agreed = await onTerminal(t, ['rollback', 'asked', '--wait'])
  await agreed.sees('Roll back?')
  agreed.press('left', 'enter')
  assert.equal(await agreed.ended, 0, agreed.history())
  assert.equal(await live(), second.release)

  const unasked = await onTerminal(t, ['rollback', 'asked', '--yes', '--wait'])
  assert.equal(await unasked.ended, 0, unasked.history())
  assert.doesNotMatch(unasked.history(), /Roll back\?/)
  assert.equal(await live(), first.release)
})

test('no process is left running', () => world.nothingRuns())
