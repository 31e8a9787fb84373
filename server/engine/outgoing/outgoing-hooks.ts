import { type Selectable, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { loadGrants } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { signingKey } from '#adapters/http-client/sign.ts'
import { compileRequest } from '#adapters/templates/compile.ts'
import { hookSecretAad } from '#model/hooks/present-hook.ts'
import type { HookCondition } from '#model/hooks/schemas.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { compileCondition } from '#model/payload/conditions.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HooksTable } from '#platform/database/tables.ts'
import { createMask } from '#platform/masking/mask.ts'

type HookRow = Selectable<HooksTable> & {
  organization_id: number
  target_url: string
  verify_ssl: boolean
  settings: {
    request_headers: { name: string; value: string }[]
    request_body: Record<string, unknown> | null
    request_method: string
    timeout_seconds: number
  }
  trigger_when: { events: string[]; conditions: HookCondition[] }
  secret: Buffer
  credential_id: number | null
  credential_secret: Buffer | null
  credential_is_usable: boolean
}

/** Everything a delivery needs to know about its hook; compiled once per tree version. */
export type OutgoingHook = ReturnType<typeof compileHook>

/** An error: the hook cannot be opened, for example because its secret was sealed with another key. */
type LoadedHook = OutgoingHook | Error

/** Removed hooks are left out. `unsaved` replaces what is stored. */
export async function loadOutgoingHooks(
  db: Database,
  box: SecretBox,
  ids: readonly string[],
  unsaved: Partial<Pick<HookRow, 'target_url' | 'settings' | 'edited_by'>> = {},
): Promise<Map<string, LoadedHook>> {
  const { rows } = await sql<HookRow>`
    select h.*, project.organization_id, credential.id as credential_id, credential.secret as credential_secret, credential.active and credential.auth_type = 'token' as credential_is_usable
    from hooks h
    join pipelines p on p.id = h.pipeline_id
    join environments environment on environment.id = h.environment_id
    join projects project on project.id = environment.project_id
    left join applications application on application.id = p.application_id
    left join credentials credential on credential.id = application.credential_id
    where h.id = any(${ids}::uuid[]) and h.type = 'outgoing' and h.deleted_at is null`.execute(db)
  return new Map(
    rows.map((row): [string, LoadedHook] => {
      try {
        return [row.id, compileHook({ ...row, ...unsaved }, box)]
      } catch (error) {
        return [row.id, new Error('This hook cannot be opened.', { cause: error })]
      }
    }),
  )
}

function compileHook(row: HookRow, box: SecretBox) {
  const { settings, trigger_when } = row
  const compiled = compileRequest({ target_url: row.target_url, settings }, templateNames())
  const request = compiled.kind === 'compiled' ? compiled.request : null
  const conditions = trigger_when.conditions.map(compileCondition)
  const secret = box.open(row.secret, hookSecretAad(row.id))
  const previous = row.previous_secret && box.open(row.previous_secret, hookSecretAad(row.id))
  const credential = request?.usesAccessToken ? openCredential(row, box) : null
  const reads = [...(request?.reads ?? []), ...conditions.map(({ keys }) => keys.slice(0, 2).join('.'))]
  return {
    id: row.id,
    name: row.name,
    actionType: row.action_type,
    pipelineId: row.pipeline_id,
    organizationId: row.organization_id,
    editedBy: row.edited_by,
    targetUrl: row.target_url,
    method: settings.request_method,
    timeoutMs: settings.timeout_seconds * 1_000,
    verifySsl: row.verify_ssl,
    events: trigger_when.events,
    conditions,
    /** Null: the stored template no longer compiles, which a change of the rules can cause. */
    request,
    readsFullAction: reads.some(needsFullAction),
    signingKey: signingKey(secret),
    previousKey:
      previous === null ? null : { key: signingKey(previous), until: Date.parse(row.previous_secret_until!) },
    /** Only for hooks that use it. Token null: the application has no usable credential with a token. */
    credential,
    /** Hides the hook's secrets and its token. */
    mask: createMask(
      [secret, previous, credential?.token].flatMap((text) =>
        text ? [text, text.replace(/^whsec_/, '')] : [],
      ),
    ),
  }
}

function openCredential(row: HookRow, box: SecretBox): { id: number; token: string | null } | null {
  const { credential_id: id, credential_secret: sealed } = row
  if (id === null) return null
  return { id, token: row.credential_is_usable && sealed ? box.open(sealed, credentialAad(id)) : null }
}

/** What the action's own row holds; anything else needs its targets, relatives and resource. */
const IN_ROW = new Set(
  `id status status_human_readable status_reason_code status_reason_human_readable type type_human_readable
  url_web_permalink trigger_comment action_data triggered_from pipeline_id retry_of started_at completed_at created_at
  updated_at`.split(/\s+/),
)

/** Whether a template or condition that reads this name needs more than the action's own row. */
function needsFullAction(name: string): boolean {
  const [root, field] = name.split('.')
  return name === '*' || (root === 'action' && !IN_ROW.has(field ?? ''))
}

/** Hooks as of one tree version; those of an older version are dropped. */
export function createOutgoingHooks(db: Database, box: SecretBox) {
  let version = -1
  const cache = new LRUCache<string, LoadedHook>({ max: 10_000 })
  return async (ids: readonly string[], treeVersion: number): Promise<ReadonlyMap<string, LoadedHook>> => {
    if (treeVersion !== version) cache.clear()
    version = treeVersion
    const found = new Map<string, LoadedHook>()
    const missing = [...new Set(ids)].filter((id) => {
      const hook = cache.get(id)
      if (hook) found.set(id, hook)
      return !hook
    })
    if (missing.length === 0) return found
    for (const [id, hook] of await loadOutgoingHooks(db, box, missing)) {
      found.set(id, hook)
      if (treeVersion === version) cache.set(id, hook)
    }
    return found
  }
}

/** The token that a hook may send, or why it may not send one. */
export type TokenAuthorization =
  | { kind: 'allowed'; token: string | null }
  | { kind: 'denied'; message: string }

/**
 * A hook sends a token on behalf of the user who last edited it: that user must be allowed to use the credential now,
 * not only when the hook was saved.
 */
export async function authorizeTokens(
  db: Database,
  hooks: readonly OutgoingHook[],
): Promise<ReadonlyMap<string, TokenAuthorization>> {
  const using = hooks.filter((hook) => hook.request?.usesAccessToken)
  const editors = await loadGrants(db, [...new Set(using.map((hook) => hook.editedBy))])
  return new Map(hooks.map((hook) => [hook.id, authorize(hook)]))

  function authorize({ request, credential, editedBy, organizationId }: OutgoingHook): TokenAuthorization {
    if (!request?.usesAccessToken) return { kind: 'allowed', token: null }
    if (!credential?.token)
      return { kind: 'denied', message: 'The application has no active credential with a token to send.' }
    const editor = editors.get(editedBy)
    if (editor && can(editor, 'credential:run', { organization_id: organizationId }))
      return { kind: 'allowed', token: credential.token }
    return {
      kind: 'denied',
      message:
        'The user who last edited this hook may not use the credential (credential:run). A user who may has to save the hook again.',
    }
  }
}
