import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { answers } from './answers.ts'
import { backlog } from './backlog.ts'
import { type Bench, type Figure, figureLine, isReached, missedLine, type Size } from './bench.ts'
import { claim } from './claim.ts'
import { deliver, deliverLatency, isolate } from './deliver.ts'
import { environment } from './environment.ts'
import { fleet } from './fleet.ts'
import { ingest, ingestAll, ingestConnected, ingestLatency, memory } from './ingest.ts'
import { ingestPeer } from './ingest-peer.ts'
import { list } from './list.ts'
import { page } from './page.ts'
import { polling } from './polling.ts'
import { read } from './read.ts'
import { run } from './run-action.ts'
import { runSsh } from './run-ssh.ts'
import { start } from './start.ts'
import { type BenchPostgres, openPostgres, openWorkbench, type Workbench } from './workbench.ts'

// npm run bench -- [names…] [--smoke] [--gated] [--results <file>] [--profile <folder>]
// Figures go to standard output, one line each; everything else goes to standard error.

const BENCHES: Record<string, Bench> = {
  answers,
  backlog,
  claim,
  deliver,
  'deliver-latency': deliverLatency,
  environment,
  fleet,
  ingest,
  'ingest-all': ingestAll,
  'ingest-connected': ingestConnected,
  'ingest-latency': ingestLatency,
  'ingest-peer': ingestPeer,
  isolate,
  list,
  memory,
  page,
  polling,
  read,
  run,
  'run-ssh': runSsh,
  start,
}

/** Those that can run with many runs waiting for approval; their goals are the same. */
const GATED = ['backlog', 'ingest', 'ingest-all']
const AT_GATE: Record<Size, number> = { full: 50_000, smoke: 20 }

/** What smoke runs store is not kept. */
const UNSAFE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...{ smoke: { type: 'boolean' }, gated: { type: 'boolean' } },
      ...{ results: { type: 'string' }, profile: { type: 'string' } },
    },
  })
  const { gated: isGated = false, profile: profileTo } = values
  const available = isGated ? GATED : Object.keys(BENCHES)
  const names = positionals.length > 0 ? positionals : available
  const unknown = names.filter((name) => !available.includes(name))
  if (unknown.length > 0) {
    console.error(`unknown benchmark: ${unknown.join(', ')}; available: ${available.join(', ')}`)
    return 2
  }
  const size: Size = values.smoke ? 'smoke' : 'full'
  const atGate = isGated ? AT_GATE[size] : 0
  const figures: Figure[] = []
  const postgres = size === 'smoke' ? openPostgres(UNSAFE) : undefined
  try {
    for (const name of names) {
      const began = performance.now()
      await onWorkbench({ profileTo, atGate, postgres }, async (workbench) => {
        for (const measured of await BENCHES[name]!(workbench, size)) {
          const figure = isGated ? { ...measured, name: `${measured.name}-gated` } : measured
          console.log(figureLine(figure))
          figures.push(figure)
        }
      })
      console.error(`${name} took ${Math.round((performance.now() - began) / 1_000)} s`)
    }
  } finally {
    await postgres?.close()
  }
  const results = values.results ?? new URL('results.json', import.meta.url)
  await writeFile(results, `${JSON.stringify({ at: new Date().toISOString(), size, figures }, null, 2)}\n`)
  // Smoke runs are too small to say anything about speed.
  const missed = size === 'smoke' ? [] : figures.filter((figure) => !isReached(figure))
  for (const figure of missed) console.error(missedLine(figure))
  return missed.length > 0 ? 1 : 0
}

/**
 * Each bench gets its own workbench, so that it is not slowed down by what another one left behind. Smoke runs, whose
 * figures mean nothing, share a PostgreSQL.
 */
async function onWorkbench(
  options: { profileTo: string | undefined; atGate: number; postgres: BenchPostgres | undefined },
  work: (workbench: Workbench) => Promise<void>,
): Promise<void> {
  const workbench = openWorkbench(options)
  const close = () => workbench.close().finally(() => options.postgres?.close())
  const interrupt = () => close().finally(() => process.exit(130))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  try {
    await work(workbench)
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    await workbench.close()
  }
}

process.exitCode = await main()
