// Outgoing hooks that know secrets, a receiver that repeats them, and all that people are shown of both.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { later } from '#test/support/later.ts'
import type { RunWorld } from '#test/support/run-world.ts'
import { addressOf, openFailingReceiver } from './failing-receiver.ts'
import { transformsOf } from './leaks.ts'

export async function openHooksWithSecrets(t: Parameters<typeof later>[0], world: RunWorld) {
  const { db, ask } = world
  const secrets: Record<string, string> = { token: `ghp_${randomBytes(20).toString('base64')}+/=&"%` }
  const receiver = await openFailingReceiver(t, tellSecrets)
  const hooks = await makeHooks()

  /** Three hooks that listen to different things, one of which sends the credential's token. */
  async function makeHooks() {
    const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
    const credential = await create(`/organizations/${organizationId}/credentials`, {
      name: 'Source',
      provider_code: 'github',
      token: secrets.token,
    })
    const scope = await world.makeDeployable({
      repository: 'https://github.com/acme/shop.git',
      application: { credential_id: credential.id },
    })
    const name = 'application.source_provider.access_token'
    const token = `{{ ${name} }}`
    const last = secrets.token!.at(-2)
    // The same as `transformsOf`.
    const transformed = [
      "split: '' | join: ' '",
      "split: '' | reverse | join: ''",
      `slice: 0, ${secrets.token!.length - 1}`,
      `slice: 1, ${secrets.token!.length}`,
      `remove: '${last}'`,
      `replace: '${last}', '*'`,
      'base64_encode | base64_encode',
    ].map((filters) => `{{ ${name} | ${filters} }}`)
    const inputs = {
      whole: {},
      token: {
        settings: {
          request_headers: [
            { name: 'Authorization', value: `token ${token}` },
            { name: 'X-Token', value: token },
            ...transformed.map((value, index) => ({ name: `X-Token-${index}`, value })),
          ],
          request_body: { state: '{{ action.status }}', token, transformed },
        },
        trigger_when: { events: ['action.started', 'action.completed', 'action.failed', 'action.skipped'] },
      },
      ends: {
        settings: { request_method: 'PUT', request_body: { state: '{{ action.status }}' } },
        trigger_when: { events: ['action.created', 'action.completed', 'action.failed', 'action.skipped'] },
      },
    }
    const ids: string[] = []
    for (const [name, input] of Object.entries(inputs)) {
      const target_url = addressOf(receiver.url, name)
      const hook = await create(`/pipelines/${scope.pipelineId}/hooks/outgoing`, {
        name,
        target_url,
        ...input,
      })
      ids.push(hook.id)
      secrets[secretOf(name)] = hook.secret
    }
    return { scope, names: Object.keys(inputs), ids }
  }

  async function create(path: string, input: object) {
    const { status, body } = await ask('POST', path, input)
    assert.equal(status, 201, JSON.stringify(body))
    return body
  }

  /** What people are shown of it all: hooks, lists, and single requests of every outcome. */
  async function readAnswers(): Promise<unknown[]> {
    const answers: unknown[] = []
    const read = async (path: string) => {
      const { status, body } = await ask('GET', path)
      assert.equal(status, 200, JSON.stringify(body))
      answers.push(body)
      return body
    }
    for (const id of hooks.ids) {
      await read(`/hooks/outgoing/${id}`)
      for (const page of [1, 2, 3]) await read(`/hooks/outgoing/${id}/requests?per_page=100&page=${page}`)
      const { rows } = await sql<{ id: string; action_id: number }>`
        select id, action_id from (select *, row_number() over (partition by outcome order by id) as number
          from hook_requests where hook_id = ${id}) as numbered where number <= 20`.execute(db)
      for (const request of rows) await read(`/hook-requests/${request.id}`)
      for (const { action_id } of rows.slice(0, 5)) await read(`/actions/${action_id}`)
    }
    return answers
  }

  /** Everything that the receiver behind a hook was given, in many forms. */
  function tellSecrets(hook: string): string {
    const known = [secrets[secretOf(hook)]!, ...(hook === 'token' ? [secrets.token!] : [])]
    const forms = known.flatMap((secret) => [
      secret,
      Buffer.from(secret).toString('base64'),
      Buffer.from(`user:${secret}`).toString('base64'),
      encodeURIComponent(secret),
      JSON.stringify(secret),
    ])
    if (hook === 'token') forms.push(...transformsOf(secrets.token!))
    return ['no secret at all', ...forms].join('\n')
  }

  return { secrets, receiver, hooks, readAnswers }
}

function secretOf(hook: string): string {
  return `secret of ${hook}`
}
