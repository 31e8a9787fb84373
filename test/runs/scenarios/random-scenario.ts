import type { Behavior, Line, Scenario } from './scenario.ts'

type Random = (below: number) => number

/**
 * A scenario without an order: many concurrent runs on a few servers, commands that fail now and then, users who
 * cancel, and with `isRough` workers that come and go. The outcome is unknown; only the invariants must hold.
 */
export function makeRandomScenario(seed: number, isRough: boolean): Scenario {
  const random = createRandom(seed)
  const story: Line[] = isRough ? [{ worker: 'starts' }] : []
  for (let starts = 0; starts < 12; ) {
    const dice = random(100)
    if (dice < 15 && starts > 0) story.push({ cancel: 1 + random(starts) })
    else if (dice < 20 && isRough)
      story.push({ worker: random(2) === 0 ? 'is lost' : 'stops' }, { worker: 'starts' })
    else {
      const pipeline = ['release', 'migrate', 'preview'][random(3)]!
      story.push(random(2) === 0 ? { user: pipeline } : { call: pipeline })
      starts += 1
    }
  }
  const steps = (...commands: string[]) =>
    commands.map((command) => ({ command, idempotent: random(2) === 0 }))
  return {
    title: `many concurrent runs (seed ${seed})`,
    servers: {
      'web-1': {},
      'web-2': { max_parallel_actions: 2 },
      'web-3': {},
      'web-4': { max_parallel_actions: 0 },
    },
    pipelines: {
      release: {
        servers: ['web-1', 'web-2', 'web-3'],
        rollout: { batch: 1, max_failed: 1 },
        steps: steps('build', 'publish'),
      },
      migrate: {
        servers: ['web-2', 'web-3', 'web-4'],
        max_parallel_actions: 3,
        steps: steps('dump', 'change'),
      },
      preview: {
        servers: ['web-1', 'web-4'],
        max_parallel_actions: 2,
        queue_policy: 'latest',
        steps: steps('show'),
      },
      notify: { servers: ['web-4'], run_after: ['release', 'migrate'], steps: steps('post') },
      cleanup: { servers: ['web-2'], run_after: ['notify', 'preview'], steps: steps('sweep') },
    },
    commands: Object.fromEntries(
      ['build', 'publish', 'dump', 'change', 'show', 'post', 'sweep'].map((command) => [
        command,
        Array.from({ length: 100 }, () => makeBehavior(random)),
      ]),
    ),
    story,
  }
}

function makeBehavior(random: Random): Behavior {
  const ends = ['exits 1', 'killed by SIGKILL', 'times out', 'loses the server'][random(40)] ?? 'exits 0'
  return { takesMs: random(6), prints: random(2) === 0 ? 'at work\n' : '', ends }
}

/** mulberry32: the same seed makes the same scenario. */
function createRandom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
