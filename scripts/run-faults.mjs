// Runs the tests under test/faults, or the files given: as many at a time as two cores keep up with, the longest first; then those
// that wait out outages; then, one by one, those that measure time. Node's own runner has one limit for all files, and takes them
// by name.
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { globalSetup, globalTeardown } from '../test/support/global-setup.ts'

/** Tenths of a core. */
const CAPACITY = 20
/** What a file takes of it. Most wait most of the time: for leases, pauses and other processes. */
const SHARES = { fault: 4, outage: 6, timed: CAPACITY }
const BUSY = 8
const SHARES_OF = {
  'actions-at-scale.fault': BUSY,
  'bench-smoke.fault': BUSY,
  'deliveries-killed.fault': BUSY,
  'hot-plans.fault': BUSY,
  'interrupted-switches.fault': BUSY,
  'no-5xx.fault': BUSY,
  'older-postgres.fault': BUSY,
  'overview-at-scale.fault': BUSY,
  'release.fault': BUSY,
}

/** They start first, so that none of them is left alone at the end. */
const LONGEST = [
  'release.fault',
  'interrupted-switches.fault',
  'reattach-points.fault',
  'bench-smoke.fault',
  'alerts-fire.fault',
  'reattach-server.fault',
  'backup.fault',
  'deliveries-killed.fault',
  'connecting-killed.fault',
  'kill-while-calling.fault',
  'failover.outage',
  'reattach-random.fault',
  'reattach.fault',
  'older-postgres.fault',
  'catch-up-github.fault',
  'catch-up-gitlab.fault',
  'catch-up-gitea.fault',
  'hot-plans.fault',
  'reattach-lease.fault',
  'stuck-environment.outage',
  'key-rotation.fault',
  'doctor.fault',
  'no-5xx.fault',
  'busy-environment.timed',
  'overload.timed',
  'frozen-workers.timed',
]

const named = process.argv.slice(2)
const files = named.length > 0 ? named : globSync('test/faults/*.{fault,outage,timed}.ts')
const plans = files
  .map(planOf)
  .sort((one, other) => one.place - other.place || (one.file < other.file ? -1 : 1))
const reporter = new spec()
reporter.pipe(process.stdout)
const counts = {}
const seconds = new Map()
let isGreen = true
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort())

const beganAt = performance.now()
await globalSetup()
try {
  for (const kind of Object.keys(SHARES))
    if (isGreen) await runAll(plans.filter((plan) => plan.kind === kind))
} finally {
  await globalTeardown()
}
report()
process.exitCode = isGreen && seconds.size === plans.length ? 0 : 1

function planOf(file) {
  const name = basename(file, '.ts')
  const [, kind] = name.split('.')
  const place = LONGEST.indexOf(name)
  return {
    file,
    kind,
    share: SHARES_OF[name] ?? SHARES[kind],
    place: place === -1 ? LONGEST.length : place,
  }
}

/** Whenever one has ended, the first starts that there is room for. */
async function runAll(waiting) {
  let free = CAPACITY
  const running = new Set()
  while (waiting.length + running.size > 0) {
    const index = interrupted.signal.aborted ? -1 : waiting.findIndex(({ share }) => share <= free)
    if (index !== -1) {
      const [{ file, share }] = waiting.splice(index, 1)
      free -= share
      const ended = runFile(file).finally(() => {
        free += share
        running.delete(ended)
      })
      running.add(ended)
    } else if (running.size > 0) await Promise.race(running)
    else return
  }
}

/** Its lines are printed when it has ended: those of two files are never mixed. */
async function runFile(file) {
  const startedAt = performance.now()
  const execArgv = ['--import=./test/support/test-context.ts']
  const events = await Array.fromAsync(run({ files: [file], execArgv, signal: interrupted.signal }))
  seconds.set(file, (performance.now() - startedAt) / 1_000)
  for (const { type, data } of events) {
    if (data.file !== undefined) reporter.write({ type, data })
    else if (type === 'test:summary') {
      isGreen &&= data.success
      for (const [name, count] of Object.entries(data.counts)) counts[name] = (counts[name] ?? 0) + count
    }
  }
}

function report() {
  const { topLevel: _, ...sums } = counts
  const slowest = [...seconds].sort(([, one], [, other]) => other - one).slice(0, 10)
  const lines = [
    ...Object.entries(sums).map(([name, count]) => `${name} ${count}`),
    `seconds ${Math.round((performance.now() - beganAt) / 1_000)}`,
    ...slowest.map(([file, took]) => `${Math.round(took)} s: ${file}`),
  ]
  for (const message of lines)
    reporter.write({ type: 'test:diagnostic', data: { nesting: 0, message, level: 'info' } })
  reporter.end()
}
