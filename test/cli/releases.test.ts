// `gantry live`, `gantry releases`, and the releases that Tab offers to `gantry rollback --to`.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { recordSizes } from '#engine/runner/releases-on-disk.ts'
import { lockLive, storeUnknown } from '#model/live/live-record.ts'
import { openShell } from '#test/support/cli.ts'
import { openTestApp } from '#test/support/harness.ts'
import { recordLive } from '#test/support/live.ts'
import { commitOf } from '#test/support/runs.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
const tree = await createTestTree(db)
const { gantry } = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: tree.owner.token })
const [one, two] = tree.serverIds as [number, number]
const releaseOf = (digit: string) => `2026010100000${digit}-${digit.repeat(8)}`

async function deploy(digit: string, serverIds: number[]): Promise<number> {
  const commit = commitOf(digit)
  const releaseName = releaseOf(digit)
  const stored = {
    release_name: releaseName,
    commit: JSON.stringify({ ...commit, message: `Change ${digit}\n\nMore` }),
  }
  const actionId = await createAction(db, { ...tree, serverIds }, stored, { release_name: releaseName })
  for (const serverId of serverIds) {
    const live = {
      applicationId: tree.applicationId,
      serverId,
      actionId,
      releaseName,
      commitSha: commit.hash,
    }
    await db.transaction().execute((trx) => recordLive(trx, live))
  }
  return actionId
}

const application = `#${tree.applicationId}`
const first = await deploy('1', [one, two])
const second = await deploy('2', [one])
await recordSizes(
  db,
  { applicationId: tree.applicationId, serverId: one },
  new Map([[releaseOf('2'), 1_572_864]]),
)

const rowsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))

suite('releases', () => {
  test('what each server serves', async () => {
    const { code, stdout } = await gantry(['live', application])
    assert.equal(code, 0)
    const rows = rowsOf(stdout).map(([, release, action, , commit]) => [release, action, commit])
    assert.deepEqual(rows, [
      [releaseOf('2'), `#${second}`, '2222222 Change 2'],
      [releaseOf('1'), `#${first}`, '1111111 Change 1'],
    ])
    const { stdout: json } = await gantry(['live', application, '--json'])
    assert.deepEqual(
      JSON.parse(json).map((live: { action: { id: number } }) => live.action.id),
      [second, first],
    )
  })

  test('whether a commit is live everywhere decides the exit code', async () => {
    const partly = await gantry(['live', application, '--contains', '2'.repeat(7)])
    assert.equal(partly.code, 1)
    const column = rowsOf(partly.stdout).map(([, contains]) => contains)
    assert.deepEqual(column, ['yes', 'unknown: the instance has no mirror of the repository'])
    assert.match(partly.stderr, /2222222 is live on 1 of 2 servers\./)
    const wrong = await gantry(['live', application, '--contains', 'main'])
    assert.equal(wrong.code, 2)
  })

  test('what is on the servers, and what Tab offers to roll back to', async () => {
    const { code, stdout } = await gantry(['releases', application])
    assert.equal(code, 0)
    const rows = rowsOf(stdout).map(([, release, state, size]) => [release, state, size])
    assert.deepEqual(rows, [
      [releaseOf('2'), 'live', '1.5 MiB'],
      [releaseOf('1'), 'was live', ''],
      [releaseOf('1'), 'live', ''],
    ])
    const words = ['__complete', '--', 'rollback', application, '--to', '2026']
    // The servers differ: each may return to what the other one serves.
    assert.equal((await gantry(words)).stdout, `${releaseOf('2')}\n${releaseOf('1')}\n`)
    await deploy('2', [two])
    assert.equal((await gantry(words)).stdout, `${releaseOf('1')}\n`)
    await deploy('1', [two])
  })

  test('a server where it is unknown, in `live` and in `status`', async () => {
    const { applicationId } = tree
    const candidate = { actionId: second, releaseName: releaseOf('2'), commitSha: null }
    await db.transaction().execute(async (trx) => {
      await lockLive(trx, applicationId)
      const reason = 'The run ended during the switch.'
      await storeUnknown(trx, { applicationId, serverId: two }, { reason, targetId: null, candidate })
    })
    const live = await gantry(['live', application])
    assert.equal(live.code, 0)
    assert.equal(rowsOf(live.stdout)[1]![1], `unknown: ${releaseOf('1')} or ${releaseOf('2')}`)
    assert.match(live.stderr, /The run ended during the switch\. Gantry keeps asking it\./)
    const contains = await gantry(['live', application, '--contains', '2'.repeat(7)])
    assert.equal(rowsOf(contains.stdout)[1]![1], 'unknown live release')
    const status = await gantry(['status'])
    assert.match(status.stdout, /Live release unknown\n.*The run ended during the switch\./)
  })
})
