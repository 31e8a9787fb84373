import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import { updateRow } from '#platform/database/rows.ts'
import { effectiveRequest } from './effective-request.ts'
import { resetHealth } from './load-health.ts'
import type { Preset } from './presets/schema.ts'

type Row = {
  id: string
  target_url: string
  settings: { preset: Preset; timeout_seconds: number }
  provider: string | null
  base_url: string | null
}

/**
 * The stored URL of a hook with a preset is that of its credential: claims find the rate budget by it. For after a change of the
 * credential's address, or of which credential the application has. A hook whose preset no longer fits keeps its URL.
 */
export async function storePresetUrls(
  trx: Transaction,
  of: { credentialId: number } | { applicationId: number },
): Promise<void> {
  const { rows } = await sql<Row>`
    select h.id, h.target_url, h.settings, c.provider_code as provider, c.base_url
    from hooks h join pipelines p on p.id = h.pipeline_id
    left join applications app on app.id = p.application_id
    left join credentials c on c.id = coalesce(h.credential_id, app.credential_id)
    where h.type = 'outgoing' and h.deleted_at is null and h.settings -> 'preset' is not null
      and ${'credentialId' in of ? sql`c.id = ${of.credentialId}` : sql`app.id = ${of.applicationId}`}
    order by h.id`.execute(trx)
  for (const { id, provider, base_url: baseUrl, ...hook } of rows) {
    const effective = effectiveRequest(hook, provider === null ? null : { provider, baseUrl })
    if (effective.kind === 'unfit' || effective.target_url === hook.target_url) continue
    await updateRow(trx, 'hooks', id, { target_url: effective.target_url })
    await resetHealth(trx, id)
  }
}
