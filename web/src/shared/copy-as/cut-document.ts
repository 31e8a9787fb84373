// A part of a gantry.yaml that `gantry apply` accepts on its own. Loaded when somebody copies one. Pure.
import { Document, isScalar, parse, parseDocument, visit } from 'yaml'

type Section = Map<unknown, unknown>

/** The parts of an entry that are resources of their own. */
const CHILDREN = new Set(['servers', 'applications', 'variables', 'pipelines', 'steps', 'hooks'])
const CHILDREN_OF_DOCUMENT = new Set(['credentials', 'environments'])

/** Where names lead to an entry: environments.E.servers.S.pipelines.P.hooks.incoming.H, and credentials.C. */
const ENTRY_DEPTHS = new Set([2, 4, 6, 9])

/**
 * The document of a project, limited to what is at `path` and what that is in. The empty path is the whole project.
 * Undefined if it is not in the document, which omits what the person may not view.
 */
export function cutDocument(text: string, path: readonly string[]): string | undefined {
  if (path.length === 0) return text
  // Maps, because names may be anything; big integers, because they may be larger than a number.
  const document = parse(text, { mapAsMap: true, intAsBigInt: true }) as Section
  const cut = cutTo(document, path, 0)
  if (!cut) return undefined
  const written = write(cut)
  const required = placeholdersIn(written)
  if (required.length === 0) return written
  return `# These values are required:\n${required.map((name) => `#   ${name}\n`).join('')}${written}`
}

function write(section: Section): string {
  const document = new Document(section, { aliasDuplicateObjects: false })
  visit(document, {
    Pair(_key, { key }) {
      // Without quotes it would be a merge key, not a name.
      if (isScalar(key) && key.value === '<<') key.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0 })
}

function cutTo(section: Section, path: readonly string[], depth: number): Section | undefined {
  const name = path[depth]
  if (name === undefined) return section
  const child = section.get(name)
  const kept = child instanceof Map ? cutTo(child, path, depth + 1) : undefined
  if (!kept) return undefined
  return new Map([...ownFields(section, depth), [name, kept]])
}

/** An application's `servers` are names, not entries. */
function ownFields(section: Section, depth: number): [unknown, unknown][] {
  if (depth === 0) return [...section].filter(([field]) => !CHILDREN_OF_DOCUMENT.has(field as string))
  if (!ENTRY_DEPTHS.has(depth)) return []
  return [...section].filter(([field, value]) => !CHILDREN.has(field as string) || isListOfNames(value))
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

const PLACEHOLDER = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]{0,63})\}/g

function placeholdersIn(text: string): string[] {
  const names = new Set<string>()
  visit(parseDocument(text), {
    Scalar(key, node) {
      if (key === 'key' || !isScalar(node) || typeof node.value !== 'string') return
      for (const [, name] of node.value.matchAll(PLACEHOLDER)) if (name !== undefined) names.add(name)
    },
  })
  return [...names]
}
