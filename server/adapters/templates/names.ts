// The templates room: requests of outgoing hooks, written in Liquid. Compiling finds every problem when a hook is
// saved; rendering fills in the values. Pure: hooks, names and values come in, problems and requests go out.

/**
 * What a template may reference. `value`: one text, number or boolean; `secret`: the same, never in a URL;
 * `free`: anything may be below, such as the variables of a hook. `foreign`: another service chose the value, so in a URL
 * not even its slashes are kept.
 */
export type NameTree =
  | { kind: 'value'; foreign?: true }
  | { kind: 'secret' }
  | { kind: 'free' }
  | { kind: 'fields'; fields: ReadonlyMap<string, NameTree> }
  | { kind: 'list'; items: NameTree }

export type JsonSchema = { readonly [keyword: string]: unknown }
type ResolveRef = (ref: string) => JsonSchema | undefined

export const VALUE: NameTree = { kind: 'value' }
const FOREIGN: NameTree = { kind: 'value', foreign: true }
const SECRET: NameTree = { kind: 'secret' }
export const FREE: NameTree = { kind: 'free' }

export function fields(entries: Record<string, NameTree>): NameTree {
  return { kind: 'fields', fields: new Map(Object.entries(entries)) }
}

/** The names that a JSON schema declares; what it leaves open is free. */
function nameTree(schema: JsonSchema, resolveRef: ResolveRef): NameTree {
  const known = new Map<string, NameTree>()
  return read(schema)

  function read(part: JsonSchema): NameTree {
    if (typeof part.$ref === 'string') return readRef(part.$ref)
    // A reference with a description of its own.
    if (Array.isArray(part.allOf)) return part.allOf.map(read).reduce(merge)
    const choices = part.anyOf ?? part.oneOf
    if (Array.isArray(choices))
      return choices
        .filter(({ type }) => type !== 'null')
        .map(read)
        .reduce(merge)
    if (isSchema(part.properties)) {
      const entries = Object.entries(part.properties)
      return fields(Object.fromEntries(entries.map(([name, child]) => [name, readChild(child)])))
    }
    const types = [part.type].flat()
    if (types.includes('array')) return { kind: 'list', items: readChild(part.items) }
    return types[0] === undefined || types.includes('object') ? FREE : VALUE
  }

  function readChild(part: unknown): NameTree {
    return isSchema(part) ? read(part) : FREE
  }

  function readRef(ref: string): NameTree {
    const found = known.get(ref)
    if (found) return found
    const target = resolveRef(ref)
    if (!target) throw new Error(`unknown schema ${ref}`)
    // A schema that contains itself is free from its second occurrence on.
    known.set(ref, FREE)
    const tree = read(target)
    known.set(ref, tree)
    return tree
  }
}

/** What the action ships. */
const CHANGES = fields({
  from_sha: VALUE,
  to_sha: VALUE,
  rewritten: VALUE,
  commits_count: VALUE,
  removed_commits_count: VALUE,
  files_count: VALUE,
  commits: {
    kind: 'list',
    items: fields({ sha: VALUE, subject: VALUE, author_name: VALUE, committed_at: VALUE }),
  },
})

/** Where a run waits, and who has decided about it. */
const GATES = fields({
  waiting_at: VALUE,
  approval: fields({
    required: VALUE,
    given: VALUE,
    asked: { kind: 'list', items: VALUE },
    until: VALUE,
    decisions: { kind: 'list', items: fields({ decision: VALUE, by: VALUE, comment: VALUE }) },
  }),
})

/** The names of all templates, from the schemas of the API resources with the same fields. */
export function templateNames(
  schemas: Record<'action' | 'application' | 'environment' | 'project' | 'organization', JsonSchema>,
  resolveRef: ResolveRef,
): NameTree {
  const tree = (schema: JsonSchema) => nameTree(schema, resolveRef)
  const sourceProvider = fields({ source_provider: fields({ name: VALUE, access_token: SECRET }) })
  return fields({
    event: fields({ id: VALUE, kind: VALUE, occurred_at: VALUE, previous_status: VALUE }),
    action: tree(schemas.action),
    changes: CHANGES,
    gates: GATES,
    credential: fields({ access_token: SECRET }),
    application: merge(tree(schemas.application), sourceProvider),
    pipeline: fields({ id: VALUE, name: VALUE, operation: VALUE }),
    environment: tree(schemas.environment),
    project: tree(schemas.project),
    organization: tree(schemas.organization),
    request: fields({ idempotency_key: VALUE }),
  })
}

/** The names with those of values that a hook captures from answers. */
export function withCaptured(names: NameTree, captured: readonly string[]): NameTree {
  if (names.kind !== 'fields' || captured.length === 0) return names
  const below = fields(Object.fromEntries(captured.map((name) => [name, FOREIGN])))
  return { kind: 'fields', fields: new Map(names.fields).set('captured', below) }
}

/** What is below a key, or undefined for an unknown one. Lists have any index, `first`, `last`, `size`. */
export function childOf(tree: NameTree, key: string | number): NameTree | undefined {
  switch (tree.kind) {
    case 'free':
      return FREE
    case 'fields':
      return tree.fields.get(String(key))
    case 'list':
      if (key === 'first' || key === 'last' || isIndex(key)) return tree.items
      return key === 'size' ? VALUE : undefined
    case 'value':
      return key === 'size' ? VALUE : undefined
    case 'secret':
      return undefined
  }
}

export function keysOf(tree: NameTree): string[] {
  if (tree.kind === 'fields') return [...tree.fields.keys()]
  return tree.kind === 'list' ? ['first', 'last', 'size'] : []
}

export function holdsSecret(tree: NameTree): boolean {
  if (tree.kind === 'secret') return true
  if (tree.kind === 'list') return holdsSecret(tree.items)
  return tree.kind === 'fields' && [...tree.fields.values()].some(holdsSecret)
}

function merge(one: NameTree, other: NameTree): NameTree {
  if (one.kind === 'fields' && other.kind === 'fields') {
    const all = new Map(one.fields)
    for (const [name, tree] of other.fields) {
      const known = all.get(name)
      all.set(name, known ? merge(known, tree) : tree)
    }
    return { kind: 'fields', fields: all }
  }
  if (one.kind === 'list' && other.kind === 'list')
    return { kind: 'list', items: merge(one.items, other.items) }
  return one.kind === other.kind ? one : FREE
}

function isIndex(key: string | number): boolean {
  return typeof key === 'number' ? Number.isInteger(key) : /^\d+$/.test(key)
}

function isSchema(part: unknown): part is JsonSchema {
  return typeof part === 'object' && part !== null && !Array.isArray(part)
}
