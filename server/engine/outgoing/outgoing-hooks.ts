import { type Selectable, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { loadGrants } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { signingKey } from '#adapters/http-client/sign.ts'
import { allOf, compileRequests, type RequestSettings } from '#model/hooks/compile-requests.ts'
import { effectiveRequest } from '#model/hooks/effective-request.ts'
import { hookSecretAad } from '#model/hooks/present-hook.ts'
import { isAboutCommits } from '#model/hooks/presets/schema.ts'
import { repositoryProblem, type StatusOwner } from '#model/hooks/repository-host.ts'
import type { HookCondition } from '#model/hooks/schemas.ts'
import { isStatusKind } from '#model/hooks/sent-status.ts'
import {
  allOriginsOf,
  isLimited,
  mixesTokens,
  originProblem,
  senderOf,
  tokenOrigins,
  tokensIn,
} from '#model/hooks/token-use.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { compileCondition } from '#model/payload/conditions.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HooksTable, TokenTargets } from '#platform/database/tables.ts'
import { createMask } from '#platform/masking/mask.ts'

type HookRow = Selectable<HooksTable> & {
  organization_id: number
  target_url: string
  verify_ssl: boolean
  settings: RequestSettings & { timeout_seconds: number }
  trigger_when: { events: string[]; conditions: HookCondition[] }
  secret: Buffer
  /** The credentials of the hook and of its application. */
  own: StoredCredential | null
  source: StoredCredential | null
  /** Of the application. */
  repository: string | null
}

type StoredCredential = StatusOwner & {
  id: number
  targets: TokenTargets
  secret: string | null
  isUsable: boolean
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
  unsaved: Partial<Pick<HookRow, 'target_url' | 'settings' | 'credential_id' | 'edited_by'>> = {},
): Promise<Map<string, LoadedHook>> {
  const ownId =
    unsaved.credential_id === undefined ? sql.ref('h.credential_id') : sql`${unsaved.credential_id}::bigint`
  const { rows } = await sql<HookRow>`
    select h.*, project.organization_id, application.repository, ${credentialOf('own')}, ${credentialOf('source')}
    from hooks h
    join pipelines p on p.id = h.pipeline_id
    join environments environment on environment.id = h.environment_id
    join projects project on project.id = environment.project_id
    left join applications application on application.id = p.application_id
    left join credentials own on own.id = ${ownId}
    left join credentials source on source.id = application.credential_id
    where h.id = any(${ids}::uuid[]) and h.type = 'outgoing' and h.deleted_at is null`.execute(db)
  return new Map(
    rows.map((row): [string, LoadedHook] => {
      try {
        return [row.id, compileHook({ ...row, ...unsaved }, box)]
      } catch (error) {
        return [row.id, new Error('This hook could not be loaded.', { cause: error })]
      }
    }),
  )
}

/** Throws the error of a hook that cannot be opened. */
export function opened(hook: LoadedHook | undefined): OutgoingHook | undefined {
  if (hook instanceof Error) throw hook
  return hook
}

/** A row of `credentials` that is joined under this name, as a StoredCredential. */
const credentialOf = (c: 'own' | 'source') =>
  sql.raw(`case when ${c}.id is not null then json_build_object('id', ${c}.id, 'provider', ${c}.provider_code,
    'baseUrl', ${c}.base_url, 'sshHosts', ${c}.ssh_hosts, 'targets', ${c}.token_targets,
    'secret', encode(${c}.secret, 'base64'), 'isUsable', ${c}.active and ${c}.auth_type = 'token') end as ${c}`)

function compileHook(row: HookRow, box: SecretBox) {
  const { trigger_when } = row
  const preset = row.settings.preset?.kind ?? null
  const effective = effectiveRequest(row, row.own ?? row.source)
  const isFit = effective.kind === 'request'
  const { settings, target_url, conditions: more } = isFit ? effective : { ...row, conditions: [] }
  const compiled = isFit ? compileRequests(effective) : null
  const requests = compiled?.kind === 'compiled' ? compiled.requests : null
  const conditions = trigger_when.conditions.map(compileCondition)
  const prerequisites = more.map(compileCondition)
  const secret = box.open(row.secret, hookSecretAad(row.id))
  const previous = row.previous_secret && box.open(row.previous_secret, hookSecretAad(row.id))
  const uses = tokensIn(requests?.reads ?? [])
  const sent = senderOf(uses, row.own, row.source)
  const credential = sent && openCredential(sent, box)
  const reads = [
    ...(requests?.reads ?? []),
    ...[...conditions, ...prerequisites].flatMap(({ reads }) =>
      reads.map((keys) => keys.slice(0, 2).join('.')),
    ),
  ]
  return {
    id: row.id,
    name: row.name,
    actionType: row.action_type,
    pipelineId: row.pipeline_id,
    organizationId: row.organization_id,
    editedBy: row.edited_by,
    timeoutMs: settings.timeout_seconds * 1_000,
    verifySsl: row.verify_ssl,
    /** Of presets that set a commit status. */
    statusKind: isStatusKind(preset) ? preset : null,
    events: trigger_when.events,
    conditions,
    /** Of presets that need a commit. */
    reportsCommits: preset !== null && isAboutCommits(preset),
    /** What has to be known before anything can be sent. */
    prerequisites,
    /** Null: the stored template no longer compiles, which a change of the rules can cause, or `unfit` says why. */
    requests,
    unfit: isFit ? null : Object.values(effective.errors).flat().join('; '),
    preset,
    /** What it reads from answers. */
    capture: settings.capture ?? [],
    /** What the record of a request shows that was not rendered. */
    unsent: {
      url: target_url,
      method: settings.requests?.create.method ?? settings.request_method ?? 'POST',
    },
    readsFullAction: reads.some(needsFullAction),
    readsChanges: reads.some((name) => name.startsWith('changes.')),
    readsGates: reads.some((name) => name.startsWith('gates.')),
    signingKey: signingKey(secret),
    previousKey:
      previous === null ? null : { key: signingKey(previous), until: Date.parse(row.previous_secret_until!) },
    /** Whose token is sent; only for hooks that send one. Token null: it is not usable. */
    credential,
    ownsCredential: sent !== null && sent === row.own,
    /** From where answers are stored; null: from everywhere, because its requests contain no secret. */
    answerOrigins: requests?.readsSecret ? (credential ? tokenOrigins(credential) : []) : null,
    /** Why the token may not be sent, no matter who saved the hook. */
    tokenProblem: tokenProblemOf(row, uses, credential, requests?.origins ?? []),
    /** Why it may not be sent if tokens may go to their providers only. */
    outsideProblem:
      credential && requests ? originProblem(credential, allOriginsOf(allOf(requests))) : undefined,
    /** Hides the hook's secrets and its token. */
    mask: createMask(
      [secret, previous, credential?.token].flatMap((text) =>
        text ? [text, text.replace(/^whsec_/, '')] : [],
      ),
    ),
  }
}

type SentCredential = ReturnType<typeof openCredential>

function openCredential({ secret, isUsable, ...credential }: StoredCredential, box: SecretBox) {
  const sealed = isUsable && secret !== null ? Buffer.from(secret, 'base64') : null
  return { ...credential, token: sealed && box.open(sealed, credentialAad(credential.id)) }
}

/**
 * The credential may have changed since the hook was saved: its `base_url`, its hosts, or which one the application has. And
 * the repository may have moved.
 */
function tokenProblemOf(
  row: HookRow,
  uses: ReturnType<typeof tokensIn>,
  credential: SentCredential | null,
  origins: readonly string[],
): string | undefined {
  const { own, source } = row
  if (mixesTokens(uses, own?.id ?? null, source?.id ?? null))
    return 'The hook uses the tokens of two credentials.'
  if (!credential) return undefined
  const problem =
    (uses.credential ? originProblem(credential, origins) : undefined) ?? hostProblem(row, credential)
  return problem && `The request ${problem}.`
}

function hostProblem({ settings, source, repository }: HookRow, owner: SentCredential): string | undefined {
  if (!settings.preset || repository === null) return undefined
  const provider = source && { code: source.provider, baseUrl: source.baseUrl }
  return repositoryProblem(settings.preset, owner, { repository, provider })
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

/** `tokenTargets`: what the installation says about all credentials. */
export type TokenDeps = { db: Database; tokenTargets: TokenTargets }

/** The token that a hook may send, or why it may not send one. */
export type TokenAuthorization =
  | { kind: 'allowed'; token: string | null }
  | { kind: 'denied'; message: string }

const NO_TOKEN = 'The application has no active credential with a token to send.'
const NO_OWN_TOKEN =
  'The credential of this hook is inactive, was removed, or has no token: give the hook another one.'

/**
 * A hook sends a token on behalf of the user who last edited it: that user must be allowed to use the credential now,
 * not only when the hook was saved.
 */
export async function authorizeTokens(
  { db, tokenTargets }: TokenDeps,
  hooks: readonly OutgoingHook[],
): Promise<ReadonlyMap<string, TokenAuthorization>> {
  const using = hooks.filter((hook) => hook.requests?.usesAccessToken)
  const editors = await loadGrants(db, [...new Set(using.map((hook) => hook.editedBy))])
  return new Map(hooks.map((hook) => [hook.id, authorize(hook)]))

  function authorize(hook: OutgoingHook): TokenAuthorization {
    const { requests, credential, ownsCredential, tokenProblem, outsideProblem } = hook
    const { editedBy, organizationId } = hook
    if (!requests?.usesAccessToken) return { kind: 'allowed', token: null }
    if (!credential?.token) return { kind: 'denied', message: ownsCredential ? NO_OWN_TOKEN : NO_TOKEN }
    if (tokenProblem !== undefined) return { kind: 'denied', message: tokenProblem }
    if (outsideProblem !== undefined && isLimited(credential.targets, tokenTargets))
      return { kind: 'denied', message: `The request ${outsideProblem} (token_targets).` }
    const editor = editors.get(editedBy)
    if (editor && can(editor, 'credential:run', { organization_id: organizationId }))
      return { kind: 'allowed', token: credential.token }
    return {
      kind: 'denied',
      message:
        'The user who last edited this hook may not use the credential (credential:run). A user with that permission must save the hook again.',
    }
  }
}
