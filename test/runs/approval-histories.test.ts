// Approvals cover what ships: generated histories in which something else goes live between the approval and the start.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { ASKED, openApprovals, QUEUED } from '#test/support/approvals.ts'
import { createAction, type TestTree } from '#test/support/world.ts'

const COMMITS = 12
const HISTORIES = 60

const world = await openApprovals({ after })
const { db, openTree, setPipeline, start, approve, cancel, pass, prepare, stateOf, goLive } = world

/** The parents of each commit, by number: one or two earlier ones; the first has none. */
const parents = fc
  .tuple(
    ...Array.from({ length: COMMITS - 1 }, (_, earlier) =>
      fc.uniqueArray(fc.nat(earlier), { minLength: 1, maxLength: 2 }),
    ),
  )
  .map((later) => [[], ...later])
const commit = fc.nat(COMMITS - 1)
/** Null: nothing is live. */
const live = fc.option(commit, { freq: 6 })
/** What is live on each of two servers when the run is approved, and when it would start. */
const history = fc.record({
  to: commit,
  shown: fc.tuple(live, live),
  now: fc.tuple(live, live),
  /** Most often little has changed. */
  changes: fc.tuple(fc.boolean(), fc.boolean()),
})
type History = { to: number; shown: (number | null)[]; now: (number | null)[] }

const [graph] = fc.sample(parents, { seed: 36, numRuns: 1 }) as [number[][]]
const histories: History[] = fc
  .sample(history, { seed: 36, numRuns: HISTORIES })
  .map(({ changes, shown, now, to }) => ({
    to,
    shown,
    // Nothing live becomes something, and never the other way around: releases stay.
    now: now.map((one, server) => (changes[server] ? (one ?? shown[server]!) : shown[server]!)),
  }))

function ancestorsOf(one: number | null): Set<number> {
  if (one === null) return new Set()
  return new Set([one, ...graph[one]!.flatMap((parent) => [...ancestorsOf(parent)])])
}

/** As the contract says it, without git: a commit that ships or is undone now, and was not shown. */
function hasMore({ to, shown, now }: History): boolean {
  const target = ancestorsOf(to)
  return shown.some((before, server) => {
    const [seen, serving] = [ancestorsOf(before), ancestorsOf(now[server]!)]
    const ships = target.difference(serving).difference(target.difference(seen))
    const undone = serving.difference(target).difference(seen.difference(target))
    return ships.size + undone.size > 0
  })
}

suite('a run waits again exactly when it would ship or undo a commit that was not shown', () => {
  let at: TestTree
  let hashes: string[]
  let admin: Awaited<ReturnType<typeof openTree>>['admin']

  before(async () => {
    const open = await openTree()
    ;({ at, admin } = open)
    const { git, branch } = open.repository
    const tree = await git(['rev-parse', 'refs/heads/main^{tree}'])
    hashes = []
    for (const [number, of] of graph.entries()) {
      const args = of.flatMap((parent) => ['-p', hashes[parent]!])
      hashes.push(await git(['commit-tree', ...args, '-m', `Commit ${number}`, tree]))
      await branch(`commit-${number}`, hashes[number]!)
    }
    // It has a slot, so that others wait for one while the pipeline is limited to it.
    await createAction(db, at, {
      ...{ status: 'waiting', status_reason_code: 'WAITING_WORKER', has_place: true },
      ...{ started_at: null, completed_at: null },
    })
  })

  const serve = async (commits: readonly (number | null)[]) => {
    await db.deleteFrom('live_releases').where('application_id', '=', at.applicationId).execute()
    for (const [server, one] of commits.entries())
      if (one !== null) await goLive(at, hashes[one]!, [at.serverIds[server]!])
  }

  for (const [number, one] of histories.entries()) {
    const expected = hasMore(one) ? 'waits' : 'starts'
    test(`${number + 1}: ${one.to} onto ${one.shown} is approved, ${one.now} is live: it ${expected}`, async () => {
      await setPipeline(at, { max_parallel_actions: 1 })
      await serve(one.shown)
      const id = await start(at, { source_type: 'commit', source_ref: hashes[one.to] })
      assert.equal((await approve(id, admin)).status, 200)
      await serve(one.now)
      await setPipeline(at, { max_parallel_actions: 2 })
      await pass(at)
      await prepare()
      assert.equal(await stateOf(id), expected === 'waits' ? ASKED : QUEUED)
      await cancel(id, { at })
    })
  }

  test('both happen often', () => {
    const waiting = histories.filter(hasMore).length
    assert.ok(waiting >= 15 && waiting <= HISTORIES - 15, `${waiting} of ${HISTORIES} wait`)
  })
})
