import assert from 'node:assert/strict'
import type { Answer, TestApp } from '#test/support/harness.ts'
import { createPerson, type Person } from '#test/support/world.ts'

export type ApplyOptions = { values?: Record<string, string>; dry_run?: boolean; prune?: boolean }

/** Applies documents to an app, as an administrator unless another person is given. */
export async function createApply(api: TestApp) {
  const administrator = await createPerson(api.db, { admin: true })

  const apply = (document: string, options: ApplyOptions = {}, by: Person = administrator): Promise<Answer> =>
    api.request('POST', '/apply', { token: by.token, body: { document, ...options } })

  async function applied(document: string, options?: ApplyOptions, by?: Person): Promise<Answer['body']> {
    const { status, body, text } = await apply(document, options, by)
    assert.equal(status, 200, text)
    return body
  }

  async function rejected(document: string, options?: ApplyOptions): Promise<Record<string, string[]>> {
    const { status, body, text } = await apply(document, options)
    assert.equal(status, 422, text)
    return body.errors
  }

  return { administrator, apply, applied, rejected }
}

/** `create environments.live`, and so on. */
export const summarize = ({ changes }: Answer['body']): string[] =>
  changes.map((change: { verb: string; path: string }) => `${change.verb} ${change.path}`)

let count = 0
/** Each test uses a separate organization. */
export const nextName = () => `Organization ${++count}`

/** A document about one project; `environments` are its lines. */
export const shop = (organization: string, environments: string) =>
  `organization: ${organization}\nproject: {name: Shop}\nenvironments:\n${environments}`
