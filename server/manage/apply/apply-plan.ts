import { isIP } from 'node:net'
import type { Caller } from '#access/authorization/caller.ts'
import { ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { checkReceivers } from '#manage/hooks/validate-hook.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import { type ApplyContext, applyChange } from './apply-resource.ts'
import { type CheckedAddresses, type Guards, hostOf, receiversOf } from './check-addresses.ts'
import { type Plan, type PlannedChange, resourceOf } from './plan.ts'
import { type Problem, toProblems } from './problems.ts'
import { keyOf, parentPath, referencesOf } from './resources.ts'
import { RESOURCE_KINDS } from './schemas.ts'
import type { State } from './stored-state.ts'

/** A hook that was created, or that got a secret, which is shown only now. */
export type SavedHook = {
  path: readonly string[]
  row: HookRow
  secret: string | null
  /** The response that creates a hook shows its URL. */
  showsUrl: boolean
}

/**
 * Carries out every change, and continues when one is rejected, so that all problems are reported at once; skips
 * whatever depends on a resource that could not be created. The caller must roll back when there are problems.
 */
export async function applyPlan(
  by: Pick<ApplyContext, 'trx' | 'caller' | 'actor' | 'box' | 'refuseLocal' | 'tokenTargets'> & {
    guards: Guards
    checked: CheckedAddresses
  },
  plan: Plan,
  state: State,
): Promise<{ problems: Problem[]; hooks: SavedHook[] }> {
  const problems: Problem[] = []
  const hooks: SavedHook[] = []
  const context: ApplyContext = {
    ...by,
    ids: new Map([...state.resources].map(([key, { id }]) => [key, id])),
    // What was not checked before was changed between the first comparison and now.
    checkReceiver: (change) =>
      checkReceivers(by.guards.guard, by.caller, receiversOf(change), by.checked.receivers),
    async checkHost(change) {
      const host = hostOf(change)
      const { hosts } = by.checked
      // A name would have to be looked up, and is checked at every connection.
      if (host === undefined || hosts.has(host) || !isIP(host)) return hosts.get(host ?? '')
      return by.guards.sshGuard.check(host)
    },
    onHook({ path, row, secret, isNew }) {
      hooks.push({ path, row, secret, showsUrl: isNew })
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
