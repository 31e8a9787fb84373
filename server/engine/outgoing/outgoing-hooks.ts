// The outgoing room: telling the world what became of runs. Events make deliveries (events/fan-out.ts); here
// they are claimed, rendered, sent and recorded, tried again or given up.
import type { KeyObject } from 'node:crypto'
import { sql } from 'kysely'
import { signingKey } from '#adapters/http-client/sign.ts'
import { type CompiledRequest, compileRequest } from '#adapters/templates/compile.ts'
import { hookSecretAad } from '#model/hooks/present-hook.ts'
import type { HookCondition } from '#model/hooks/schemas.ts'
import { templateNames } from '#model/hooks/template-names.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { CompiledCondition } from '#model/payload/conditions.ts'
import { parsePath } from '#model/payload/payload-path.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { createMask, type Mask } from '#platform/masking/mask.ts'
import { needsWholeAction } from './whole-action.ts'

/** Everything that telling a receiver needs to know of a hook, worked out once per version of the tree. */
export type OutgoingHook = {
  id: string
  organizationId: number
  editedBy: number
  targetUrl: string
  method: string
  timeoutMs: number
  verifySsl: boolean
  events: readonly string[]
  conditions: readonly CompiledCondition[]
  /** Null: what is stored does not compile any more, which a change of the rules can cause. */
  request: CompiledRequest | null
  readsWholeAction: boolean
  signingKey: KeyObject
  previousKey: { key: KeyObject; until: number } | null
  /** Only of hooks that use it. Without a token: the application has no credential that has one. */
  credential: { id: number; token: string | null } | null
  /** Hides the hook's secrets and its token. */
  mask: Mask
}

type HookRow = {
  id: string
  organization_id: number
  edited_by: number
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
  previous_secret: Buffer | null
  previous_secret_until: string | null
  credential_id: number | null
  credential_secret: Buffer | null
  credential_serves: boolean
}

/** A hook that cannot be read, such as one whose secret was sealed with another key, concerns nobody else. */
export type FoundHook = OutgoingHook | Error

/** Hooks that were removed meanwhile are left out. */
export async function loadOutgoingHooks(
  db: Database,
  box: SecretBox,
  ids: readonly string[],
): Promise<Map<string, FoundHook>> {
  const { rows } = await sql<HookRow>`
    select h.id, project.organization_id, h.edited_by, h.target_url, h.verify_ssl, h.settings, h.trigger_when,
      h.secret, h.previous_secret, h.previous_secret_until, credential.id as credential_id,
      credential.secret as credential_secret, credential.active and credential.auth_type = 'token' as credential_serves
    from hooks h
    join pipelines p on p.id = h.pipeline_id
    join environments environment on environment.id = h.environment_id
    join projects project on project.id = environment.project_id
    left join applications application on application.id = p.application_id
    left join credentials credential on credential.id = application.credential_id
    where h.id = any(${ids}::uuid[]) and h.type = 'outgoing' and h.deleted_at is null`.execute(db)
  return new Map(rows.map((row) => [row.id, readHook(row, box)]))
}

function readHook(row: HookRow, box: SecretBox): FoundHook {
  try {
    return compileHook(row, box)
  } catch (error) {
    return new Error('This hook cannot be read.', { cause: error })
  }
}

function compileHook(row: HookRow, box: SecretBox): OutgoingHook {
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
    organizationId: row.organization_id,
    editedBy: row.edited_by,
    targetUrl: row.target_url,
    method: settings.request_method,
    timeoutMs: settings.timeout_seconds * 1_000,
    verifySsl: row.verify_ssl,
    events: trigger_when.events,
    conditions,
    request,
    readsWholeAction: needsWholeAction(reads),
    signingKey: signingKey(secret),
    previousKey:
      previous === null ? null : { key: signingKey(previous), until: Date.parse(row.previous_secret_until!) },
    credential,
    mask: createMask(
      [secret, previous, credential?.token].flatMap((text) =>
        text ? [text, text.replace(/^whsec_/, '')] : [],
      ),
    ),
  }
}

function openCredential(row: HookRow, box: SecretBox): OutgoingHook['credential'] {
  const { credential_id: id, credential_secret: sealed } = row
  if (id === null) return null
  return { id, token: row.credential_serves && sealed ? box.open(sealed, credentialAad(id)) : null }
}

function compileCondition({ path, accepted_values }: HookCondition): CompiledCondition {
  const parsed = parsePath(path)
  if (parsed.kind === 'fault') throw new Error(`A stored path ${parsed.message}`)
  return { path, keys: parsed.keys, acceptedValues: accepted_values }
}

/** Hooks as they are at one version of the tree; what is kept of an older one is dropped. */
export function createOutgoingHooks(db: Database, box: SecretBox) {
  let version = -1
  let kept = new Map<string, FoundHook>()
  return async (ids: readonly string[], treeVersion: number): Promise<ReadonlyMap<string, FoundHook>> => {
    if (treeVersion !== version) {
      version = treeVersion
      kept = new Map()
    }
    const here = kept
    const missing = [...new Set(ids)].filter((id) => !here.has(id))
    if (missing.length > 0)
      for (const [id, hook] of await loadOutgoingHooks(db, box, missing)) here.set(id, hook)
    return here
  }
}

export type FindOutgoingHooks = ReturnType<typeof createOutgoingHooks>
