import { sql } from 'kysely'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { MASK } from '#platform/masking/masked.ts'
import { buildContext, type ContextDeps, type Subject } from './build-context.ts'
import { loadOutgoingHooks } from './outgoing-hooks.ts'
import { judgeTokens } from './token-rule.ts'

export type PreviewDeps = ContextDeps & { box: SecretBox; guard: AddressGuard }

export type Preview = {
  action_id: number
  event: { kind: string; status: string; previous_status: string | null; occurred_at: string }
  unmet_condition: string | null
  method: string
  url: string
  headers: Record<string, string>
  body: string | null
  access_token: string
  receiver: { host: string; addresses: string[]; allowed: boolean; message: string }
}

export type PreviewOutcome =
  | { kind: 'done'; preview: Preview }
  | { kind: 'gone' }
  /** It has never run, or the named action is none of those that the hook is about. */
  | { kind: 'no-action' }
  | { kind: 'fault'; field: string; message: string }

/** What the hook would send about an action now, and where that would go. Nothing is sent. */
export async function previewHook(
  deps: PreviewDeps,
  hookId: string,
  actionId: number | undefined,
): Promise<PreviewOutcome> {
  const hook = (await loadOutgoingHooks(deps.db, deps.box, [hookId])).get(hookId)
  if (!hook) return { kind: 'gone' }
  if (hook instanceof Error) throw hook
  const subject = await findSubject(deps, hookId, actionId)
  if (!subject) return { kind: 'no-action' }
  if (!hook.request)
    return { kind: 'fault', field: 'settings', message: 'has a faulty template: save the hook again' }
  const { usesAccessToken } = hook.request
  const token = (await judgeTokens(deps.db, [hook])).get(hook.id)!
  const context = await buildContext(deps, hook, subject, usesAccessToken ? MASK : null)
  const rendered = renderRequest(hook.request, context as TemplateContext)
  if (rendered.kind === 'failed') return { ...rendered, kind: 'fault' }
  const { event, action } = context
  const { kind } = event as { kind: string }
  const { status, previous_status, occurred_at } = subject.event
  return {
    kind: 'done',
    preview: {
      action_id: subject.action.id,
      event: { kind, status, previous_status, occurred_at },
      unmet_condition: unmetCondition(hook.conditions, { event, action })?.path ?? null,
      method: hook.method,
      url: rendered.url,
      headers: rendered.headers,
      body: rendered.body?.toString() ?? null,
      access_token: describeToken(),
      receiver: await describeReceiver(deps.guard, rendered.url),
    },
  }

  function describeToken(): string {
    if (!usesAccessToken) return 'not used'
    return token.kind === 'refused' ? token.message : 'used, and shown masked'
  }
}

async function describeReceiver(guard: AddressGuard, url: string): Promise<Preview['receiver']> {
  const { hostname: host } = new URL(url)
  const verdict = await guard.check(host)
  if (verdict.kind === 'allowed')
    return { host, addresses: verdict.addresses, allowed: true, message: 'It may be called.' }
  return { host, addresses: [], allowed: false, message: verdict.message }
}

/** The newest event of the action, or of the newest action that the hook is about. */
async function findSubject(
  { db }: PreviewDeps,
  hookId: string,
  actionId: number | undefined,
): Promise<Subject | undefined> {
  const { rows } = await sql<{ id: number }>`
    select a.id from hooks h
    join pipelines own on own.id = h.pipeline_id
    join pipelines p on p.id = own.id or h.trigger_when ->> 'scope' = 'resource'
      and (p.application_id = own.application_id or p.server_id = own.server_id)
    join actions a on a.pipeline_id = p.id and a.type = h.action_type
    where h.id = ${hookId} and (${actionId ?? null}::bigint is null or a.id = ${actionId ?? null}::bigint)
    order by a.id desc limit 1`.execute(db)
  const id = rows[0]?.id
  if (id === undefined) return undefined
  const [action, event, tree] = await Promise.all([
    db.selectFrom('actions').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    db.selectFrom('events').selectAll().where('action_id', '=', id).orderBy('id', 'desc').executeTakeFirst(),
    db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow(),
  ])
  const told = event ?? { ...action, previous_status: null, occurred_at: action.updated_at }
  return { action, event: told, treeVersion: tree.version }
}
