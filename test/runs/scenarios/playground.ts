// Where scenarios are played: an app with its queue on one database, for one scenario after the other.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { openQueue } from '#platform/queue/open-queue.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createTestTree } from '#test/support/world.ts'
import { brokenInvariants } from './invariants.ts'
import { type Outcome, type RecordedAction, readActions, summarizeActions } from './outcome.ts'
import { play } from './play.ts'
import type { Scenario } from './scenario.ts'
import { createScript } from './script.ts'
import { setStage } from './stage.ts'
import { createWorkers } from './workers.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** Returns what plays a scenario to its end with this many workers, checks the invariants, and says what happened. */
export async function openPlayground(t: Closer) {
  const api = await openTestApp({ after: (end: () => Promise<void>) => later(t, end) })
  const queue = await openQueue({ settings: api.settings, onError: () => {} })
  later(t, () => queue.close())
  const { db } = api
  const tree = await createTestTree(db)
  const deps = { db, box: api.box, settings: api.settings, queue }

  return async (scenario: Scenario, count = 1): Promise<Outcome> => {
    const stage = await setStage(db, tree, scenario)
    const script = createScript(scenario, stage)
    const workers = createWorkers(deps, script)
    const others = Array.from({ length: count - 1 }, () => createWorkers(deps, script))
    const { environmentId } = stage
    let rejected: string[]
    try {
      for (const other of others) await other.start('everything')
      rejected = await play(scenario, { api, token: tree.owner.token, deps, stage, script, workers })
    } catch (error) {
      for (const one of [workers, ...others]) await one.end(0)
      // The next scenario has the queue to itself.
      await sql`delete from queue.job`.execute(db)
      const soFar = {
        ...summarizeActions(await readActions(db, environmentId)),
        violations: script.violations,
      }
      throw new Error(`${(error as Error).message}\n${JSON.stringify(soFar, null, 1)}`, { cause: error })
    }
    for (const one of [workers, ...others]) await one.end(20_000)
    const actions = await readActions(db, environmentId)
    assert.deepEqual([...script.violations, ...brokenInvariants(scenario, actions)], [])
    assert.equal(script.open(), 0, 'every executor is closed')
    assert.deepEqual(await stage.jobs(), [])
    assert.equal(await runsCounted(db, environmentId), actions.flatMap(startedTargets).length)
    return { ...summarizeActions(actions), ran: script.ran, rejected }
  }
}

async function runsCounted(db: Database, environmentId: number): Promise<number> {
  const { rows } = await sql<{ runs: number }>`
    select coalesce(sum(target_runs), 0)::int as runs from used_credits
    where environment_id = ${environmentId}`.execute(db)
  return rows[0]!.runs
}

const startedTargets = ({ targets }: RecordedAction) =>
  targets.filter(({ started_at }) => started_at !== null)
