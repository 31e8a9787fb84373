import { sql } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { hasScope } from '#access/authorization/token-limits.ts'
import { assignSlots, type EnqueueTargets, leaveGate } from '#engine/scheduling/assign-slots.ts'
import { reportMoves } from '#engine/scheduling/committed-moves.ts'
import type { ScheduledAction } from '#engine/scheduling/scheduled-action.ts'
import { openSchedulingPass, type SchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { isEnd } from '#model/actions/status.ts'
import { freezesThatHold } from '#model/gates/decide-gate.ts'
import { type Freeze, type FreezeInForce, inForce, loadFreezes } from '#model/gates/load-freezes.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import type { ReleaseDeps } from './release-loop.ts'
import type { Override } from './schemas.ts'
import { openChecks } from './settle-gate.ts'

const WHAT_DOES = 'GET /actions/{id}/gates says what it waits for.'

/** Who lets a run through, and where. */
export type Overrider = {
  caller: Pick<Caller, 'id' | 'grants' | 'token'>
  actor: Actor
  scope: { organization_id: number; project_id?: number | null; environment_id?: number | null }
}

/** Lets a run that has not started through the checks, or the freezes, that are in force now; later ones hold it again. */
export function overrideGate(
  { db, onMoves, enqueueTargets }: Omit<ReleaseDeps, 'onError'>,
  actionId: number,
  override: Override,
  by: Overrider,
): Promise<{ kind: 'overridden' } | HttpProblem> {
  const { environment_id: environmentId } = by.scope
  return reportMoves(db, onMoves, async (trx): Promise<{ kind: 'overridden' } | HttpProblem> => {
    const pass = await openSchedulingPass(trx, environmentId!)
    const [action] = await pass.load([actionId])
    if (!action) return { kind: 'gone' }
    if (isEnd(action.status)) return conflict('The action has already ended.')
    if (action.startedAt !== null) return conflict('The action has already started.')
    if (action.isSuperseded) return conflict('A newer run has superseded the action.')
    if (override.gate === 'checks') return overrideChecks(pass, action, override, by, enqueueTargets)
    const holding = freezesThatHold({ ...action, freezes: pass.freezes() })
    if (holding.length === 0) return conflict(`No freeze holds the action. ${WHAT_DOES}`)
    const problem = checkOverride(by, holding)
    if (problem) return problem
    await storeOverride(trx, actionId, override, pass.freezes(), by)
    const givenAt = Date.parse(pass.at)
    const overridden = holding.map(({ id, window }) => ({ id, from: window.from, givenAt }))
    action.overriddenFreezes = [...action.overriddenFreezes, ...overridden]
    await leaveGate(pass, action)
    await assignSlots(pass, { actionIds: [actionId] }, enqueueTargets)
    return { kind: 'overridden' }
  })
}

/** Whatever the pipeline waits for now; a setting that is tightened later holds the run again. */
async function overrideChecks(
  pass: SchedulingPass,
  action: ScheduledAction,
  override: Override,
  by: Overrider,
  enqueueTargets: EnqueueTargets,
): Promise<{ kind: 'overridden' } | HttpProblem> {
  if (!action.needsChecks) return conflict(`The action does not wait for checks. ${WHAT_DOES}`)
  const problem = checkOverride(by, [])
  if (problem) return problem
  await storeOverride(pass.trx, action.id, override, [], by)
  await sql`
    update check_requests set expires_at = null, due_at = null where action_id = ${action.id}`.execute(
    pass.trx,
  )
  await openChecks(pass, action, enqueueTargets)
  return { kind: 'overridden' }
}

/** The overrides that a run is started with: they cover what is in force now. `store` belongs to its transaction. */
export async function prepareOverrides(
  trx: Transaction,
  overrides: readonly Override[],
  by: Overrider,
): Promise<{ kind: 'allowed'; store(actionId: number): Promise<void> } | HttpProblem> {
  if (overrides.length === 0) return { kind: 'allowed', store: async () => {} }
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::timestamptz(3) as now`.execute(trx)
  const freezes = inForce(await loadFreezes(trx, by.scope.environment_id!), rows[0]!.now)
  const problem = checkOverride(by, overrides.some(({ gate }) => gate === 'freeze') ? freezes : [])
  if (problem) return problem
  return {
    kind: 'allowed',
    async store(actionId) {
      for (const override of overrides) await storeOverride(trx, actionId, override, freezes, by)
    },
  }
}

function checkOverride(
  { caller, scope }: Overrider,
  freezes: readonly Pick<Freeze, 'isOfOrganization'>[],
): HttpProblem | undefined {
  const lacks = (permission: 'environment:edit' | 'organization:edit') => {
    const at = permission === 'environment:edit' ? scope : { organization_id: scope.organization_id }
    return can(caller, permission, at) ? undefined : forbidden(`the permission ${permission}`)
  }
  if (caller.token.kind === 'personal' && !hasScope(caller.token, 'manage'))
    return forbidden('a personal access token with the scope manage')
  const isOfOrganization = freezes.some((freeze) => freeze.isOfOrganization)
  return lacks('environment:edit') ?? (isOfOrganization ? lacks('organization:edit') : undefined)
}

const forbidden = (what: string): HttpProblem => ({
  kind: 'forbidden',
  reason: `To override a gate requires ${what}.`,
})

async function storeOverride(
  trx: Transaction,
  actionId: number,
  { gate, reason }: Override,
  freezes: readonly FreezeInForce[],
  { caller, actor, scope }: Overrider,
): Promise<void> {
  const covered = gate === 'freeze' ? freezes : []
  const freeze_ids = covered.map(({ id }) => id)
  const freeze_starts = covered.map(({ window }) => new Date(window.from).toISOString())
  await trx
    .insertInto('gate_overrides')
    .values({ action_id: actionId, gate, reason, freeze_ids, freeze_starts, user_id: caller.id })
    .execute()
  const { name } = await trx
    .selectFrom('actions')
    .innerJoin('pipelines', 'pipelines.id', 'actions.pipeline_id')
    .select('pipelines.name')
    .where('actions.id', '=', actionId)
    .executeTakeFirstOrThrow()
  await recordAudit(trx, actor, {
    organizationId: scope.organization_id,
    verb: 'overrode',
    subject: { type: 'action', id: actionId, name: `${name} #${actionId}` },
    before: null,
    after: { gate, reason, ...(gate === 'freeze' && { freeze_ids }) },
  })
}
