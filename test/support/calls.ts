// Helpers for tests of incoming hooks: create a hook, call it like a sender, and read what is stored.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import type { Permission } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import { type Answer, openTestApp, type TestApp } from './harness.ts'
import { createPerson, createTestTree, type Person, type TestTree } from './world.ts'

export type Hook = { id: string; url: string; secret: string | null }
export type Sent = string | Buffer | object
export type Sending = {
  headers?: Record<string, string | undefined>
  address?: string
  by?: TestApp
}

export const SIGNED = { requires_secret: true }
export const withVariables = (...variables: object[]) => ({
  settings: { variables: variables.map((one) => ({ type: 'string', required: true, ...one })) },
})

export const pathOf = (hook: Hook) => new URL(hook.url).pathname
/** The secret part of a hook's URL. */
export const tokenOf = (hook: Hook) => pathOf(hook).split('/')[2]!
export const bytesOf = (sent: Sent) =>
  Buffer.from(typeof sent === 'string' || Buffer.isBuffer(sent) ? (sent as string) : JSON.stringify(sent))
export const sign = (secret: string, sent: Sent) =>
  `sha256=${createHmac('sha256', secret).update(bytesOf(sent)).digest('hex')}`

export function assertStarted(answer: Answer): number {
  assert.equal(answer.status, 202, answer.text)
  return answer.body.action_id
}

export function assertRejected(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.body.code, code)
  assert.equal(answer.headers['x-gantry-action-id'], undefined)
}

/** An app with its own tree; every helper accepts another tree, app or database where that matters. */
export async function openCalls(...options: Parameters<typeof openTestApp>) {
  const api = await openTestApp(...options)
  const { db } = api
  const tree = await createTestTree(db)

  async function makeHook(input: object = {}, at: TestTree = tree, by: TestApp = api): Promise<Hook> {
    const url = `/pipelines/${at.pipelineId}/hooks/incoming`
    const { status, body, text } = await by.request('POST', url, {
      token: at.owner.token,
      body: { name: 'Push', ...input },
    })
    assert.equal(status, 201, text)
    return body
  }

  async function changeHook({ id }: Hook, body: object, at = tree, by = api): Promise<void> {
    const answer = await by.request('PUT', `/hooks/incoming/${id}`, { token: at.owner.token, body })
    assert.equal(answer.status, 200, answer.text)
  }

  async function removeHook({ id }: Hook, at = tree): Promise<void> {
    const answer = await api.request('DELETE', `/hooks/incoming/${id}`, { token: at.owner.token })
    assert.equal(answer.status, 204, answer.text)
  }

  /** Calls a hook like a sender, signed when the hook has a secret. An undefined header is not sent. */
  function call(hook: Hook, sent: Sent = {}, { by = api, address, ...more }: Sending = {}): Promise<Answer> {
    const signature = hook.secret === null ? undefined : sign(hook.secret, sent)
    const all = { 'content-type': 'application/json', 'x-hub-signature-256': signature, ...more.headers }
    const headers = Object.entries(all).filter(
      (header): header is [string, string] => header[1] !== undefined,
    )
    return by.request('POST', pathOf(hook), {
      rawBody: bytesOf(sent),
      headers: Object.fromEntries(headers),
      address,
    })
  }

  const actionsOf = (hook: Hook, at: Database = db) =>
    at.selectFrom('actions').selectAll().where('hook_id', '=', hook.id).orderBy('id').execute()
  const requestsOf = (hook: Hook, at: Database = db) =>
    at.selectFrom('hook_requests').selectAll().where('hook_id', '=', hook.id).orderBy('id').execute()
  const outcomesOf = async (hook: Hook) => (await requestsOf(hook)).map(({ outcome }) => outcome)

  const setPipeline = (at: TestTree, values: object) =>
    db.updateTable('pipelines').set(values).where('id', '=', at.pipelineId).execute()
  const archive = (at: TestTree, archived_at: Date | null = new Date()) =>
    db.updateTable('environments').set({ archived_at }).where('id', '=', at.environmentId).execute()

  async function jobsFor(actionId: number): Promise<number> {
    const { rows } = await sql<{ jobs: number }>`
      select count(*) as jobs from queue.job
      where name = 'actions.run' and data -> 'action_ids' @> to_jsonb(${actionId}::bigint)`.execute(db)
    return rows[0]!.jobs
  }

  /** A user with exactly these permissions, in the whole organization. */
  async function memberWith(...permissions: Permission[]): Promise<Person> {
    const person = await createPerson(db)
    const organization_id = tree.organizationId
    const { id: role_id } = await db
      .insertInto('roles')
      .values({ organization_id, name: person.email.slice(0, 60), permissions })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db.insertInto('grants').values({ user_id: person.id, role_id, organization_id }).execute()
    return person
  }

  return {
    api,
    db,
    tree,
    makeHook,
    changeHook,
    removeHook,
    call,
    actionsOf,
    requestsOf,
    outcomesOf,
    setPipeline,
    archive,
    jobsFor,
    memberWith,
  }
}
