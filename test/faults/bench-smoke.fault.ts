import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Figure, isReached, missedLine } from '../../bench/bench.ts'

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url))
const LINE = /^[a-z0-9-]+ \d+(\.\d+)? \S+ ratio \d+\.\d\d vs \S+$/

const FIGURES = {
  answers: ['answers-bytes', 'answers-rate'],
  backlog: ['backlog-calls', 'backlog-next-start'],
  claim: ['claim-due', 'claim-blocked'],
  deliver: ['deliver'],
  'deliver-latency': ['deliver-latency-p50', 'deliver-latency-p99'],
  environment: ['environment'],
  fleet: ['fleet'],
  ingest: ['ingest'],
  'ingest-all': ['ingest-all'],
  'ingest-connected': ['ingest-connected'],
  'ingest-latency': ['ingest-latency'],
  isolate: ['isolate'],
  list: ['list', 'list-page-100', 'list-by-status', 'list-by-pipeline-status', 'list-by-project-type'],
  memory: ['memory', 'memory-growth'],
  page: [
    'page-frame',
    'page-first-load',
    'page-overview-p95',
    'page-overview-growth',
    'page-cards-p95',
    'page-cards-growth',
    'page-open-overviews',
  ],
  polling: ['polling-gantry', 'polling-postgres', 'polling-seen'],
  read: ['read'],
  run: ['run'],
  'run-ssh': ['run-ssh'],
  start: ['start', 'start-first'],
}

const NAMES = Object.keys(FIGURES) as (keyof typeof FIGURES)[]
const HALF = Math.ceil(NAMES.length / 2)

for (const names of [NAMES.slice(0, HALF), NAMES.slice(HALF)])
  test(`every bench from ${names[0]} to ${names.at(-1)} prints its figures`, {
    timeout: 360_000,
  }, async (t) => {
    const { lines, results } = await smoke(t, names)
    for (const line of lines) assert.match(line, LINE)
    const expected = names.flatMap((name) => FIGURES[name])
    assert.deepEqual(
      lines.map((line) => line.split(' ')[0]),
      expected,
    )
    assert.deepEqual(
      results.figures.map((figure) => figure.name),
      expected,
    )
  })

test('some run with runs that wait for approval', { timeout: 360_000 }, async (t) => {
  const { lines } = await smoke(t, ['--gated'])
  assert.deepEqual(
    lines.map((line) => line.split(' ')[0]),
    ['backlog-calls-gated', 'backlog-next-start-gated', 'ingest-gated', 'ingest-all-gated'],
  )
})

test('an unknown bench is rejected by name', async () => {
  const refused = promisify(execFile)(process.execPath, [RUN, 'nonsense'])
  await assert.rejects(refused, { code: 2, stderr: /unknown benchmark: nonsense/ })
})

test('a missed goal is reported in one line', () => {
  const goal = { of: 'ratio', is: 'at least', limit: 0.35 } as const
  const figure: Figure = { name: 'read', value: 900, unit: '/s', ratio: 0.2, floor: 'constant-json', goal }
  assert.equal(isReached(figure), false)
  assert.equal(isReached({ ...figure, ratio: 0.35 }), true)
  assert.equal(missedLine(figure), 'goal missed: read is ratio 0.20, should be at least ratio 0.35')
})

async function smoke(
  t: TestContext,
  named: readonly string[],
): Promise<{ lines: string[]; results: { figures: Figure[] } }> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-bench-smoke-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'results.json')
  const args = [RUN, ...named, '--smoke', '--results', file]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return { lines: stdout.trim().split('\n'), results: JSON.parse(await readFile(file, 'utf8')) }
}
