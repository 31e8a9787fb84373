import {
  CaptureTag,
  Filter,
  type FilterImplOptions,
  ForTag,
  Output,
  type Template,
  type Token,
  TypeGuards,
  toValueSync,
  Value,
} from 'liquidjs'
import { engine } from './engine.ts'
import type { Problem } from './errors.ts'
import { asText, encodeAll, encodeKeepingSlashes } from './filters.ts'
import { childOf, FREE, fields, type NameTree, VALUE } from './names.ts'
import { type ResolvedName, resolveName } from './resolve-name.ts'

/** In a URL every output is percent-encoded and no secret is allowed; in a text, outputs are not encoded. */
export type OutputKind = 'url' | 'text'

/** A name that is output directly: the path to its value, and how the text is encoded. */
export type FastOutput = { keys: readonly string[]; write: (text: string) => string }

/** Keys that are more than a property; names with them take the slow path. */
const COMPUTED = new Set(['first', 'last', 'size'])

export type Inspection = {
  problems: Problem[]
  reads: Set<string>
  usesSecret: boolean
  /** An output ends with the filter `integer`. */
  isInteger: boolean
  /** Outputs of a plain name, which take the fast path. */
  direct: Map<Template, FastOutput>
}

const MAX_RANGE = 1000
/** Became a name of ours when there were hooks already, which may have one of their own. */
const ADDED_LATER = new Set(['changes', 'credential', 'request'])
const LOOP = fields(
  Object.fromEntries('first index index0 last length rindex rindex0'.split(' ').map((name) => [name, VALUE])),
)

/** The types of a filter are not exported; of its token, only name and arguments are used. */
type FilterToken = ConstructorParameters<typeof Filter>[0]
type FilterHandler = Exclude<FilterImplOptions, { raw: boolean }>

/**
 * Goes through a parsed template once: collects every problem and every name it reads, and gives each output
 * its last filter, which writes or encodes the value.
 */
export function inspect(templates: readonly Template[], names: NameTree, kind: OutputKind): Inspection {
  const problems: Problem[] = []
  const reads = new Set<string>()
  const locals = new Map<string, NameTree>()
  const direct = new Map<Template, FastOutput>()
  let usesSecret = false
  let isInteger = false
  visitAll(templates, false)
  return { problems, reads, usesSecret, isInteger, direct }

  function report({ begin: at }: Token, message: string): void {
    problems.push({ at, message })
  }

  function visitAll(parts: readonly Template[], captured: boolean): void {
    for (const part of parts) visit(part, captured)
  }

  function visit(template: Template, captured: boolean): void {
    const given = [...(template.arguments?.() ?? [])]
    const seen = given.map(readArgument)
    for (const argument of given) if (argument instanceof Value) checkPathFilter(argument, template, captured)
    if (template instanceof Output) finishOutput(template, captured, seen[0]!)
    for (const name of template.localScope?.() ?? []) declare(name.content, name, seen[0]?.tree ?? VALUE)
    if (template instanceof ForTag) visitLoop(template, seen[0]?.tree ?? FREE, captured)
    else visitAll(childrenOf(template), captured || template instanceof CaptureTag)
  }

  function visitLoop(loop: ForTag, collection: NameTree, captured: boolean): void {
    const item = collection.kind === 'list' ? childOf(collection, 0)! : FREE
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
   * A name of ours cannot be reassigned: in the second iteration of a loop it would refer to something else than
   * where it was read. One that was added later can, by a template that does not read it before. One that is assigned
   * twice may be anything.
   */
  function declare(name: string, token: Token, tree: NameTree): void {
    const isFree = ADDED_LATER.has(name) && ![...reads].some((read) => read.startsWith(`${name}.`))
    if ((childOf(names, name) && !isFree) || name === 'forloop') report(token, `reassigns the name ${name}`)
    locals.set(name, (locals.get(name) ?? tree) === tree ? tree : FREE)
  }

  function readArgument(argument: Value | Token): ResolvedName {
    if (!(argument instanceof Value)) return readToken(argument)
    const operands = argument.initial.postfix.filter((token) => !TypeGuards.isOperatorToken(token))
    const seen = operands.map(readToken)
    checkOperands(argument.initial.postfix)
    const tokens = argument.filters.flatMap(({ args }) =>
      args.map((arg) => (Array.isArray(arg) ? arg[1] : arg)),
    )
    const more = tokens.filter((token) => token !== undefined).map(readToken)
    if (seen.length === 1 && argument.filters.length === 0) return seen[0]!
    return { tree: FREE, own: [...seen, ...more].every(({ own }) => own) }
  }

  function readToken(token: Token): ResolvedName {
    if (TypeGuards.isRangeToken(token)) return readRange(token)
    if (!TypeGuards.isPropertyAccessToken(token)) return { tree: VALUE, own: true }
    if (token.variable) readToken(token.variable)
    for (const part of token.props) if (!TypeGuards.isWordToken(part)) readToken(part)
    const name = resolveName(token, names, locals)
    if ('message' in name) {
      problems.push(name)
      return { tree: FREE, own: false }
    }
    if (name.read) reads.add(name.read)
    if (name.tree.kind !== 'secret') return name
    usesSecret = true
    if (name.keys) reads.add(name.keys.join('.'))
    if (kind === 'url')
      report(token, `must not contain ${token.getText()}: URLs are logged; use a header or the body`)
    return { ...name, tree: VALUE }
  }

  /** Bounds that depend on values could cause any number of iterations, or endless ones. */
  function readRange(token: Token & { lhs: Token; rhs: Token }): ResolvedName {
    const [low, high] = [token.lhs, token.rhs].map((bound) =>
      TypeGuards.isNumberToken(bound) && Number.isSafeInteger(bound.content) ? bound.content : undefined,
    )
    if (low === undefined || high === undefined || high - low >= MAX_RANGE)
      report(token, `has a range that is not like (1..10), with at most ${MAX_RANGE} numbers`)
    return { tree: { kind: 'list', items: VALUE }, own: true }
  }

  /** The parser reads `{{ a b }}` as `{{ a }}`. */
  function checkOperands(postfix: readonly Token[]): void {
    let depth = 0
    for (const token of postfix) {
      if (!TypeGuards.isOperatorToken(token)) depth += 1
      else if (token.operator !== 'not') depth -= 1
      if (depth < 1) break
    }
    if (depth !== 1) report(postfix[0]!, 'has values and operators that do not match')
  }

  /** Anything after `path` would change what is already encoded. */
  function checkPathFilter({ filters, initial }: Value, template: Template, captured: boolean): void {
    const index = filters.findIndex(({ name }) => name === 'path')
    if (index === -1 || (index === filters.length - 1 && template instanceof Output && !captured)) return
    report(initial.postfix[0]!, 'must have the filter path last in {{ … }}')
  }

  function finishOutput(output: Output, captured: boolean, { own, keys }: ResolvedName): void {
    const { filters } = output.value
    if (filters.at(-1)?.name === 'path') return
    isInteger ||= filters.at(-1)?.name === 'integer'
    // Captured text is encoded where it is output.
    const write = kind === 'text' || captured ? String : own ? encodeKeepingSlashes : encodeAll
    if (filters.length === 0 && keys && !keys.some((key) => COMPUTED.has(key)))
      direct.set(output, { keys, write })
    const token = { name: 'write', args: [] as unknown } as FilterToken
    const handler: FilterHandler = function (value) {
      return write(asText.call(this, value))
    }
    filters.push(new Filter(token, handler, engine))
  }
}

function childrenOf(template: Template): Template[] {
  return template.children ? toValueSync(template.children(false, true)) : []
}
