// Plays the scenarios in test/runs/scenarios on the real scheduling, runner, queue and database; only what a command
// does on its server is scripted.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openQueue } from '#platform/queue/open-queue.ts'
import { brokenInvariants } from '#test/runs/scenarios/invariants.ts'
import {
  type Outcome,
  type RecordedAction,
  readActions,
  summarizeActions,
} from '#test/runs/scenarios/outcome.ts'
import { play } from '#test/runs/scenarios/play.ts'
import { makeRandomScenario } from '#test/runs/scenarios/random-scenario.ts'
import { readScenario, type Scenario } from '#test/runs/scenarios/scenario.ts'
import { createScript } from '#test/runs/scenarios/script.ts'
import { setStage } from '#test/runs/scenarios/stage.ts'
import { createWorkers } from '#test/runs/scenarios/workers.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createTestTree } from '#test/support/world.ts'

const FOLDER = join(import.meta.dirname, 'scenarios')
/** Writes the outcome instead of comparing it: for a new scenario, to be reviewed before it is trusted. */
const isWriting = process.env.WRITE_SCENARIOS === 'true'

/** Which random scenarios to play. */
const seeds = (process.env.CROWD_SEEDS ?? '1').split(',').map(Number)

const file = { after }
const api = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })
const queue = await openQueue({ settings: api.settings, onError: () => {} })
later(file, () => queue.close())
const { db } = api
const tree = await createTestTree(db)
const deps = { db, box: api.box, settings: api.settings, queue }

const names = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))
// All of them before the first test: nothing may be awaited once tests can end.
const scenarios = await Promise.all(
  names.sort().map(async (name) => ({ name, scenario: await readScenario(join(FOLDER, name)) })),
)

for (const { name, scenario } of scenarios) {
  test(`${name.slice(0, 2)}: ${scenario.title}`, async () => {
    const outcome = withoutEmpty(await playOut(scenario))
    const expected = join(FOLDER, name.replace(/yaml$/, 'json'))
    if (isWriting) await writeFile(expected, JSON.stringify(outcome))
    assert.deepEqual(outcome, JSON.parse(await readFile(expected, 'utf8')))
  })
}

for (const seed of seeds) {
  test(`many concurrent runs keep every rule while two workers share them (seed ${seed})`, async () => {
    await playOut(makeRandomScenario(seed, false), 2)
  })

  test(`many concurrent runs keep every rule while workers are lost and stopped (seed ${seed})`, async () => {
    await playOut(makeRandomScenario(seed, true))
  })
}

async function playOut(scenario: Scenario, count = 1): Promise<Outcome> {
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
    const soFar = { ...summarizeActions(await readActions(db, environmentId)), violations: script.violations }
    throw new Error(`${(error as Error).message}\n${JSON.stringify(soFar, null, 1)}`, { cause: error })
  }
  for (const one of [workers, ...others]) await one.end(20_000)
  const actions = await readActions(db, environmentId)
  assert.deepEqual([...script.violations, ...brokenInvariants(scenario, actions)], [])
  assert.equal(script.open(), 0, 'every executor is closed')
  assert.deepEqual(await stage.jobs(), [])
  assert.equal(await runsCounted(environmentId), actions.flatMap(startedTargets).length)
  return { ...summarizeActions(actions), ran: script.ran, rejected }
}

async function runsCounted(environmentId: number): Promise<number> {
  const { rows } = await sql<{ runs: number }>`
    select coalesce(sum(target_runs), 0)::int as runs from used_credits
    where environment_id = ${environmentId}`.execute(db)
  return rows[0]!.runs
}

/** Empty parts are left out of the file. */
function withoutEmpty(outcome: Outcome): Partial<Outcome> {
  return filled({ ...outcome, ran: filled(outcome.ran) })
}

function filled<Value extends object>(record: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => Object.keys(value).length > 0))
}

const startedTargets = ({ targets }: RecordedAction) =>
  targets.filter(({ started_at }) => started_at !== null)
