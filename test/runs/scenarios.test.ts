// Stories of runs, told in test/scenarios: real scheduling, runner, queue and database; only what a command does
// on its server is scripted.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { openQueue } from '#platform/queue/open-queue.ts'
import { createCrew } from '#test/runs/scenarios/crew.ts'
import { makeCrowd } from '#test/runs/scenarios/crowd.ts'
import { brokenInvariants } from '#test/runs/scenarios/invariants.ts'
import { type Outcome, readActions, shorten, type ToldAction } from '#test/runs/scenarios/outcome.ts'
import { play } from '#test/runs/scenarios/play.ts'
import { readScenario, type Scenario } from '#test/runs/scenarios/scenario.ts'
import { createScript } from '#test/runs/scenarios/script.ts'
import { setStage } from '#test/runs/scenarios/stage.ts'
import { openTestApp } from '#test/support/harness.ts'
import { later } from '#test/support/later.ts'
import { createTestTree } from '#test/support/world.ts'

const FOLDER = join(import.meta.dirname, 'scenarios')
/** Writes down what happens instead of comparing it: for a new scenario, to be read before it is believed. */
const isWriting = process.env.WRITE_SCENARIOS === 'true'

/** Which crowds to play; others than the usual one for whoever looks for trouble. */
const seeds = (process.env.CROWD_SEEDS ?? '1').split(',').map(Number)

const file = { after }
const api = await openTestApp({ after: (end: () => Promise<void>) => later(file, end) })
const queue = await openQueue({ settings: api.settings, onError: () => {} })
later(file, () => queue.close())
const { db } = api
const tree = await createTestTree(db)
const ground = { db, box: api.box, settings: api.settings, queue }

const names = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))
// All of them before the first test: nothing may be waited for once tests can end.
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
  test(`a crowd of runs keeps every rule while two workers share it (seed ${seed})`, async () => {
    await playOut(makeCrowd(seed, false), 2)
  })

  test(`a crowd of runs keeps every rule while workers are lost and stopped (seed ${seed})`, async () => {
    await playOut(makeCrowd(seed, true))
  })
}

async function playOut(scenario: Scenario, workers = 1): Promise<Outcome> {
  const stage = await setStage(db, tree, scenario)
  const script = createScript(scenario, stage)
  const crew = createCrew(ground, script)
  const others = Array.from({ length: workers - 1 }, () => createCrew(ground, script))
  const { environmentId } = stage
  let refused: string[]
  try {
    for (const other of others) await other.start('everything')
    refused = await play(scenario, { api, token: tree.owner.token, ground, stage, script, crew })
  } catch (error) {
    for (const one of [crew, ...others]) await one.end(0)
    // The next scenario has the queue to itself.
    await sql`delete from queue.job`.execute(db)
    const soFar = { ...shorten(await readActions(db, environmentId)), faults: script.faults }
    throw new Error(`${(error as Error).message}\n${JSON.stringify(soFar, null, 1)}`, { cause: error })
  }
  for (const one of [crew, ...others]) await one.end(20_000)
  const actions = await readActions(db, environmentId)
  assert.deepEqual([...script.faults, ...brokenInvariants(scenario, actions)], [])
  assert.equal(script.open(), 0, 'every executor is closed')
  assert.deepEqual(await stage.jobs(), [])
  assert.equal(await runsCounted(environmentId), actions.flatMap(begunTargets).length)
  return { ...shorten(actions), ran: script.ran, refused }
}

async function runsCounted(environmentId: number): Promise<number> {
  const { rows } = await sql<{ runs: number }>`
    select coalesce(sum(target_runs), 0)::int as runs from used_credits
    where environment_id = ${environmentId}`.execute(db)
  return rows[0]!.runs
}

/** What there is nothing to tell of is left out of the file. */
function withoutEmpty(outcome: Outcome): Partial<Outcome> {
  return filled({ ...outcome, ran: filled(outcome.ran) })
}

function filled<Value extends object>(record: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => Object.keys(value).length > 0))
}

const begunTargets = ({ targets }: ToldAction) => targets.filter(({ started_at }) => started_at !== null)
