// A year in a day: `node bench/year.ts [runs] [seconds of retention]`. Stores runs of a year (a million by default), times lists by one and by two
// filters, switches retention on, and shows what is left: disk, times, and that what is live can still be rolled back.
import { sql } from 'kysely'
import type { ActionFilters } from '#model/actions/filters.ts'
import { pruneOldData, readRetentionTotals } from '#ops/retention/prune.ts'
import type { Database } from '#platform/database/connect.ts'
import { findPage } from '#views/actions/find-page.ts'
import { countEndedRuns } from '#views/dashboard/run-days.ts'
import { median } from './measure.ts'
import { storeActions } from './stored-actions.ts'
import { openWorkbench, runStatement } from './workbench.ts'

const ROUNDS = 3
const KEPT_DAYS = 90
const FOREVER = { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null }

const count = Number(process.argv[2] ?? 1_000_000)
const seconds = Number(process.argv[3] ?? 3_600)
const workbench = openWorkbench()
try {
  const database = await workbench.createDatabase('year')
  const { db, settings } = database
  const { owner, pipelineId } = await storeActions(database, count)
  const { rows: environments } = await sql<{ id: number }>`select id from environments`.execute(db)
  const environmentIds = environments.map(({ id }) => id)
  const singles = await filtersFor(db, owner.id, pipelineId)
  // All of a year's runs have ended, and are counted.
  await db.updateTable('counted_runs').set({ until: new Date().toISOString() }).execute()
  await countEndedRuns(db)

  await showSizes(db, 'before')
  await showLists(db, environmentIds, singles, 'before')

  await sql`update environments set retention = ${JSON.stringify({ ...FOREVER, runs_days: KEPT_DAYS, requests_days: KEPT_DAYS })}::jsonb`.execute(
    db,
  )
  const begun = performance.now()
  const removed = await pruneOldData(db, {
    defaults: FOREVER,
    keepBodiesDays: 3_650,
    signal: AbortSignal.timeout(seconds * 1_000),
    maxMs: seconds * 1_000,
  })
  const took = (performance.now() - begun) / 1_000
  print(`retention removed ${JSON.stringify(removed)} in ${took.toFixed(0)} s`)
  print(`its totals: ${JSON.stringify(await readRetentionTotals(db))}`)
  await runStatement(settings, 'vacuum analyze')
  await showSizes(db, 'after, vacuumed')
  await runStatement(settings, 'vacuum full')
  await showSizes(db, 'after vacuum full')
  await runStatement(settings, 'vacuum analyze')
  await showLists(db, environmentIds, singles, 'after')
  const { rows } = await sql<{ live: number; kept: number; blocks: boolean }>`select
    (select count(*) from applications where live_action_id is not null) as live,
    (select count(*) from applications app join actions a on a.id = app.live_action_id) as kept,
    (select bool_and(b.actions = (select count(*) from actions a where a.environment_id = b.environment_id
      and a.id between b.block * 5000 and b.block * 5000 + 4999)) from action_blocks b) as blocks`.execute(db)
  print(`live runs ${rows[0]!.kept} of ${rows[0]!.live}; counts of blocks are exact: ${rows[0]!.blocks}`)
} finally {
  await workbench.close()
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function filtersFor(db: Database, userId: number, pipelineId: number): Promise<ActionFilters[]> {
  const { rows } = await sql<{ hook_id: string; early: string; late: string }>`select
    (select hook_id from actions where hook_id is not null order by id limit 1) as hook_id,
    (select created_at from actions order by id offset ${Math.floor(count / 20)}::int limit 1) as early,
    (select created_at from actions order by id desc offset ${Math.floor(count / 20)}::int limit 1) as late`.execute(
    db,
  )
  const { hook_id, early, late } = rows[0]!
  return [
    { status: ['failed'] },
    { status: ['in-progress'] },
    { type: ['deploy'] },
    { resource_type: ['server'] },
    { pipeline_id: [pipelineId] },
    { trigger_type: ['hook'] },
    { trigger_type: ['manual'] },
    { trigger_type: ['retry'] },
    { hook_id: [hook_id] },
    { user_id: [userId] },
    { created_before: early },
    { created_after: late },
  ]
}

async function timeList(
  db: Database,
  ids: number[],
  filters: ActionFilters,
): Promise<{ ms: number; total: number }> {
  const times: number[] = []
  let total = 0
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now()
    total = (await findPage(db, ids, filters, { limit: 25, offset: 0 })).extent.total
    times.push(performance.now() - begun)
  }
  return { ms: median(times), total }
}

async function showLists(db: Database, ids: number[], singles: ActionFilters[], when: string): Promise<void> {
  const plain = await timeList(db, ids, {})
  print(`lists ${when}: no filter ${plain.ms.toFixed(1)} ms`)
  const alone = new Map<ActionFilters, number>()
  for (const filters of singles) {
    const { ms, total } = await timeList(db, ids, filters)
    alone.set(filters, ms)
    print(`  ${JSON.stringify(filters)} ${ms.toFixed(1)} ms, ${total} found`)
  }
  const pairs: { name: string; ms: number; ratio: number; total: number }[] = []
  for (const [index, one] of singles.entries()) {
    for (const other of singles.slice(index + 1)) {
      if (Object.keys(other).some((name) => name in one)) continue
      const { ms, total } = await timeList(db, ids, { ...one, ...other })
      const ratio = ms / Math.max(alone.get(one)!, alone.get(other)!)
      pairs.push({ name: JSON.stringify({ ...one, ...other }), ms, ratio, total })
    }
  }
  pairs.sort((a, b) => b.ratio - a.ratio)
  print(`  ${pairs.length} pairs; the slowest against the slower of the two alone:`)
  for (const { name, ms, ratio, total } of pairs.slice(0, 6))
    print(`    ${ratio.toFixed(2)}  ${name} ${ms.toFixed(1)} ms, ${total} found`)
}

async function showSizes(db: Database, when: string): Promise<void> {
  const { rows } = await sql<{ name: string; mib: number; runs: number }>`
    select relname as name, round(pg_total_relation_size(c.oid) / 1048576.0)::int as mib,
      (select count(*) from actions)::int as runs
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind = 'r' order by pg_total_relation_size(c.oid) desc limit 5`.execute(
    db,
  )
  const { rows: whole } = await sql<{ mib: number }>`
    select (pg_database_size(current_database()) / 1048576)::int as mib`.execute(db)
  const tables = rows.map(({ name, mib }) => `${name} ${mib}`).join(', ')
  print(`disk ${when}: ${rows[0]!.runs} runs, ${whole[0]!.mib} MiB (${tables})`)
}
