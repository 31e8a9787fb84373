// A year in a day: `node bench/year.ts [runs] [seconds of retention]`. Stores runs of a year (a million by default) with all
// that they leave behind, lists them by one and by two filters, switches retention on, and shows what is left: disk, costs
// of lists, statistics of days, and that what is live and on disk is still there (for a rollback to such a release see
// test/runs/runs-end-to-end.test.ts).
import { deepEqual } from 'node:assert/strict'
import { loadavg } from 'node:os'
import { sql } from 'kysely'
import { countEndedRuns, readRunDays } from '#engine/counts/run-days.ts'
import type { ActionFilters } from '#model/actions/filters.ts'
import { pruneOldData, readRetentionTotals } from '#ops/retention/prune.ts'
import type { Database } from '#platform/database/connect.ts'
import { chooseFilters, costOfList, type ListCost } from './list-cost.ts'
import { storeRunRecords } from './run-records.ts'
import { storeActions } from './stored-actions.ts'
import { openWorkbench, runStatement } from './workbench.ts'

const KEPT_DAYS = 90
const FOREVER = { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null }
const LIMITED = { ...FOREVER, runs_days: KEPT_DAYS, requests_days: KEPT_DAYS }

const count = Number(process.argv[2] ?? 1_000_000)
const seconds = Number(process.argv[3] ?? 3_600)
const workbench = openWorkbench()
try {
  const database = await workbench.createDatabase('year')
  const { db, settings } = database
  const { owner, pipelineId } = await storeActions(database, count)
  await storeRunRecords(database, count)
  const { rows: environments } = await sql<{ id: number }>`select id from environments`.execute(db)
  const environmentIds = environments.map(({ id }) => id)
  const singles = await chooseFilters(db, { count, userId: owner.id, pipelineId })
  await countEndedRuns(db)
  const days = await readRunDays(db, environmentIds)

  await showSizes(db, 'before')
  await showLists(db, environmentIds, singles, 'before')

  await sql`update environments set retention = ${JSON.stringify(LIMITED)}::jsonb`.execute(db)
  const begun = performance.now()
  const removed = await pruneOldData(db, {
    defaults: FOREVER,
    keepBodiesDays: 3_650,
    signal: AbortSignal.timeout(seconds * 1_000),
    maxMs: seconds * 1_000,
  })
  const took = (performance.now() - begun) / 1_000
  const rate = (removed.runs / took).toFixed(0)
  print(
    `retention removed ${JSON.stringify(removed)} in ${took.toFixed(0)} s, ${rate} runs/s (load ${loadavg()[0]})`,
  )
  print(`its totals: ${JSON.stringify(await readRetentionTotals(db))}`)
  await showSizes(db, 'after')
  await runStatement(settings, 'vacuum analyze')
  await showSizes(db, 'after vacuum')
  await runStatement(settings, 'vacuum full')
  await showSizes(db, 'after vacuum full')
  await runStatement(settings, 'vacuum analyze')
  await showLists(db, environmentIds, singles, 'after')
  deepEqual(await readRunDays(db, environmentIds), days)
  print('statistics of days are as before')
  await showKept(db)
} finally {
  await workbench.close()
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function showKept(db: Database): Promise<void> {
  const { rows } = await sql<{
    live: number
    kept: number
    disk: number
    found: number
    blocks: boolean
  }>`select
    (select count(*) from live_releases) as live,
    (select count(*) from live_releases l join actions a on a.id = l.action_id) as kept,
    (select count(*) from releases_on_disk) as disk,
    (select count(*) from releases_on_disk d where exists (
      select from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
      where t.release_name = d.release_name and p.application_id = d.application_id)) as found,
    (select bool_and(b.actions = (select count(*) from actions a where a.environment_id = b.environment_id
      and a.id between b.block * 5000 and b.block * 5000 + 4999)) from action_blocks b) as blocks`.execute(db)
  const { live, kept, disk, found, blocks } = rows[0]!
  print(`live runs ${kept} of ${live}; runs of releases on disk ${found} of ${disk}`)
  print(`counts of blocks are exact: ${blocks}`)
}

async function showLists(db: Database, ids: number[], singles: ActionFilters[], when: string): Promise<void> {
  print(`lists ${when}: no filter ${readable(await costOfList(db, ids, {}))}`)
  const alone = new Map<ActionFilters, ListCost>()
  for (const filters of singles) {
    const cost = await costOfList(db, ids, filters)
    alone.set(filters, cost)
    print(`  ${JSON.stringify(filters)} ${readable(cost)}`)
  }
  const pairs: { name: string; cost: ListCost; ratio: number }[] = []
  for (const [index, one] of singles.entries()) {
    for (const other of singles.slice(index + 1)) {
      if (Object.keys(other).some((name) => name in one)) continue
      const cost = await costOfList(db, ids, { ...one, ...other })
      const ratio = cost.entries / Math.max(alone.get(one)!.entries, alone.get(other)!.entries)
      pairs.push({ name: JSON.stringify({ ...one, ...other }), cost, ratio })
    }
  }
  print(`  ${pairs.length} pairs; entries against those of the costlier of the two alone, highest first:`)
  pairs.sort((a, b) => b.ratio - a.ratio)
  for (const { name, cost, ratio } of pairs.slice(0, 4))
    print(`    ${ratio.toFixed(2)}  ${name} ${readable(cost)}`)
  print('  and the slowest:')
  pairs.sort((a, b) => b.cost.ms - a.cost.ms)
  for (const { name, cost } of pairs.slice(0, 4)) print(`    ${name} ${readable(cost)}`)
}

function readable({ entries, pages, scans, ms, total }: ListCost): string {
  return `${entries} entries, ${pages} pages, ${scans} scans, ${ms.toFixed(1)} ms, ${total} found`
}

async function showSizes(db: Database, when: string): Promise<void> {
  const { rows } = await sql<{ name: string; mib: number; runs: number }>`
    select relname as name, round(pg_total_relation_size(c.oid) / 1048576.0)::int as mib,
      (select count(*) from actions)::int as runs
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind = 'r' order by pg_total_relation_size(c.oid) desc limit 7`.execute(
    db,
  )
  const { rows: whole } = await sql<{ mib: number }>`
    select (pg_database_size(current_database()) / 1048576)::int as mib`.execute(db)
  const tables = rows.map(({ name, mib }) => `${name} ${mib}`).join(', ')
  print(`disk ${when}: ${rows[0]!.runs} runs, ${whole[0]!.mib} MiB (${tables})`)
}
