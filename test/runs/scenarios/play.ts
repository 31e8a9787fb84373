import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { createEnqueue, sweepSlots } from '#engine/scheduling/jobs.ts'
import type { TestApp } from '#test/support/harness.ts'
import { readCondition, waitFor } from './conditions.ts'
import type { Line, Scenario } from './scenario.ts'
import type { Script } from './script.ts'
import type { Stage } from './stage.ts'
import type { WorkerDeps, Workers } from './workers.ts'

/** Plays the story, line by line, until no action and no job is left. Returns what was rejected. */
export async function play(
  scenario: Scenario,
  at: { api: TestApp; token: string; deps: WorkerDeps; stage: Stage; script: Script; workers: Workers },
): Promise<string[]> {
  const { api, token, deps, stage, script, workers } = at
  const hooks = new Map<string, string>()
  const rejected: string[] = []

  async function post(what: string, url: string, expected: number): Promise<void> {
    const { status, text } = await api.request('POST', url, { token, body: {} })
    if (status === 409) rejected.push(`${what}: ${status}`)
    else assert.equal(status, expected, text)
  }

  /** The hook that runs a pipeline; created for the first call. */
  async function hookOf(pipeline: string): Promise<string> {
    const known = hooks.get(pipeline)
    if (known !== undefined) return known
    const url = `/pipelines/${stage.pipelines.get(pipeline)}/hooks/incoming`
    const { status, body, text } = await api.request('POST', url, { token, body: { name: 'Push' } })
    assert.equal(status, 201, text)
    const { pathname } = new URL(body.url)
    hooks.set(pipeline, pathname)
    return pathname
  }

  /** Limits of servers and pipelines; the sweep finds what waits for them, once it has waited long enough. */
  async function raise(limits: Record<string, number>): Promise<void> {
    for (const [name, max_parallel_actions] of Object.entries(limits)) {
      const [table, id, limited] = stage.servers.has(name)
        ? (['servers', stage.servers.get(name)!, scenario.servers[name]!] as const)
        : (['pipelines', stage.pipelines.get(name)!, scenario.pipelines[name]!] as const)
      limited.max_parallel_actions = max_parallel_actions
      await deps.db.updateTable(table).set({ max_parallel_actions }).where('id', '=', id).execute()
    }
    await deps.db
      .updateTable('actions')
      .set({ updated_at: sql`now() - interval '1 minute'` })
      .where('environment_id', '=', stage.environmentId)
      .where('status', '=', 'waiting')
      .execute()
    await sweepSlots(deps.db, createEnqueue(deps.queue).targets, assert.ifError)
  }

  async function work(word: Extract<Line, { worker: string }>['worker']): Promise<void> {
    switch (word) {
      case 'starts':
        return workers.start('everything')
      case 'only schedules':
        return workers.start('scheduling')
      case 'stops':
        return workers.stop()
      case 'is lost':
        return workers.lose()
    }
  }

  async function perform(line: Line): Promise<void> {
    if ('user' in line)
      return post(`user ${line.user}`, `/pipelines/${stage.pipelines.get(line.user)}/actions`, 201)
    if ('call' in line) return post(`call ${line.call}`, await hookOf(line.call), 202)
    if ('cancel' in line)
      return post(`cancel ${line.cancel}`, `/actions/${await stage.idOf(line.cancel)}/cancel`, 202)
    if ('raise' in line) return raise(line.raise)
    if ('worker' in line) return work(line.worker)
    const condition = readCondition(line.until)
    return waitFor(line.until, () => script.holds(condition))
  }

  const startsWorkers = scenario.story.some((line) => 'worker' in line && line.worker === 'starts')
  if (!startsWorkers) await workers.start('everything')
  for (const line of scenario.story) await perform(line)
  await waitFor('every action has ended', () => stage.isOver())
  await waitFor('every job is done', async () => (await stage.jobs()).length === 0)
  return rejected
}
