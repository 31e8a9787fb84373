import { stringify } from 'yaml'
import type { Caller } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import { findOrganization } from '#manage/organizations/manage-organizations.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { maySee } from './lacking.ts'
import { loadState } from './load-state.ts'
import type { State, Stored } from './state.ts'
import { keyOf, PROJECT, parentOf } from './things.ts'

const DEFAULT_TIMEOUT_SECONDS = 600

type Section = { [key: string]: unknown }

/** What is stored of a project, as the document that would make it; undefined when there is no such project. */
export async function exportDocument(
  db: Database,
  box: SecretBox,
  caller: Caller,
  organizationId: number,
  projectName: string,
): Promise<string | undefined> {
  const state = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => loadState(trx, box, await findOrganization(trx, organizationId), projectName))
  return state.things.has(keyOf(PROJECT)) ? writeDocument(state, caller) : undefined
}

/** Leaves out what the caller may not see. Secrets become `${NAME}`. */
function writeDocument(state: State, caller: Caller): string {
  const names = new Set<string>()
  const document = emptySection()
  const written = new Set<string>()
  for (const [key, thing] of state.things) {
    const parent = parentOf(thing)
    const isSeen = thing.type === 'project' || maySee(caller, thing.type, thing.place)
    // Of several that have one name a document can tell one.
    const isFirst = key === keyOf(thing.path)
    if (!isSeen || !isFirst || (parent && !written.has(keyOf(parent)))) continue
    written.add(key)
    if (thing.type === 'organization') document.organization = thing.name
    else if (thing.type === 'project') document.project = { name: thing.name, ...fieldsOf(thing) }
    else if (thing.type === 'step') addStep(document, state, thing)
    else sectionAt(document, thing.path.slice(0, -1))[thing.name] = entryOf(thing, caller, placeholderFor)
  }
  const head = [...names].map((name) => `#   ${name}\n`).join('')
  const text = stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })
  return head === '' ? text : `# These values have to be given:\n${head}${text}`

  /** `GITHUB_TOKEN`, `PRODUCTION_SHOP_DATABASE_PASSWORD`: what it is known by, in letters that a name may have. */
  function placeholderFor(words: readonly string[]): string {
    const plain = words
      .join('_')
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
    const short = plain.slice(-MOST_NAME_CHARACTERS).replace(/^[0-9_]+/, '') || 'VALUE'
    let name = short
    for (let number = 2; names.has(name); number++) name = `${short}_${number}`
    names.add(name)
    return `\${${name}}`
  }
}

const MOST_NAME_CHARACTERS = 58

/** Its keys are names that people gave: `__proto__` is one as good as others. */
function emptySection(): Section {
  return Object.create(null)
}

function sectionAt(document: Section, path: readonly string[]): Section {
  let section = document
  for (const part of path) {
    section[part] ??= emptySection()
    section = section[part] as Section
  }
  return section
}

function entryOf(
  thing: Stored,
  caller: Caller,
  placeholderFor: (words: readonly string[]) => string,
): unknown {
  if (thing.type === 'credential') {
    const field = thing.credential!.auth_type === 'key' ? 'private_key' : 'token'
    const secret = thing.openSecret && { [field]: placeholderFor([thing.name, field]) }
    return { ...fieldsOf(thing), ...secret }
  }
  if (thing.type !== 'variable') return fieldsOf(thing)
  const isShown = !thing.body.hidden && can(caller, 'application:edit', thing.place)
  const names = thing.path.filter((_, index) => index % 2 === 1)
  const value = isShown ? thing.openSecret?.() : undefined
  return {
    value: value === undefined ? placeholderFor(names) : escaped(value),
    hidden: thing.body.hidden,
  }
}

/** Those that have a value; a hook is always of its pipeline's operation. */
function fieldsOf({ type, body }: Stored): Section {
  const fields = Object.entries(body).filter(
    ([field, value]) => value !== null && !(type === 'hook' && field === 'action_type'),
  )
  return Object.fromEntries(fields.map(([field, value]) => [field, escaped(value)]))
}

/** Built-in steps are told where they differ from what every deploy has. */
function addStep(document: Section, state: State, step: Stored): void {
  const { name, path, body, builtIn } = step
  if (builtIn && body.timeout_seconds === DEFAULT_TIMEOUT_SECONDS) return
  const pipeline = sectionAt(document, path.slice(0, -2))
  const order = state.stepOrders.get(keyOf(path.slice(0, -2))) ?? []
  const before = order[order.indexOf(name) - 1] ?? null
  const entry = builtIn
    ? { timeout_seconds: body.timeout_seconds }
    : { ...fieldsOf(step), trigger_after: before }
  pipeline.steps = [...((pipeline.steps as unknown[]) ?? []), { name, ...entry }]
}

/** A `${` that is stored is meant as it is. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(escaped)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, escaped(part)]))
}
