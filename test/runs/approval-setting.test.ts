// The setting of an environment that says who approves its runs.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openApprovals } from '#test/support/approvals.ts'
import { refused } from '#test/support/runs.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const { db, setApproval } = await openApprovals({ after })

suite('the setting of an environment', () => {
  test('has defaults, is shown, and is removed with null', async () => {
    const at = await createTestTree(db)
    const { body } = await setApproval(at, {})
    assert.deepEqual(body.approval, {
      required: 1,
      from: null,
      not_the_starter: true,
      expires_after_minutes: 10_080,
      operations: null,
      rollbacks: false,
    })
    assert.equal((await setApproval(at, null)).body.approval, null)
  })

  test('that demands more people than there are is rejected', async () => {
    const at = await createTestTree(db)
    const errorsOf = async (approval: object) => {
      const { errors } = await refused(setApproval(at, approval), 422, 'invalid')
      return Object.keys(errors)
    }
    assert.deepEqual(await errorsOf({ required: 2 }), ['approval.required'])
    assert.deepEqual(await errorsOf({ from: { roles: ['admin'] } }), ['approval.required'])
    const viewer = await createMember(db, at, 'viewer')
    assert.deepEqual(await errorsOf({ from: { user_ids: [viewer.id] } }), ['approval.required'])
    const stranger = await createTestTree(db)
    const foreign = await refused(
      setApproval(at, { from: { user_ids: [stranger.owner.id] } }),
      404,
      'not_found',
    )
    assert.deepEqual(Object.keys(foreign.errors), ['approval.from.user_ids.0'])
    assert.deepEqual(await errorsOf({ from: {} }), ['approval.from'])
    await createMember(db, at, 'admin')
    assert.equal((await setApproval(at, { required: 2 })).status, 200)
  })

  test('requires environment:edit', async () => {
    const at = await createTestTree(db)
    const developer = await createMember(db, at, 'developer')
    await refused(setApproval(at, {}, { token: developer.token }), 403, 'forbidden')
  })
})
