// Shared by tests of runs: starting, retrying and canceling a run, and what is stored about it.
import assert from 'node:assert/strict'
import type { Commit } from '#platform/database/tables.ts'
import { assertRejected, openCalls } from './calls.ts'
import type { Answer, RequestOptions } from './harness.ts'
import { createAction, makeLive, type TestTree } from './world.ts'

export const FAILED = { status: 'failed', status_reason_code: 'FAILED' } as const

type By = RequestOptions & { at?: TestTree; token?: string }

export async function started(answer: Promise<Answer>) {
  const { status, body, text } = await answer
  assert.equal(status, 201, text)
  return body
}

export async function refused(answer: Promise<Answer>, status: number, code: string) {
  const got = await answer
  assertRejected(got, status, code)
  return got.body
}
export const faultsOf = async (answer: Promise<Answer>) => (await refused(answer, 422, 'invalid')).errors
export const reasonOf = async (answer: Promise<Answer>) => (await refused(answer, 409, 'conflict')).message

export function commitOf(digit: string): Commit & { hash: string } {
  const nothing = { author_name: null, author_email: null, committed_at: null, clone_url: null }
  const hash = digit.repeat(40)
  return { ...nothing, repository: 'acme/shop', hash, message: digit, url: null, download_url: null }
}

const DEPLOYMENT = {
  type: 'deploy',
  source_type: 'branch',
  source_ref: 'main',
  repository: 'https://github.com/acme/shop.git',
  provider_name: 'github',
}

/** As for calls; every helper takes another tree where one matters. */
export async function openRuns(...options: Parameters<typeof openCalls>) {
  const calls = await openCalls(...options)
  const { api, db, tree } = calls

  const ask = (url: string, body?: unknown, { at = tree, ...more }: By = {}) =>
    api.request('POST', url, { token: at.owner.token, body, ...more })
  const run = (body?: unknown, by: By = {}) =>
    ask(`/pipelines/${(by.at ?? tree).pipelineId}/actions`, body, by)
  const retry = (id: number, by?: By) => ask(`/actions/${id}/retry`, undefined, by)
  const cancel = (id: number, by?: By) => ask(`/actions/${id}/cancel`, undefined, by)

  const readAction = async (id: number, at = tree) =>
    (await api.request('GET', `/actions/${id}`, { token: at.owner.token })).body
  const rowOf = (id: number) =>
    db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  /** "waiting/WAITING_FREEZE at freeze", "queued/QUEUED with a slot". */
  const stateOf = async (id: number) => {
    const { status, status_reason_code, has_place, gate } = await rowOf(id)
    return `${status}/${status_reason_code}${has_place ? ' with a slot' : ''}${gate ? ` at ${gate}` : ''}`
  }
  const targetsOf = (id: number) =>
    db.selectFrom('targets').selectAll().where('action_id', '=', id).orderBy('position').execute()
  const eventsOf = (id: number) =>
    db
      .selectFrom('events')
      .select(['previous_status', 'status'])
      .where('action_id', '=', id)
      .orderBy('id')
      .execute()

  async function countActions(at: TestTree): Promise<number> {
    const { count } = await db
      .selectFrom('actions')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('environment_id', '=', at.environmentId)
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  const addStep = (pipeline_id: number, name: string, position: number) =>
    db.insertInto('pipeline_steps').values({ pipeline_id, name, position, command: 'true' }).execute()

  async function addDeployPipeline(at: TestTree, name: string): Promise<number> {
    const { id } = await db
      .insertInto('pipelines')
      .values({
        environment_id: at.environmentId,
        resource_type: 'application',
        application_id: at.applicationId,
        name,
        operation: 'deploy',
        created_by: at.owner.id,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }

  /** A deploy that has completed and is live. */
  async function deployed(at: TestTree, digit: string, more: object = {}): Promise<number> {
    const id = await createAction(db, at, {
      release_name: `2026010100000${digit}-${digit.repeat(8)}`,
      commit: JSON.stringify(commitOf(digit)),
      deployment: JSON.stringify(DEPLOYMENT),
      ...more,
    })
    await makeLive(db, at, id)
    return id
  }

  return {
    ...calls,
    ask,
    run,
    retry,
    cancel,
    readAction,
    rowOf,
    stateOf,
    targetsOf,
    eventsOf,
    countActions,
    addStep,
    addDeployPipeline,
    deployed,
  }
}
