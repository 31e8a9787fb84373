import { LiquidError, Parser, type Template, TypeGuards } from 'liquidjs'
import type { DirectText } from './direct.ts'
import { engine, readTokens } from './engine.ts'
import { type Fault, parsingFault } from './faults.ts'
import { type Inspection, inspect, type Place } from './inspect.ts'
import type { NameTree } from './names.ts'

/** One text of a hook: as it stands, or a template. `literals` are the parts that are sent as written. */
export type ParsedText =
  | { kind: 'plain'; literals: Literal[] }
  | ({ kind: 'template'; literals: Literal[]; begin: number; shape: string; compiled: Compiled } & Inspection)
  | { kind: 'faults'; faults: Fault[] }

export type Compiled = { kind: 'direct'; parts: DirectText } | { kind: 'liquid'; templates: Template[] }

export type Literal = { at: number; text: string }

const LONGEST_EXPRESSION = 500

export function countExpressions(text: string): number {
  return text.match(/\{[{%]/g)?.length ?? 0
}

export function parseText(text: string, names: NameTree, place: Place): ParsedText {
  if (countExpressions(text) === 0) return { kind: 'plain', literals: [{ at: 0, text }] }
  try {
    return parseTemplate(text, names, place)
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    return { kind: 'faults', faults: [parsingFault(error)] }
  }
}

function parseTemplate(text: string, names: NameTree, place: Place): ParsedText {
  const tokens = readTokens(text)
  const literals = tokens
    .filter((token) => TypeGuards.isHTMLToken(token))
    .map((token) => ({ at: token.begin, text: token.getContent() }))
  const expressions = tokens.filter((token) => !TypeGuards.isHTMLToken(token))
  const long = expressions.find(({ begin, end }) => end - begin > LONGEST_EXPRESSION)
  if (long) return { kind: 'faults', faults: [{ at: long.begin, message: TOO_LONG }] }
  const begin = expressions[0]!.begin
  const shape = tokens
    .map((token) =>
      TypeGuards.isHTMLToken(token) ? token.getContent() : TypeGuards.isOutputToken(token) ? 'x' : '',
    )
    .join('')
  const templates = new Parser(engine).parseTokens(tokens)
  const inspection = inspect(templates, names, place)
  const compiled = compile(templates, inspection)
  return { kind: 'template', literals, begin, shape, compiled, ...inspection }
}

function compile(templates: Template[], { direct }: Inspection): Compiled {
  const parts = templates.map((template) =>
    TypeGuards.isHTMLToken(template.token) ? template.token.getContent() : direct.get(template),
  )
  return parts.every((part) => part !== undefined) ? { kind: 'direct', parts } : { kind: 'liquid', templates }
}

const TOO_LONG = `has an expression of more than ${LONGEST_EXPRESSION} characters`
