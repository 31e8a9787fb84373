import type { Caller } from '#access/authorization/caller.ts'
import { can, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { checkReceiver } from '#manage/hooks/validate-hook.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { type ApplyContext, applyChange } from './apply-resource.ts'
import { type Plan, type PlannedChange, resourceOf } from './plan.ts'
import { type Problem, toProblems } from './problems.ts'
import { keyOf, ORGANIZATION, parentPath, referencesOf } from './resources.ts'
import { RESOURCE_KINDS } from './schemas.ts'
import type { State } from './stored-state.ts'

/** Name lookups are limited by the operating system, and others need some too. */
const MAX_HOSTS = 100

/** A hook that was created, or that got a secret, which is shown only now. */
export type SavedHook = {
  path: readonly string[]
  row: HookRow
  secret: string | null
  /** Only callers who may edit a hook see its URL. */
  showsUrl: boolean
}

/** What is wrong with each URL that hooks are to call from now on. */
export type Receivers = ReadonlyMap<string, ErrorsByField | undefined>

/** Resolves the hosts of all receivers at once, before the transaction: it takes too long inside. */
export async function checkReceivers(
  guard: AddressGuard,
  changes: readonly PlannedChange[],
): Promise<{ receivers: Receivers } | { problem: Problem }> {
  const targets = changes.flatMap((change) => {
    const url = receiverOf(change)
    return url === undefined || change.verb === 'delete' ? [] : [{ url, at: change.desired.at }]
  })
  const urls = [...new Set(targets.map(({ url }) => url))]
  if (new Set(urls.map((url) => URL.parse(url)?.host)).size > MAX_HOSTS) {
    const message = `hooks call more than ${MAX_HOSTS} hosts: apply fewer at a time`
    return { problem: { path: [...targets.at(-1)!.at, 'target_url'], message } }
  }
  const checked = await Promise.all(urls.map(async (url) => [url, await checkReceiver(guard, url)] as const))
  return { receivers: new Map(checked) }
}

/** The URL that a change makes a hook call; undefined when it does not change that. */
function receiverOf(change: PlannedChange): string | undefined {
  if (change.verb === 'delete' || change.desired.type !== 'hook' || !('target_url' in change.desired.body))
    return undefined
  return change.fields.some(({ field }) => field === 'target_url')
    ? change.desired.body.target_url
    : undefined
}

/**
 * Carries out every change, and continues when one is rejected, so that all problems are reported at once; skips
 * whatever depends on a resource that could not be created. The caller must roll back when there are problems.
 */
export async function applyPlan(
  by: Pick<ApplyContext, 'trx' | 'caller' | 'actor' | 'box'> & { guard: AddressGuard; receivers: Receivers },
  plan: Plan,
  state: State,
): Promise<{ problems: Problem[]; hooks: SavedHook[] }> {
  const problems: Problem[] = []
  const hooks: SavedHook[] = []
  const context: ApplyContext = {
    ...by,
    ids: new Map([...state.resources].map(([key, { id }]) => [key, id])),
    async checkReceiver(change) {
      const url = receiverOf(change)
      if (url === undefined || by.receivers.has(url)) return by.receivers.get(url ?? '')
      // The hook was changed between the first comparison and now.
      return checkReceiver(by.guard, url)
    },
    onHook({ path, row, secret, isNew }) {
      const scope = { ...row, organization_id: Number(context.ids.get(keyOf(ORGANIZATION))) }
      hooks.push({ path, row, secret, showsUrl: isNew && can(context.caller, 'hook:edit', scope) })
    },
  }
  for (const change of inSequence(plan)) {
    const { type, path } = resourceOf(change)
    if (change.verb !== 'delete') {
      const needed = [
        ...referencesOf(change.desired).map((reference) => reference.path),
        parentPath(change.desired),
      ]
      if (needed.some((one) => one && !context.ids.has(keyOf(one)))) continue
    }
    const outcome = await applyChange(context, change)
    if (outcome.kind !== 'done') {
      problems.push(...toProblems(change.verb === 'delete' ? path : change.desired.at, outcome))
      continue
    }
    if (change.verb === 'delete') context.ids.delete(keyOf(path))
    else context.ids.set(keyOf(path), outcome.id)
    if (change.verb === 'create' && type === 'organization')
      context.caller = asOwner(context.caller, Number(outcome.id))
  }
  return { problems, hooks }
}

/** The creator of an organization owns it; the roles that came with the request do not include that yet. */
function asOwner(caller: Caller, organization_id: number): Caller {
  const scope = { organization_id, project_id: null, environment_id: null }
  return { ...caller, grants: [...caller.grants, { ...scope, permissions: ROLE_PERMISSIONS.owner }] }
}

/** Removals first, children before parents, so that names become free; then parents before children. */
function inSequence({ changes, pipelineOrder }: Plan): PlannedChange[] {
  const ranks = new Map(pipelineOrder.map((key, index) => [key, index]))
  const rankOf = (change: PlannedChange) => ranks.get(keyOf(resourceOf(change).path)) ?? 0
  const ofKind = (kind: string) => changes.filter((change) => resourceOf(change).type === kind)
  return [
    ...RESOURCE_KINDS.toReversed().flatMap((kind) =>
      ofKind(kind).filter((change) => change.verb === 'delete' && !change.withParent),
    ),
    ...RESOURCE_KINDS.flatMap((kind) => {
      const upserts = ofKind(kind).filter((change) => change.verb !== 'delete')
      return kind === 'pipeline' ? upserts.sort((one, other) => rankOf(one) - rankOf(other)) : upserts
    }),
  ]
}
