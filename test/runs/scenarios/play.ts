import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { createEnqueue, sweepSlots } from '#engine/scheduling/jobs.ts'
import type { TestApp } from '#test/support/harness.ts'
import { readCondition, waitFor } from './conditions.ts'
import type { Crew, Ground } from './crew.ts'
import type { Line, Scenario } from './scenario.ts'
import type { Script } from './script.ts'
import type { Stage } from './stage.ts'

/** Plays the story, line after line, to its end: no action and no job is left. Returns what was refused. */
export async function play(
  scenario: Scenario,
  at: { api: TestApp; token: string; ground: Ground; stage: Stage; script: Script; crew: Crew },
): Promise<string[]> {
  const { api, token, ground, stage, script, crew } = at
  const hooks = new Map<string, string>()
  const refused: string[] = []

  async function ask(what: string, url: string, fine: number): Promise<void> {
    const { status, text } = await api.request('POST', url, { token, body: {} })
    if (status === 409) refused.push(`${what}: ${status}`)
    else assert.equal(status, fine, text)
  }

  /** Where calls go that run a pipeline; made for the first of them. */
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

  /** Of servers and pipelines; what waits for them is found by the sweep, which looks only at what waits for long. */
  async function raise(limits: Record<string, number>): Promise<void> {
    for (const [name, max_parallel_actions] of Object.entries(limits)) {
      const [table, id, limited] = stage.servers.has(name)
        ? (['servers', stage.servers.get(name)!, scenario.servers[name]!] as const)
        : (['pipelines', stage.pipelines.get(name)!, scenario.pipelines[name]!] as const)
      limited.max_parallel_actions = max_parallel_actions
      await ground.db.updateTable(table).set({ max_parallel_actions }).where('id', '=', id).execute()
    }
    await ground.db
      .updateTable('actions')
      .set({ updated_at: sql`now() - interval '1 minute'` })
      .where('environment_id', '=', stage.environmentId)
      .where('status', '=', 'waiting')
      .execute()
    await sweepSlots(ground.db, createEnqueue(ground.queue).targets, assert.ifError)
  }

  async function work(word: Extract<Line, { worker: string }>['worker']): Promise<void> {
    switch (word) {
      case 'starts':
        return crew.start('everything')
      case 'only schedules':
        return crew.start('scheduling')
      case 'stops':
        return crew.stop()
      case 'is lost':
        return crew.lose()
    }
  }

  async function perform(line: Line): Promise<void> {
    if ('person' in line)
      return ask(`person ${line.person}`, `/pipelines/${stage.pipelines.get(line.person)}/actions`, 201)
    if ('call' in line) return ask(`call ${line.call}`, await hookOf(line.call), 202)
    if ('cancel' in line)
      return ask(`cancel ${line.cancel}`, `/actions/${await stage.idOf(line.cancel)}/cancel`, 202)
    if ('raise' in line) return raise(line.raise)
    if ('worker' in line) return work(line.worker)
    const condition = readCondition(line.until)
    return waitFor(line.until, () => script.holds(condition))
  }

  const startsWorkers = scenario.story.some((line) => 'worker' in line && line.worker === 'starts')
  if (!startsWorkers) await crew.start('everything')
  for (const line of scenario.story) await perform(line)
  await waitFor('every action has ended', () => stage.isOver())
  await waitFor('every job is done', async () => (await stage.jobs()).length === 0)
  return refused
}
