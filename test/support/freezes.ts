// Shared by tests of freezes: what makes them, what they hold, and what workers do, pass by pass.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { makeDuePasses } from '#engine/gates/release-loop.ts'
import type { TargetJob } from '#engine/scheduling/assign-slots.ts'
import { createScheduler } from '#engine/scheduling/schedule-new.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { openRuns, started } from './runs.ts'
import type { TestTree } from './world.ts'

export const HELD = 'waiting/WAITING_FREEZE at freeze'
export const QUEUED = 'queued/QUEUED with a slot'
export const BUSY = 'waiting/WAITING_CONCURRENCY_PIPELINE'

export const soon = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
/** In force, without an end. */
export const NOW = { name: 'Stop the line', reason: 'Incident 7', starts_at: '2026-01-01T00:00:00Z' }

type By = { token?: string }

export async function openFreezes(t: { after(fn: () => Promise<void>): void }) {
  const runs = await openRuns(t)
  const { api, db, run } = runs

  const queued: number[] = []
  const enqueueTargets = async (_: Transaction, targets: TargetJob[]) => {
    queued.push(...targets.map(({ targetId }) => targetId))
  }
  const schedule = createScheduler(db, enqueueTargets)
  const onError = (error: Error) => assert.fail(error)
  const release = () => makeDuePasses({ db, enqueueTargets, onError })

  const freezeAt = (at: TestTree, body: object = NOW, by: By = {}) =>
    api.request('POST', `/environments/${at.environmentId}/freezes`, { token: at.owner.token, body, ...by })
  const freezeOrganization = (at: TestTree, body: object = NOW, by: By = {}) =>
    api.request('POST', `/organizations/${at.organizationId}/freezes`, { token: at.owner.token, body, ...by })
  const change = (at: TestTree, id: number, body: object, by: By = {}) =>
    api.request('PUT', `/freezes/${id}`, { token: at.owner.token, body, ...by })
  const remove = (at: TestTree, id: number, by: By = {}) =>
    api.request('DELETE', `/freezes/${id}`, { token: at.owner.token, ...by })
  const override = (at: TestTree, id: number, by: By & { reason?: string; gate?: string } = {}) => {
    const { reason = 'Fixes the incident', gate = 'freeze', ...more } = by
    return api.request('POST', `/actions/${id}/override`, {
      token: at.owner.token,
      body: { gate, reason },
      ...more,
    })
  }
  const gatesOf = async (at: TestTree, id: number) =>
    (await api.request('GET', `/actions/${id}/gates`, { token: at.owner.token })).body

  /** A run by hand, scheduled. */
  async function start(at: TestTree, body: object = {}): Promise<number> {
    const { id } = await started(run(body, { at }))
    await schedule([id])
    return id
  }

  const limit = (at: TestTree, count: number) =>
    sql`update pipelines set max_parallel_actions = ${count} where id = ${at.pipelineId}`.execute(db)
  const limitServers = (at: TestTree, count: number) =>
    sql`update servers set max_parallel_actions = ${count} where environment_id = ${at.environmentId}`.execute(
      db,
    )
  const policy = (at: TestTree, name: string) =>
    sql`update pipelines set queue_policy = ${name} where id = ${at.pipelineId}`.execute(db)

  async function isForgotten(at: TestTree): Promise<boolean> {
    const row = await db
      .selectFrom('frozen_environments')
      .selectAll()
      .where('environment_id', '=', at.environmentId)
      .executeTakeFirst()
    return row === undefined
  }

  return {
    ...runs,
    queued,
    enqueueTargets,
    schedule,
    onError,
    release,
    freezeAt,
    freezeOrganization,
    change,
    remove,
    override,
    gatesOf,
    start,
    limit,
    limitServers,
    policy,
    isForgotten,
  }
}
