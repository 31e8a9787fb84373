import type { Transaction } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { Tables } from '#platform/database/tables.ts'
import { MASK } from '#platform/masking/masked.ts'

/** Notes who made, changed or removed a hook. What a header sends may be a key: its value is left out. */
export async function auditHook(
  trx: Transaction<Tables>,
  actor: Actor,
  verb: string,
  before: HookRow | null,
  after: HookRow | null,
): Promise<void> {
  const hook = (after ?? before)!
  const { organization_id } = await trx
    .selectFrom('projects')
    .select('organization_id')
    .where('id', '=', hook.project_id)
    .executeTakeFirstOrThrow()
  await recordAudit(trx, actor, {
    organizationId: organization_id,
    verb,
    subject: { type: `${hook.type}_hook`, id: hook.id, name: hook.name },
    before: before && shown(before),
    after: after && shown(after),
  })
}

function shown(row: HookRow): object {
  const { name, active, pipeline_id, target_url, verify_ssl, requires_secret, trigger_when } = row
  const { secret_algorithm, secret_header_name, settings } = row
  const headers = (settings.request_headers ?? []) as { name: string; value: string }[]
  return {
    name,
    active,
    pipeline_id,
    target_url,
    verify_ssl,
    requires_secret,
    secret_algorithm,
    secret_header_name,
    settings: {
      ...settings,
      ...(settings.request_headers !== undefined && {
        request_headers: headers.map((header) => ({ name: header.name, value: MASK })),
      }),
    },
    trigger_when,
    secret: row.secret === null ? null : MASK,
  }
}
