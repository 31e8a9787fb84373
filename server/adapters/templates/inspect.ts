import {
  CaptureTag,
  Filter,
  ForTag,
  Output,
  type Template,
  type Token,
  TypeGuards,
  toValueSync,
  Value,
} from 'liquidjs'
import { canBeDirect, type DirectOutput } from './direct.ts'
import { encodeKeepingSlashes, encodeWhole } from './encode.ts'
import { engine } from './engine.ts'
import type { Fault } from './faults.ts'
import { asText } from './filters.ts'
import { lookUp } from './look-up.ts'
import { below, FREE, fields, type NameTree, VALUE } from './names.ts'

/** In an address every output is percent-encoded and no secret may stand; in a text outputs are written plain. */
export type Place = 'address' | 'text'

export type Inspection = {
  faults: Fault[]
  reads: Set<string>
  usesSecret: boolean
  /** Outputs of a plain name, which need no renderer. */
  direct: Map<Template, DirectOutput>
}

const MOST_TURNS = 1000
const LOOP = fields(
  Object.fromEntries(
    ['first', 'index', 'index0', 'last', 'length', 'rindex', 'rindex0'].map((name) => [name, VALUE] as const),
  ),
)

/** The type of a filter's token is not exported; only its name and arguments are ever looked at. */
type FilterToken = ConstructorParameters<typeof Filter>[0]

/**
 * Goes through a parsed template once: collects every fault and every name it reads, and gives each output
 * its last filter, which writes or encodes the value.
 */
export function inspect(templates: readonly Template[], names: NameTree, place: Place): Inspection {
  const faults: Fault[] = []
  const reads = new Set<string>()
  const locals = new Map<string, NameTree>()
  const direct = new Map<Template, DirectOutput>()
  let usesSecret = false
  visitAll(templates, false)
  return { faults, reads, usesSecret, direct }

  function visitAll(parts: readonly Template[], captured: boolean): void {
    for (const part of parts) visit(part, captured)
  }

  function visit(template: Template, captured: boolean): void {
    const given = [...(template.arguments?.() ?? [])]
    const seen = given.map((argument) => readArgument(argument))
    for (const argument of given) if (argument instanceof Value) checkPathFilter(argument, template, captured)
    if (template instanceof Output) finish(template, captured, seen[0]!)
    for (const name of template.localScope?.() ?? []) declare(name.content, name, seen[0]?.tree ?? VALUE)
    if (template instanceof ForTag) visitLoop(template, seen[0]?.tree ?? FREE, captured)
    else visitAll(childrenOf(template), captured || template instanceof CaptureTag)
  }

  function visitLoop(loop: ForTag, collection: NameTree, captured: boolean): void {
    const item = collection.kind === 'list' ? below(collection, 0)! : FREE
    const before = new Map([loop.variable, 'forloop'].map((name) => [name, locals.get(name)] as const))
    declare(loop.variable, loop.token, item)
    locals.set('forloop', LOOP)
    visitAll(childrenOf(loop), captured)
    for (const [name, tree] of before) {
      if (tree) locals.set(name, tree)
      else locals.delete(name)
    }
  }

  /**
   * A name of ours cannot be taken: in the second turn of a loop it would stand for something else than where
   * it was read. One that is made twice may be anything.
   */
  function declare(name: string, token: Token, tree: NameTree): void {
    if (below(names, name) || name === 'forloop')
      faults.push({ at: token.begin, message: `gives the name ${name} to something else` })
    const there = locals.get(name)
    locals.set(name, there === undefined || there === tree ? tree : FREE)
  }

  type Seen = { tree: NameTree; own: boolean; keys?: readonly string[] | undefined }

  function readArgument(argument: Value | Token): Seen {
    if (!(argument instanceof Value)) return readToken(argument)
    const operands = argument.initial.postfix.filter((token) => !TypeGuards.isOperatorToken(token))
    const seen = operands.map(readToken)
    checkOperands(argument.initial.postfix)
    const more = argument.filters
      .flatMap((filter) => filter.args)
      .map((arg) => {
        const token = Array.isArray(arg) ? arg[1] : arg
        return token ? readToken(token) : { tree: VALUE, own: true }
      })
    const alone = seen.length === 1 && argument.filters.length === 0
    if (alone) return seen[0]!
    return { tree: FREE, own: [...seen, ...more].every(({ own }) => own) }
  }

  function readToken(token: Token): Seen {
    if (TypeGuards.isRangeToken(token)) return readRange(token)
    if (!TypeGuards.isPropertyAccessToken(token)) return { tree: VALUE, own: true }
    if (token.variable) readToken(token.variable)
    for (const part of token.props) if (!TypeGuards.isWordToken(part)) readToken(part)
    const result = lookUp(token, names, locals)
    if (result.kind === 'fault') {
      faults.push(result.fault)
      return { tree: FREE, own: false }
    }
    const { tree, own, read, keys } = result.found
    if (read) reads.add(read)
    if (tree.kind === 'secret') noteSecret(token)
    return { tree: tree.kind === 'secret' ? VALUE : tree, own, keys }
  }

  function noteSecret(token: Token): void {
    usesSecret = true
    if (place === 'address')
      faults.push({
        at: token.begin,
        message: `must not contain ${token.getText()}: addresses are logged; use a header or the body`,
      })
  }

  /** Bounds that depend on values could ask for any number of turns, or for numbers that never end. */
  function readRange(token: Token & { lhs: Token; rhs: Token }): Seen {
    const [low, high] = [token.lhs, token.rhs].map((bound) =>
      TypeGuards.isNumberToken(bound) && Number.isSafeInteger(bound.content) ? bound.content : undefined,
    )
    if (low === undefined || high === undefined || high - low >= MOST_TURNS)
      faults.push({
        at: token.begin,
        message: `has a range that is not like (1..10), at most ${MOST_TURNS} long`,
      })
    return { tree: { kind: 'list', items: VALUE }, own: true }
  }

  /** The parser takes `{{ a b }}` for `{{ a }}`. */
  function checkOperands(postfix: readonly Token[]): void {
    let depth = 0
    for (const token of postfix) {
      if (!TypeGuards.isOperatorToken(token)) depth += 1
      else if (token.operator !== 'not') depth -= 1
      if (depth < 1) break
    }
    if (depth !== 1)
      faults.push({ at: postfix[0]!.begin, message: 'has values and operators that do not fit together' })
  }

  /** Anything after `path` would change what is already encoded. */
  function checkPathFilter({ filters, initial }: Value, template: Template, captured: boolean): void {
    const place = filters.findIndex(({ name }) => name === 'path')
    if (place === -1 || (place === filters.length - 1 && template instanceof Output && !captured)) return
    faults.push({
      at: initial.postfix[0]!.begin,
      message: 'has the filter path elsewhere than last in {{ … }}',
    })
  }

  function finish(output: Output, captured: boolean, { own, keys }: Seen): void {
    const { filters } = output.value
    if (filters.at(-1)?.name === 'path') return
    // What is captured is encoded where it is put out.
    const write = place === 'text' || captured ? asItIs : own ? encodeKeepingSlashes : encodeWhole
    if (filters.length === 0 && keys && canBeDirect(keys)) direct.set(output, { keys, write })
    const token = { name: 'write', args: [] as unknown } as FilterToken
    filters.push(
      new Filter(
        token,
        function (value) {
          return write(asText.call(this, value))
        },
        engine,
      ),
    )
  }
}

function childrenOf(template: Template): Template[] {
  return template.children ? toValueSync(template.children(false, true)) : []
}

function asItIs(text: string): string {
  return text
}
