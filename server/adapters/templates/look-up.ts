import { type PropertyAccessToken, type Token, TypeGuards } from 'liquidjs'
import { cut, type Fault } from './faults.ts'
import { below, FREE, holdsSecret, keysOf, type NameTree } from './names.ts'

export type Found = {
  tree: NameTree
  /** One plain field of ours: neither a variable of a hook nor anything that a template made of one. */
  own: boolean
  /** `action.status`, `action.*` for the whole; undefined for a name that the template made itself. */
  read: string | undefined
  /** The whole way to the value, when it is written out in names and begins at one of ours. */
  keys: readonly string[] | undefined
}

export type LookedUp = { kind: 'found'; found: Found } | { kind: 'fault'; fault: Fault }

const MADE_HERE: Found = { tree: FREE, own: false, read: undefined, keys: undefined }

/** What a name in a template stands for. `locals` are the names that the template itself has made so far. */
export function lookUp(
  token: PropertyAccessToken,
  names: NameTree,
  locals: ReadonlyMap<string, NameTree>,
): LookedUp {
  // "text".size: properties of something written right there.
  if (token.variable) return { kind: 'found', found: MADE_HERE }
  const [first, ...rest] = token.props
  const root = first && keyIn(first)
  if (typeof root !== 'string') return fault(token, 'has a name in brackets where a plain one must begin')
  const local = locals.get(root)
  const start = local ?? below(names, root)
  if (!start) return fault(token, unknown([root], [...keysOf(names), ...locals.keys()]))
  return descend(token, rest, root, start, local === undefined)
}

function descend(
  token: PropertyAccessToken,
  rest: readonly Token[],
  root: string,
  start: NameTree,
  given: boolean,
): LookedUp {
  const path = [root]
  let named = given
  let tree = start
  for (const part of rest) {
    const key = keyIn(part)
    if (key === undefined) {
      if (tree.kind !== 'free')
        return fault(part, `has a changing key below ${path.join('.')}, where only a fixed one is possible`)
      named = false
      continue
    }
    if (typeof key === 'number') named = false
    path.push(String(key))
    const next = below(tree, key)
    if (!next) return fault(part, unknown(path, keysOf(tree)))
    tree = next
  }
  if (tree.kind !== 'secret' && holdsSecret(tree))
    return fault(token, `has ${path.join('.')} whole, which holds a secret: name one of its fields`)
  const read = given ? `${root}.${path[1] ?? '*'}` : undefined
  return {
    kind: 'found',
    found: { tree, own: given && tree.kind === 'value', read, keys: named ? path : undefined },
  }
}

/** A key that is written out; undefined for one that depends on a value. */
function keyIn(part: Token): string | number | undefined {
  if (TypeGuards.isWordToken(part) || TypeGuards.isQuotedToken(part)) return part.content
  return TypeGuards.isNumberToken(part) ? part.content : undefined
}

function unknown(path: readonly string[], known: readonly string[]): string {
  const name = cut(path.join('.'), 120)
  const parent = path.slice(0, -1)
  const near = nearest(path.at(-1)!, known)
  if (near) return `has the unknown name ${name}; did you mean ${[...parent, near].join('.')}?`
  const hint = known.length === 0 ? 'nothing' : known.join(', ')
  return `has the unknown name ${name}; known${parent.length ? ` below ${cut(parent.join('.'))}` : ''}: ${hint}`
}

/** A slip of the keyboard away: up to two letters, fewer in a short word. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .filter((other) => Math.abs(other.length - name.length) <= 2)
    .map((other) => ({ other, distance: distance(name.toLowerCase(), other) }))
    .sort((one, two) => one.distance - two.distance)
  const best = ranked[0]
  return best && best.distance <= Math.min(2, Math.floor(name.length / 3)) ? best.other : undefined
}

function distance(one: string, two: string): number {
  let row = Array.from({ length: two.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at]
    for (let to = 1; to <= two.length; to += 1) {
      const changed = row[to - 1]! + (one[at - 1] === two[to - 1] ? 0 : 1)
      next.push(Math.min(changed, row[to]! + 1, next[to - 1]! + 1))
    }
    row = next
  }
  return row[two.length]!
}

function fault(token: Token, message: string): LookedUp {
  return { kind: 'fault', fault: { at: token.begin, message } }
}
