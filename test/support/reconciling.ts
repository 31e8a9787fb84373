// Helpers for tests of statuses that are read back: a hook that sets one, and a clock that is moved by backdating.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { createHttpClient } from '#adapters/http-client/client.ts'
import { type OnCheck, startReconciler } from '#engine/reconciling/reconcile.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { untilTrue } from '#test/support/until.ts'
import type { openDeliveries } from './deliveries.ts'
import { later } from './later.ts'
import { createTestTree, type TestTree } from './world.ts'

type World = Awaited<ReturnType<typeof openDeliveries>>

export const SHA = 'c0ffee'.padEnd(40, '0')

/** A reconciler of this process; `stop` as if it had ended. */
export function startTestReconciler(
  t: Parameters<typeof later>[0],
  { db, box, guard }: Pick<World, 'db' | 'box' | 'guard'>,
  onCheck?: OnCheck,
) {
  const http = createHttpClient({ guard, userAgent: 'Gantry/test' })
  const options = {
    db,
    box,
    tokenTargets: 'anywhere' as const,
    http,
    pollMs: 25,
    ...(onCheck && { onCheck }),
  }
  const reconciler = startReconciler({ ...options, onError: (error) => assert.fail(error) })
  later(t, async () => {
    await reconciler.stop()
    await http.close()
  })
  return reconciler
}

export function checksOf({ db }: Pick<World, 'db'>) {
  const read = (actionId: number) =>
    db.selectFrom('status_checks').selectAll().where('action_id', '=', actionId).executeTakeFirst()
  return {
    read,
    /** Moves the clock of the checks of an action. */
    async pass(actionId: number, seconds: number) {
      const span = sql`${seconds}::float8 * interval '1 second'`
      await sql`update status_checks set due_at = due_at - ${span}, sent_at = sent_at - ${span}
        where action_id = ${actionId}`.execute(db)
    },
    /** Waits until the final delivery is stored, and with it what is to be checked. */
    async planned(actionId: number) {
      await untilTrue(async () => (await read(actionId))?.due_at != null)
    },
    /** Waits until so many checks were made since it was last sent. */
    async checked(actionId: number, checks: number) {
      await untilTrue(async () => ((await read(actionId))?.checks ?? 0) >= checks)
      return (await read(actionId))!
    },
  }
}

/** An application of its own whose credential belongs to the service at this address, where its repository is known, too. */
export async function openStatusTree(
  { db, box }: Pick<World, 'db' | 'box'>,
  provider: 'github' | 'gitlab' | 'gitea',
  baseUrl: string,
  token = 'status-token',
): Promise<TestTree> {
  const tree = await createTestTree(db)
  const secret = box.seal(token, credentialAad(tree.credentialId))
  await db
    .updateTable('credentials')
    .set({ secret, provider_code: provider, base_url: baseUrl, ssh_hosts: ['github.com'] })
    .where('id', '=', tree.credentialId)
    .execute()
  return tree
}

const CONTEXT = 'gantry/{{ environment.name }}/{{ pipeline.name }}'
const COMMIT = '{{ action.triggered_from.hook_parsed_variables.commit }}'
const TOKEN = '{{ application.source_provider.access_token }}'
const STATE =
  "{% case action.status %}{% when 'completed' %}success{% when 'failed' %}failure{% else %}pending{% endcase %}"
const REQUESTS = {
  github_status: {
    path: `/repos/acme/shop/statuses/${COMMIT}`,
    header: 'Authorization',
    value: `Bearer ${TOKEN}`,
  },
  gitea_status: {
    path: `/api/v1/repos/acme/shop/statuses/${COMMIT}`,
    header: 'Authorization',
    value: `token ${TOKEN}`,
  },
  gitlab_status: {
    path: `/api/v4/projects/acme%2Fshop/statuses/${COMMIT}`,
    header: 'Private-Token',
    value: TOKEN,
  },
}

export async function makeStatusHook(
  { db, makeHook }: Pick<World, 'db' | 'makeHook'>,
  tree: TestTree,
  kind: keyof typeof REQUESTS,
) {
  const { base_url } = await db
    .selectFrom('credentials')
    .select('base_url')
    .where('id', '=', tree.credentialId)
    .executeTakeFirstOrThrow()
  const { path, header, value } = REQUESTS[kind]
  const hook = await makeHook(
    {
      target_url: base_url + path,
      settings: {
        request_headers: [{ name: header, value }],
        request_body: {
          state:
            kind === 'gitlab_status'
              ? STATE.replace('{% else %}', "{% when 'in-progress' %}running{% else %}").replace(
                  'failure',
                  'failed',
                )
              : STATE,
          [kind === 'gitlab_status' ? 'name' : 'context']: CONTEXT,
          target_url: '{{ action.url_web_permalink }}',
        },
      },
      trigger_when: {
        events: ['action.created', 'action.started', 'action.completed', 'action.failed', 'action.skipped'],
      },
    },
    tree,
  )
  await sql`update hooks set settings = (settings::jsonb || ${JSON.stringify({ preset: { kind } })}::jsonb)::json where id = ${hook.id}`.execute(
    db,
  )
  await sql`update tree_version set version = version + 1`.execute(db)
  return hook
}
