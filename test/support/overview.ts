// Shared by tests of the overview: the app, and requesting the overview as a user.
import assert from 'node:assert/strict'
import { openTestApp } from './harness.ts'

export async function openOverview(t: Parameters<typeof openTestApp>[0]) {
  const { db, request, statements } = await openTestApp(t)

  const overviewOf = async ({ token }: { token: string }, query = '') => {
    const answer = await request('GET', `/overview${query}`, { token })
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  return { db, request, statements, overviewOf }
}
