// Commands that need no body can be called without one and without a Content-Type: `curl -X POST` is enough.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner

type Operation = { operationId: string; requestBody?: { required?: boolean } }
const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, Operation>> }
const optional = Object.values(paths)
  .flatMap((operations) => Object.values(operations))
  .filter(({ requestBody }) => requestBody?.required === false)

const hooks = Object.fromEntries(
  await Promise.all(
    Object.entries({
      incoming: { name: 'Push', requires_secret: true },
      outgoing: { name: 'Notify', target_url: 'https://receiver.invalid/' },
    }).map(async ([type, body]) => {
      const { body: hook } = await request('POST', `/pipelines/${tree.pipelineId}/hooks/${type}`, {
        token,
        body,
      })
      return [type, hook.id]
    }),
  ),
)
const ended = await createAction(db, tree)
const { body: unfinished } = await request('POST', `/pipelines/${tree.pipelineId}/actions`, { token })

/** Each command that may be sent without a body, and the status that it then returns. */
const COMMANDS: Record<string, [url: string, status: number, method?: string]> = {
  runPipeline: [`/pipelines/${tree.pipelineId}/actions`, 201],
  planPipeline: [`/pipelines/${tree.pipelineId}/plan`, 200],
  retryAction: [`/actions/${ended}/retry`, 201],
  cancelAction: [`/actions/${unfinished.id}/cancel`, 202],
  rotateIncomingHookSecret: [`/hooks/incoming/${hooks.incoming}/rotate-secret`, 200],
  // The tree's credential is one of GitHub.
  connectIncomingHook: [`/hooks/incoming/${hooks.incoming}/connection`, 202],
  rotateOutgoingHookSecret: [`/hooks/outgoing/${hooks.outgoing}/rotate-secret`, 200],
  previewDelivery: [`/hooks/outgoing/${hooks.outgoing}/preview`, 200],
  testHook: [`/hooks/outgoing/${hooks.outgoing}/test`, 200],
  checkServer: [`/servers/${tree.serverIds[0]}/check`, 200],
  checkCredential: [`/credentials/${tree.credentialId}/check`, 200],
  linkApplicationToServer: [
    `/resource-links/application/${tree.applicationId}/server/${tree.serverIds[0]}`,
    204,
    'PUT',
  ],
  linkServerToApplication: [
    `/resource-links/server/${tree.serverIds[0]}/application/${tree.applicationId}`,
    204,
    'PUT',
  ],
}

suite('a command that needs no body', () => {
  test('is described as such', () => {
    assert.deepEqual(optional.map(({ operationId }) => operationId).sort(), Object.keys(COMMANDS).sort())
  })

  for (const [operationId, [url, status, method = 'POST']] of Object.entries(COMMANDS)) {
    test(`${operationId} works without one`, async () => {
      const answer = await request(method, url, { token })
      assert.equal(answer.status, status, answer.text)
    })
  }
})
