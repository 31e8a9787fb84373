import type { ControlledTransaction } from 'kysely'
import type { Actor } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { loadGrants } from '#access/authorization/caller.ts'
import { ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { checkReceivers, type Receivers } from './check-receivers.ts'
import { findOrganizations, loadState, type Organization } from './load-state.ts'
import { lockName, lockPlaces } from './lock-places.ts'
import { type Made, performAll } from './perform-all.ts'
import { makePlan, type Plan } from './plan.ts'
import type { Path } from './positions.ts'
import { hasProblems, type Problems } from './problems.ts'
import type { State } from './state.ts'
import type { Wanted } from './things.ts'

export type ApplyDeps = { db: Database; box: SecretBox; guard: AddressGuard; baseUrl: () => string }

export type ApplyInput = {
  wanted: readonly Wanted[]
  organization: string
  project: string
  isFilled: (path: Path) => boolean
  prune: boolean
  dryRun: boolean
}

export type ApplyOutcome = { kind: 'applied'; plan: Plan; made: Made[] } | Refused

/** Nothing was changed. */
type Refused = { kind: 'refused'; problems: Problems }

/**
 * Makes everything as the wish says, or nothing. First a look without any locks, which is enough when nothing
 * differs or something is wrong; then the same again with everything locked, and done. A dry run does it too, and
 * takes it back: it finds whatever would be found.
 */
export async function applyDocument(
  deps: ApplyDeps,
  caller: Caller,
  actor: Actor,
  wish: ApplyInput,
): Promise<ApplyOutcome> {
  const first = await lookFirst(deps, caller, wish)
  if (first.kind === 'refused' || first.plan.tasks.length === 0) return first
  const checked = await checkReceivers(deps.guard, first.plan.tasks)
  if (checked.kind === 'too-many')
    return { kind: 'refused', problems: { lacking: [], faults: [checked.fault], conflicts: [] } }
  const trx = await deps.db.startTransaction().execute()
  try {
    const outcome = await applyWithin(trx, deps, caller, actor, wish, checked.receivers)
    const isKept = outcome.kind === 'applied' && !wish.dryRun
    await (isKept ? trx.commit() : trx.rollback()).execute()
    return outcome
  } catch (error) {
    // The connection may be gone, and the transaction with it: what went wrong first is what is told.
    await trx
      .rollback()
      .execute()
      .catch(() => {})
    throw error
  }
}

function lookFirst(deps: ApplyDeps, caller: Caller, wish: ApplyInput): Promise<ApplyOutcome> {
  return deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const found = await findOrganizations(trx, caller, wish.organization)
      return found.length > 1 ? ambiguous() : plan(deps, trx, caller, wish, found[0])
    })
}

async function applyWithin(
  trx: ControlledTransaction<Tables>,
  deps: ApplyDeps,
  known: Caller,
  actor: Actor,
  wish: ApplyInput,
  receivers: Receivers,
): Promise<ApplyOutcome> {
  await lockName(trx, wish.organization)
  // Somebody may have made the organization while we waited: roles are looked at again.
  const caller = await withRolesOfNow(trx, known)
  const [organization, another] = await findOrganizations(trx, caller, wish.organization)
  if (another) return ambiguous()
  if (organization) await lockPlaces(trx, organization.id, wish.project)
  const planned = await plan(deps, trx, caller, wish, organization)
  if (planned.kind === 'refused') return planned
  const by = { caller, actor, box: deps.box }
  const { problems, made } = await performAll(trx, by, planned, { receivers, guard: deps.guard, ownerOf })
  return hasProblems(problems) ? { kind: 'refused', problems } : { ...planned, made }
}

type Planned = { kind: 'applied'; plan: Plan; state: State; made: Made[] } | Refused

async function plan(
  { box }: ApplyDeps,
  db: Database,
  caller: Caller,
  wish: ApplyInput,
  organization: Organization | undefined,
): Promise<Planned> {
  const state = await loadState(db, box, organization, wish.project)
  const made = makePlan({ ...wish, state, caller })
  return hasProblems(made)
    ? { kind: 'refused', problems: made }
    : { kind: 'applied', plan: made, state, made: [] }
}

async function withRolesOfNow(db: Database, caller: Caller): Promise<Caller> {
  const grants = await loadGrants(db, [caller.id])
  return { ...caller, grants: grants.get(caller.id)?.grants ?? [] }
}

/** Whoever makes an organization owns it; the roles that came with the request do not say so yet. */
function ownerOf(caller: Caller, organizationId: number): Caller {
  const place = { organization_id: organizationId, project_id: null, environment_id: null }
  return { ...caller, grants: [...caller.grants, { ...place, permissions: ROLE_PERMISSIONS.owner }] }
}

function ambiguous(): Refused {
  const message = 'several organizations have this name: give the url_slug of the one that you mean'
  return {
    kind: 'refused',
    problems: { lacking: [], faults: [{ path: ['organization'], message }], conflicts: [] },
  }
}
