// Plays the scenarios in test/runs/scenarios on the real scheduling, runner, queue and database; only what a command
// does on its server is scripted.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Outcome } from '#test/runs/scenarios/outcome.ts'
import { openPlayground } from '#test/runs/scenarios/playground.ts'
import { readScenario } from '#test/runs/scenarios/scenario.ts'

const FOLDER = join(import.meta.dirname, 'scenarios')
/** Writes the outcome instead of comparing it: for a new scenario, to be reviewed before it is trusted. */
const isWriting = process.env.WRITE_SCENARIOS === 'true'

const playOut = await openPlayground({ after })
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

/** Empty parts are left out of the file. */
function withoutEmpty(outcome: Outcome): Partial<Outcome> {
  return filled({ ...outcome, ran: filled(outcome.ran) })
}

function filled<Value extends object>(record: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => Object.keys(value).length > 0))
}
