import { Document, isScalar, visit } from 'yaml'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { isGeneratedKey } from '#manage/credentials/private-key.ts'
import { findOrganization } from '#manage/organizations/manage-organizations.ts'
import type { HookRow } from '#model/hooks/present-hook.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { isLargeInteger } from '#platform/exact-json.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { listsUsers, mayView, mayViewMembers } from './permissions.ts'
import { DEFAULT_TIMEOUT_SECONDS } from './plan.ts'
import { keyOf, PROJECT, parentPath } from './resources.ts'
import { type Fields, loadState, type State, type StoredResource } from './stored-state.ts'

const MAX_NAME_CHARACTERS = 58

export type Exported =
  | { kind: 'exported'; text: string }
  | { kind: 'unknown project' }
  /** Names that several resources share, by path. */
  | { kind: 'ambiguous'; errors: ErrorsByField }

/** A stored project as the document that would create it. */
export async function exportDocument(
  db: Database,
  box: SecretBox,
  caller: Caller,
  organizationId: number,
  projectName: string,
): Promise<Exported> {
  const state = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => loadState(trx, box, await findOrganization(trx, organizationId), projectName))
  if (!state.resources.has(keyOf(PROJECT))) return { kind: 'unknown project' }
  const visible = listVisible(state, caller)
  const errors = findAmbiguousNames(visible)
  if (Object.keys(errors).length > 0) return { kind: 'ambiguous', errors }
  return { kind: 'exported', text: writeDocument(visible, state, caller) }
}

/** What the caller may view, each resource after its parent. */
function listVisible({ resources }: State, caller: Caller): StoredResource[] {
  const listed = new Set<string>()
  return [...resources.values()].filter((resource) => {
    const parent = parentPath(resource)
    const isVisible = resource.type === 'project' || mayView(caller, resource)
    if (!isVisible || (parent && !listed.has(keyOf(parent)))) return false
    listed.add(keyOf(resource.path))
    return true
  })
}

/** Secrets become `${NAME}`. */
function writeDocument(resources: readonly StoredResource[], state: State, caller: Caller): string {
  const placeholders = new Set<string>()
  const document = emptySection()
  for (const resource of resources) {
    const { type, name, path } = resource
    if (type === 'organization') document.organization = escapeText(name)
    else if (type === 'project') document.project = { name: escapeText(name), ...fieldsOf(resource) }
    else if (type === 'step') addStep(document, state, resource)
    else sectionAt(document, path.slice(0, -1))[name] = entryOf(resource, caller, addPlaceholder)
  }
  const head = [...placeholders].map((name) => `#   ${name}\n`).join('')
  const text = stringify(document)
  return head === '' ? text : `# These values are required:\n${head}${text}`

  /** `GITHUB_TOKEN`, `PRODUCTION_SHOP_DATABASE_PASSWORD`: the path, in characters that a name may have. */
  function addPlaceholder(words: readonly string[]): string {
    const plain = words
      .join('_')
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
    const short = plain.slice(-MAX_NAME_CHARACTERS).replace(/^[0-9_]+/, '') || 'VALUE'
    let name = short
    for (let number = 2; placeholders.has(name); number++) name = `${short}_${number}`
    placeholders.add(name)
    return `\${${name}}`
  }
}

function stringify(value: Fields): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  visit(document, {
    Pair(_key, { key }) {
      // Without quotes it would be a merge key.
      if (isScalar(key) && key.value === '<<') key.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0 })
}

/** Its keys are names that users chose, and `__proto__` is one of them. */
function emptySection(): Fields {
  return Object.create(null)
}

function sectionAt(document: Fields, path: readonly string[]): Fields {
  let section = document
  for (const part of path) {
    section[part] ??= emptySection()
    section = section[part] as Fields
  }
  return section
}

function entryOf(
  resource: StoredResource,
  caller: Caller,
  addPlaceholder: (words: readonly string[]) => string,
): Fields {
  const { type, path, body, scope, openSecret } = resource
  if (type === 'credential') {
    const { token_targets, ssh_hosts, ...fields } = fieldsOf(resource)
    const limits = {
      ...(token_targets !== 'anywhere' && { token_targets }),
      ...(resource.credential!.ssh_hosts.length > 0 && { ssh_hosts }),
    }
    return { ...fields, ...limits, ...secretOf(resource, addPlaceholder) }
  }
  if (type === 'environment' && listsUsers(body.approval) && !mayViewMembers(caller, scope)) {
    // Left out, it stays unchanged where the document is applied.
    const { approval, ...fields } = fieldsOf(resource)
    return fields
  }
  if (type !== 'variable') return fieldsOf(resource)
  const isShown = !body.hidden && can(caller, 'application:edit', scope)
  const names = path.filter((_, index) => index % 2 === 1)
  const value = isShown ? openSecret?.() : undefined
  return { value: value === undefined ? addPlaceholder(names) : escapeText(value), hidden: body.hidden }
}

/** A key that Gantry generated has served its purpose where it is: elsewhere, another one is generated. */
function secretOf(
  { name, credential, openSecret }: StoredResource,
  addPlaceholder: (words: readonly string[]) => string,
): Fields {
  if (!openSecret) return {}
  if (credential!.auth_type !== 'key') return { token: addPlaceholder([name, 'token']) }
  const key = openSecret()
  if (key !== undefined && isGeneratedKey(key)) return { generate: true }
  return { private_key: addPlaceholder([name, 'private_key']) }
}

/** Those with a value that does not follow from others. */
function fieldsOf({ body, hook }: StoredResource): Fields {
  const fields = Object.entries(body).filter(
    ([field, value]) => value !== null && !(hook && isImplied(field, hook)),
  )
  return Object.fromEntries(fields.map(([field, value]) => [field, escapeText(value)]))
}

/** A hook has the operation of its pipeline by default, and no connection; of two requests, the first has its URL. */
function isImplied(field: string, hook: HookRow): boolean {
  if (field === 'connect') return !hook.is_connected
  if (field === 'action_type') return hook.action_type === hook.operation
  return field === 'target_url' && hook.settings.requests !== undefined
}

/** Built-in steps are listed only where they differ from the default. */
function addStep(document: Fields, { stepOrders }: State, step: StoredResource): void {
  const { name, path, body, builtIn } = step
  if (builtIn && body.timeout_seconds === DEFAULT_TIMEOUT_SECONDS) return
  const pipelinePath = path.slice(0, -2)
  const pipeline = sectionAt(document, pipelinePath)
  const order = stepOrders.get(keyOf(pipelinePath)) ?? []
  const entry = builtIn
    ? { timeout_seconds: body.timeout_seconds }
    : { ...fieldsOf(step), trigger_after: escapeText(order[order.indexOf(name) - 1] ?? null) }
  pipeline.steps = [...((pipeline.steps as unknown[]) ?? []), { name: escapeText(name), ...entry }]
}

/** A stored `${` is literal. */
function escapeText(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(escapeText)
  if (value === null || typeof value !== 'object') return value
  if (isLargeInteger(value)) return BigInt(value.rawJSON)
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, escapeText(part)]))
}

/**
 * The pipelines and hooks that share a name with another one next to them, which a document cannot tell apart, by their
 * path. All other resources have unique names. Pure.
 */
function findAmbiguousNames(resources: readonly StoredResource[]): ErrorsByField {
  const errors = new Map<string, string[]>()
  for (const [, namesakes] of Map.groupBy(resources, scopeOf)) {
    const [{ path, type }, second] = namesakes as [StoredResource, StoredResource?]
    if (!second) continue
    const noun = type === 'hook' ? `${path.at(-2)} hook` : type
    const ids = namesakes.map(({ id }) => String(id)).sort()
    const field = path.join('.')
    const message = `${namesakes.length} ${noun}s have this name: ${ids.join(', ')}`
    errors.set(field, [...(errors.get(field) ?? []), message])
  }
  return Object.fromEntries(errors)
}

/** What must be unique. Pipelines of one name have hooks with the same path, which are not ambiguous by themselves. */
function scopeOf({ type, id, path, hook }: StoredResource): string {
  if (type === 'hook') return `${hook!.pipeline_id} ${keyOf(path)}`
  return type === 'pipeline' ? keyOf(path) : `${type} ${id}`
}
