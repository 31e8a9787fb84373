import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { startChild } from './child.ts'
import { type CpuTimes, cpuPerCall, readCpuTimes } from './cpu.ts'
import type { LoadOutcome } from './load.ts'
import { median } from './measure.ts'
import { type Called, CONNECTIONS, DELIVERY, type PushWorld, postOf, signedPush } from './push.ts'
import type { Workbench } from './workbench.ts'

export type CallsOutcome = LoadOutcome & {
  /** Microseconds per call, by process. */
  cpuUs: CpuTimes
  /** How long after the last response it took until every action waited; only with a worker. */
  drainMs: number
}

const DRAINED_WITHIN_MS = 60_000

/** Keeps 32 connections busy with pushes, or sends them at a rate. */
export async function sendPushes(
  { loader, postgres, secret }: PushWorld,
  called: Called,
  options: { ms: number; perSecond?: number },
): Promise<CallsOutcome> {
  const processes = { server: called.pid, caller: loader.pid, postgres }
  const before = await readCpuTimes(processes)
  const requests = [postOf(called.path, signedPush(secret))]
  const outcome = await loader.load(called, {
    connections: CONNECTIONS,
    requests,
    numbered: DELIVERY,
    ...options,
  })
  const cpuUs = cpuPerCall(before, await readCpuTimes(processes), outcome.answers)
  return { ...outcome, cpuUs, drainMs: 0 }
}

/** The same at the service with its worker: a call counts when its action waits, and the rate is that of both. */
export async function sendUntilWaiting(
  world: PushWorld,
  options: { ms: number; perSecond?: number },
): Promise<CallsOutcome> {
  const processes = { server: world.called.pid, caller: world.loader.pid, postgres: world.postgres }
  const before = await readCpuTimes(processes)
  const newest = await newestAction(world.db)
  const outcome = await sendPushes(world, world.called, options)
  const answered = performance.now()
  while ((await countUnscheduled(world.db, newest)) > 0) {
    if (performance.now() - answered > DRAINED_WITHIN_MS) throw new Error('Actions are still queued.')
    await pause(20)
  }
  const drainMs = performance.now() - answered
  const cpuUs = cpuPerCall(before, await readCpuTimes(processes), outcome.answers)
  const perSecond = (outcome.answers / (outcome.wallMs + drainMs)) * 1_000
  return { ...outcome, perSecond, cpuUs, drainMs }
}

/** Calls insert those that need approval at the gate; once scheduled, a worker finds out what they ship. */
async function countUnscheduled(db: Database, above: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from actions where status = 'queued') + (
      select count(*) from actions a where gate = 'approval' and id > ${above}
        and not exists (select from approval_requests r where r.action_id = a.id)) as count`.execute(db)
  return rows[0]!.count
}

async function newestAction(db: Database): Promise<number> {
  const { rows } = await sql<{ id: number | null }>`select max(id) as id from actions`.execute(db)
  return rows[0]!.id ?? 0
}

/** The floor: one row per call, or the same row in groups. */
export async function startFloor(
  workbench: Workbench,
  { settings, secret }: PushWorld,
): Promise<Record<'alone' | 'grouped', Called>> {
  const floor = startChild('./floor-server.ts')
  workbench.defer(() => floor.stop())
  const { port } = await floor.ask<{ port: number }>({ kind: 'open', settings, secret })
  const { pid } = floor
  const cpuMs = async () => (await floor.ask<{ ms: number }>({ kind: 'cpu' })).ms
  return { alone: { pid, port, path: '/floor', cpuMs }, grouped: { pid, port, path: '/grouped', cpuMs } }
}

/** Medians, for the details of a figure. */
export function summaryOf(outcomes: readonly CallsOutcome[]) {
  const middle = (read: (outcome: CallsOutcome) => number) => median(outcomes.map(read))
  return {
    perSecond: middle(({ perSecond }) => perSecond),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
    drainMs: middle(({ drainMs }) => drainMs),
    cpuUs: {
      nodeMain: middle(({ cpuUs }) => cpuUs.nodeMain),
      nodeOther: middle(({ cpuUs }) => cpuUs.nodeOther),
      postgres: middle(({ cpuUs }) => cpuUs.postgres),
      caller: middle(({ cpuUs }) => cpuUs.caller),
    },
  }
}
