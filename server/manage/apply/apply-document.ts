// The apply room: one document, `gantry.yaml`, describes a project of an organization, and applying it makes it so.
// read-input parses it, stored-state loads what exists, plan compares the two, and apply-resource carries out the
// difference through the rooms that own the resources.
import { type ControlledTransaction, sql } from 'kysely'
import type { Actor } from '#access/audit/record.ts'
import { type Caller, loadGrants } from '#access/authorization/caller.ts'
import { can, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { limitGrants } from '#access/authorization/token-limits.ts'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import { findStopped } from '#manage/credentials/credential-use.ts'
import { findOrganization } from '#manage/organizations/manage-organizations.ts'
import { findProject } from '#manage/organizations/manage-projects.ts'
import { lockEnvironments } from '#manage/organizations/remove-environments.ts'
import { presentHooks } from '#model/hooks/present-hook.ts'
import type { TokenHook } from '#model/hooks/token-hooks.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, findRows } from '#platform/database/rows.ts'
import type { Tables, TokenTargets } from '#platform/database/tables.ts'
import { type ApplyContext, applyChange, type SavedHook } from './apply-resource.ts'
import { type AddressChecks, createAddressChecks, type Guards } from './check-addresses.ts'
import { makePlan, type Plan, type PlannedChange, resourceOf } from './plan.ts'
import { type Problem, toProblems } from './problems.ts'
import type { ApplyInput } from './read-input.ts'
import { keyOf, parentPath, referencesOf } from './resources.ts'
import { type Applied, type AppliedChange, RESOURCE_KINDS } from './schemas.ts'
import { findOrganizations, loadState, type Organization, type State } from './stored-state.ts'

export type ApplyDeps = Guards & {
  db: Database
  box: SecretBox
  refuseLocal: RefuseLocal
  /** Where the installation allows tokens to go. */
  tokenTargets: TokenTargets
  baseUrl: () => string
}

/** With problems, nothing was changed. */
export type ApplyOutcome =
  | { kind: 'applied'; plan: Plan; hooks: SavedHook[]; stopped: TokenHook[] }
  | Rejected

type Rejected = { kind: 'rejected'; problems: Problem[] }

const AMBIGUOUS: Rejected = {
  kind: 'rejected',
  problems: [
    { path: ['organization'], message: 'several organizations have this name: use the url_slug instead' },
  ],
}

/**
 * Applies everything or nothing. A first comparison takes no locks, and is enough when nothing differs or something is
 * wrong; then the same happens again under locks. A dry run does it too, and rolls back: it finds whatever a real run
 * would find.
 */
export async function applyDocument(
  deps: ApplyDeps,
  caller: Caller,
  actor: Actor,
  input: ApplyInput,
): Promise<ApplyOutcome> {
  const first = await planWithoutLocks(deps, caller, input)
  if (first.kind === 'rejected') return first
  if (first.plan.changes.length === 0) return { kind: 'applied', plan: first.plan, hooks: [], stopped: [] }
  const addresses = createAddressChecks(deps, caller)
  const problem = await addresses.prepare(first.plan.changes)
  if (problem) return { kind: 'rejected', problems: [problem] }
  const trx = await deps.db.startTransaction().execute()
  try {
    const outcome = await applyWithin(trx, deps, caller, actor, input, addresses)
    const isFinal = outcome.kind === 'applied' && !input.dryRun
    await (isFinal ? trx.commit() : trx.rollback()).execute()
    return outcome
  } catch (error) {
    // The connection may be lost, and the transaction with it: report the original error.
    await trx
      .rollback()
      .execute()
      .catch(() => {})
    throw error
  }
}

function planWithoutLocks({ db, box }: ApplyDeps, caller: Caller, input: ApplyInput): Promise<Planned> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const [organization, another] = await findOrganizations(trx, caller, input.organization)
      return another ? AMBIGUOUS : planChanges(trx, box, caller, input, organization)
    })
}

async function applyWithin(
  trx: ControlledTransaction<Tables>,
  { box, refuseLocal, tokenTargets }: ApplyDeps,
  requester: Caller,
  actor: Actor,
  input: ApplyInput,
  addresses: AddressChecks,
): Promise<ApplyOutcome> {
  await lockName(trx, input.organization)
  // Another request may have created the organization meanwhile: load the roles again.
  const grants = await loadGrants(trx, [requester.id])
  const held = grants.get(requester.id)?.grants ?? []
  const caller = { ...requester, grants: limitGrants(held, requester.token) }
  const [organization, another] = await findOrganizations(trx, caller, input.organization)
  if (another) return AMBIGUOUS
  if (organization) await lockScopes(trx, organization.id, input.project)
  const planned = await planChanges(trx, box, caller, input, organization)
  if (planned.kind === 'rejected') return planned
  const by = { trx, caller, actor, box, refuseLocal, tokenTargets, addresses }
  const { problems, hooks } = await applyPlan(by, planned.plan, planned.state)
  if (problems.length > 0) return { kind: 'rejected', problems }
  const stopped = await stoppedBy(trx, caller, planned.plan)
  return { kind: 'applied', plan: planned.plan, hooks, stopped }
}

/** The hooks that can no longer send, because their tokens may go to their providers only. Only those that the caller can view. */
async function stoppedBy(trx: Transaction, caller: Caller, { changes }: Plan): Promise<TokenHook[]> {
  const stopped: TokenHook[] = []
  for (const { stored, fields } of changes) {
    const isLimiting = fields.some(({ field, after }) => field === 'token_targets' && after === 'provider')
    if (isLimiting && stored?.credential) stopped.push(...(await findStopped(trx, stored.credential)))
  }
  return stopped.filter((hook) => can(caller, 'hook:view', hook))
}

type Planned = { kind: 'planned'; plan: Plan; state: State } | Rejected

async function planChanges(
  db: Database,
  box: SecretBox,
  caller: Caller,
  input: ApplyInput,
  organization: Organization | undefined,
): Promise<Planned> {
  const state = await loadState(db, box, organization, input.project)
  const plan = makePlan(input, { state, caller })
  if (plan.problems.length > 0) return { kind: 'rejected', problems: plan.problems }
  return { kind: 'planned', plan, state }
}

/**
 * Taken before anything is read that the plan depends on: one document per organization is applied at a time, also
 * when the organization does not exist yet.
 */
async function lockName(trx: Transaction, organization: string): Promise<void> {
  const lock = `applying to ${organization}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`.execute(trx)
}

/**
 * Prevents concurrent changes of scopes and credentials. Always from the outside in, and all at once, as the removal of
 * a project does: taken later, in document order, two requests could deadlock.
 */
async function lockScopes(trx: Transaction, organizationId: number, projectName: string): Promise<void> {
  await findOrganization(trx, organizationId, { lock: true })
  const named = { organization_id: organizationId, name: projectName, deleted_at: null }
  const project = await findRow(trx, 'projects', named, ['id'])
  if (project && (await findProject(trx, project.id, { lock: true })))
    await lockEnvironments(trx, 'project_id', project.id)
  await findRows(trx, 'credentials', { organization_id: organizationId, deleted_at: null }, ['id'], {
    orderBy: 'id',
    lock: 'for no key update',
  })
}

/** The response: what was changed, or would be. */
export async function presentApplied(
  { db, box, baseUrl }: ApplyDeps,
  { plan, hooks, stopped }: Extract<ApplyOutcome, { kind: 'applied' }>,
  { dryRun, unusedValues }: { dryRun: boolean; unusedValues: string[] },
): Promise<Applied> {
  const changes = plan.changes.map((change): AppliedChange => {
    const { type, name, path } = resourceOf(change)
    return { verb: change.verb, type, name, path: path.join('.'), fields: change.fields }
  })
  const count = (verb: AppliedChange['verb']) => changes.filter((change) => change.verb === verb).length
  // A dry run rolled its hooks back.
  const saved = dryRun ? [] : hooks
  const rows = saved.map(({ row }) => row)
  const names = { pipeline: true, application: true, server: true }
  const presented = await presentHooks(db, rows, { baseUrl: baseUrl(), box, mayEdit: true, names })
  return {
    dry_run: dryRun,
    changes,
    summary: { create: count('create'), change: count('change'), delete: count('delete') },
    secrets: saved.map(({ path, secret, showsUrl }, index) => ({
      path: path.join('.'),
      secret,
      url: showsUrl ? presented[index]!.url : null,
    })),
    stopped_hooks: stopped.map(({ id: hook_id, name, pipeline_id, outside: origins }) => {
      return { hook_id, name, pipeline_id, origins }
    }),
    unused_values: unusedValues,
  }
}

/**
 * Carries out every change, and continues when one is rejected, so that all problems are reported at once; skips
 * whatever depends on a resource that could not be created. The caller must roll back when there are problems.
 */
export async function applyPlan(by: Omit<ApplyContext, 'ids' | 'onHook'>, plan: Plan, state: State) {
  const problems: Problem[] = []
  const hooks: SavedHook[] = []
  const context: ApplyContext = {
    ...by,
    ids: new Map([...state.resources].map(([key, { id }]) => [key, id])),
    onHook: (hook) => hooks.push(hook),
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
