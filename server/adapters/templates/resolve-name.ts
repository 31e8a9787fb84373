import { type PropertyAccessToken, type Token, TypeGuards } from 'liquidjs'
import { closest } from '#client/nearest.ts'
import { type Problem, shorten } from './errors.ts'
import { childOf, FREE, holdsSecret, keysOf, type NameTree } from './names.ts'

export type ResolvedName = {
  tree: NameTree
  /** One plain field of ours: neither a hook variable, a captured value nor anything that a template derived from one. */
  own: boolean
  /** `action.status`, `action.*` for the whole; undefined for a name that the template assigned. */
  read?: string | undefined
  /** The full path to the value, when all keys are literal and it begins with one of our names. */
  keys?: readonly string[] | undefined
}

/** What a name in a template refers to. `locals`: the names that the template has assigned so far. */
export function resolveName(
  token: PropertyAccessToken,
  names: NameTree,
  locals: ReadonlyMap<string, NameTree>,
): ResolvedName | Problem {
  // "text".size: a property of a literal.
  if (token.variable) return { tree: FREE, own: false }
  const [first, ...rest] = token.props
  const root = first && keyIn(first)
  if (typeof root !== 'string') return problem(token, 'must begin with a plain name, not with brackets')
  const isOurs = !locals.has(root)
  let tree = locals.get(root) ?? childOf(names, root)
  if (!tree) return problem(token, unknown([root], [...keysOf(names), ...locals.keys()]))
  const path = [root]
  let isLiteral = isOurs
  for (const part of rest) {
    const key = keyIn(part)
    if (key === undefined) {
      if (tree.kind !== 'free')
        return problem(part, `has a dynamic key below ${path.join('.')}, where only a literal one is allowed`)
      isLiteral = false
      continue
    }
    if (typeof key === 'number') isLiteral = false
    path.push(String(key))
    const next = childOf(tree, key)
    if (!next) return problem(part, unknown(path, keysOf(tree)))
    tree = next
  }
  if (tree.kind !== 'secret' && holdsSecret(tree))
    return problem(token, `outputs all of ${path.join('.')}, which contains a secret: use one of its fields`)
  const read = isOurs ? `${root}.${path[1] ?? '*'}` : undefined
  return {
    tree,
    own: isOurs && tree.kind === 'value' && !tree.foreign,
    read,
    keys: isLiteral ? path : undefined,
  }
}

/** A literal key; undefined for one that depends on a value. */
function keyIn(part: Token): string | number | undefined {
  if (TypeGuards.isWordToken(part) || TypeGuards.isQuotedToken(part)) return part.content
  return TypeGuards.isNumberToken(part) ? part.content : undefined
}

function unknown(path: readonly string[], known: readonly string[]): string {
  const name = shorten(path.join('.'), 120)
  const parent = path.slice(0, -1)
  const near = closest(path.at(-1)!, known)
  if (near) return `has the unknown name ${name}; did you mean ${[...parent, near].join('.')}?`
  const hint = known.length === 0 ? 'nothing' : known.join(', ')
  return `has the unknown name ${name}; available${parent.length ? ` below ${shorten(parent.join('.'))}` : ''}: ${hint}`
}

function problem({ begin }: Token, message: string): Problem {
  return { at: begin, message }
}
