import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '#platform/database/connect.ts'
import { createTestTree } from '#test/support/world.ts'
import type { Bench } from './bench.ts'
import { makeIdlePipeline } from './idle-pipeline.ts'
import { alternate, median, ROUNDS } from './measure.ts'
import { startService } from './service.ts'

const STEPS = 6
const RUNS_OF = { full: 20, smoke: 1 }
const ENDED_WITHIN_MS = 30_000

/** A run of six steps on this machine that do nothing, against six processes that do nothing. */
export const run: Bench = async (workbench, size) => {
  const { db, settings } = await workbench.createDatabase('run')
  const tree = await createTestTree(db)
  const folder = await workbench.makeFolder()
  await mkdir(`${folder}/1`)
  const { pipelineId } = await makeIdlePipeline(db, tree, folder, { steps: STEPS, servers: 1 })
  const { url } = await startService(workbench, settings)
  const runOnce = () => timeRun(db, { url, token: tree.owner.token, pipelineId })
  await runOnce()
  const times = await alternate(size === 'smoke' ? 1 : ROUNDS, {
    runs: () => repeat(RUNS_OF[size], runOnce),
    processes: () => repeat(RUNS_OF[size], timeProcesses),
  })
  const [ours, floor] = [median(times.runs), median(times.processes)]
  return [
    {
      name: 'run',
      value: ours - floor,
      unit: 'ms',
      ratio: ours / floor,
      floor: 'six-processes',
      goal: { of: 'ratio', is: 'at most', limit: 2.2 },
      details: { runMs: times.runs, processesMs: times.processes },
    },
  ]
}

type Where = { url: string; token: string; pipelineId: number }

/** From the start of the run to its end, by the clock of the database. */
export async function timeRun(db: Database, { url, token, pipelineId }: Where): Promise<number> {
  const answer = await fetch(`${url}/pipelines/${pipelineId}/actions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  const { id } = (await answer.json()) as { id: number }
  if (answer.status !== 201) throw new Error(`The run was not started: ${answer.status}`)
  const impatientAt = performance.now() + ENDED_WITHIN_MS
  while (performance.now() < impatientAt) {
    const action = await db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    if (action.status === 'completed') return Date.parse(action.completed_at!) - Date.parse(action.created_at)
    if (action.status === 'failed') throw new Error(`The run failed: ${action.status_reason_code}`)
    await pause(20)
  }
  throw new Error('The run did not end.')
}

async function timeProcesses(): Promise<number> {
  const begin = performance.now()
  for (let step = 0; step < STEPS; step += 1) await once(spawn('true'), 'exit')
  return performance.now() - begin
}

async function repeat(times: number, measure: () => Promise<number>): Promise<number> {
  const measured: number[] = []
  for (let number = 0; number < times; number += 1) measured.push(await measure())
  return median(measured)
}
