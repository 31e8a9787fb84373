import { type Selectable, sql } from 'kysely'
import { compileVariable } from '#model/hooks/compile-variable.ts'
import { hookSecretAad } from '#model/hooks/present-hook.ts'
import type { HookCondition, HookVariable } from '#model/hooks/schemas.ts'
import { parseTemplate, type SignatureRule } from '#model/hooks/signature-schemes.ts'
import { compileCondition } from '#model/payload/conditions.ts'
import { loadDefinitions, type PipelineDefinition, planRun } from '#model/pipelines/plan.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HooksTable } from '#platform/database/tables.ts'

/** For as long, a call of the host is a duplicate of the one that Gantry made for the same commit. */
const FOUND_FOR = sql`interval '10 minutes'`

type HookRow = Selectable<HooksTable> & {
  secret_algorithm: SignatureRule['algorithm'] | null
  settings: {
    variables: HookVariable[]
    rate_limit: { per_second: number; burst: number }
    signature: {
      scheme: SignatureRule['scheme']
      template: string | null
      timestamp_header: string | null
      id_header: string | null
    }
  }
  trigger_when: { conditions: HookCondition[]; paths?: string[] }
  repository: string | null
  default_branch: string | null
  provider_code: string | null
  credential_id: number | null
  notifies_on_start: boolean
  is_connected: boolean
  waits_for_checks: boolean
  finds: Find[] | null
}

/** A call that Gantry made because the host did not. `until` (in milliseconds): from then on, the host's own is another one. */
type Find = { ref: string; commit: string; actionId: number; until: number }

/** Everything a call needs to know about its hook; compiled once per tree version. */
export type CompiledHook = ReturnType<typeof compileHook>

/** How a call identifies its hook: by the token in its URL or, when calls must be signed, by the hook's id. */
type HookAddress = { tokenHash: Buffer } | { signedHookId: string } | { hookId: string }

/** `unsaved` replaces what is stored. */
export async function loadHook(
  db: Database,
  box: SecretBox,
  address: HookAddress,
  unsaved: Partial<Pick<HookRow, 'settings' | 'trigger_when'>> = {},
): Promise<CompiledHook | null> {
  const { rows } = await sql<HookRow>`
    select h.*, application.repository, application.default_branch, application.credential_id, credential.provider_code,
      exists (
        select from hooks o join pipelines q on q.id = o.pipeline_id
        where o.type = 'outgoing' and o.active and o.deleted_at is null
          and (q.id = p.id or q.application_id = p.application_id or q.server_id = p.server_id)) as notifies_on_start,
      exists (select from hook_connections c where c.hook_id = h.id) as is_connected,
      exists (select from checks_terms x where x.pipeline_id = p.id) as waits_for_checks,
      (select json_agg(json_build_object('ref', m.ref, 'commit', m.commit, 'actionId', r.action_id,
          'until', extract(epoch from m.created_at + ${FOUND_FOR}) * 1000))
        from missed_calls m join hook_requests r on r.id = m.request_id and r.action_id is not null
        where m.hook_id = h.id and m.state = 'found' and m.created_at > now() - ${FOUND_FOR}) as finds
    from hooks h
    join pipelines p on p.id = h.pipeline_id
    left join applications application on application.id = p.application_id
    left join credentials credential on credential.id = application.credential_id
    where h.type = 'incoming' and h.deleted_at is null and ${conditionOf(address)}`.execute(db)
  const row = rows[0]
  if (!row) return null
  const pipeline = (await loadDefinitions(db, [row.pipeline_id])).get(row.pipeline_id)!
  return compileHook({ ...row, ...unsaved }, pipeline, box)
}

function conditionOf(address: HookAddress) {
  if ('tokenHash' in address) return sql`h.url_token_hash = ${address.tokenHash}`
  if ('hookId' in address) return sql`h.id = ${address.hookId}`
  return sql`h.id = ${address.signedHookId} and h.requires_secret`
}

function compileHook(row: HookRow, pipeline: PipelineDefinition, box: SecretBox) {
  return {
    id: row.id,
    name: row.name,
    active: row.active,
    /** Null: calls need no signature. */
    signature: row.requires_secret ? compileSignature(row, box) : null,
    /** In milliseconds since 1970. */
    previousSecretUntil: row.previous_secret_until === null ? 0 : Date.parse(row.previous_secret_until),
    rateLimit: { perSecond: row.settings.rate_limit.per_second, burst: row.settings.rate_limit.burst },
    conditions: row.trigger_when.conditions.map(compileCondition),
    /** Whether a worker decides by changed files: engine/runner/check-paths.ts. */
    hasPaths: (row.trigger_when.paths?.length ?? 0) > 0,
    variables: row.settings.variables.map(compileVariable),
    pipeline,
    plan: planRun(pipeline),
    /** Whether outgoing hooks exist that may subscribe to the start of its runs. */
    notifiesOnStart: row.notifies_on_start,
    /** Of connected hooks, what their hosts send is remembered: engine/catching-up. */
    isConnected: row.is_connected,
    /** Its host also calls when checks change, and does so for a while after the pipeline no longer waits for them. */
    isToldOfChecks: row.is_connected && row.waits_for_checks,
    finds: row.finds ?? [],
    application:
      row.repository === null
        ? null
        : {
            repository: row.repository,
            defaultBranch: row.default_branch!,
            provider: row.provider_code,
            credentialId: row.credential_id,
          },
  }
}

function compileSignature(row: HookRow, box: SecretBox): SignatureRule {
  const { signature } = row.settings
  const sealed = [row.secret, row.previous_secret].filter((one) => one !== null)
  return {
    scheme: signature.scheme,
    algorithm: row.secret_algorithm!,
    header: row.secret_header_name!.toLowerCase(),
    template: parseTemplate(signature.template ?? ''),
    timestampHeader: signature.timestamp_header?.toLowerCase() ?? null,
    idHeader: signature.id_header?.toLowerCase() ?? null,
    secrets: sealed.map((one) => box.open(one, hookSecretAad(row.id))),
  }
}
