// Many concurrent runs with no order and no expected outcome: the invariants of test/runs/scenarios hold in each.
import { after, test } from 'node:test'
import { openPlayground } from '#test/runs/scenarios/playground.ts'
import { makeRandomScenario } from '#test/runs/scenarios/random-scenario.ts'

/** Which random scenarios to play. */
const seeds = (process.env.CROWD_SEEDS ?? '1').split(',').map(Number)

const playOut = await openPlayground({ after })

for (const seed of seeds) {
  test(`many concurrent runs keep every rule while two workers share them (seed ${seed})`, async () => {
    await playOut(makeRandomScenario(seed, false), 2)
  })

  test(`many concurrent runs keep every rule while workers are lost and stopped (seed ${seed})`, async () => {
    await playOut(makeRandomScenario(seed, true))
  })
}
