import { LiquidError, Parser, type Template, Tokenizer, TypeGuards } from 'liquidjs'
import { engine } from './engine.ts'
import { type Problem, parseProblem } from './errors.ts'
import { type FastOutput, type Inspection, inspect, type OutputKind } from './inspect.ts'
import type { NameTree } from './names.ts'

/** One text of a hook: plain, or a template. `literals` are the parts that are sent as written. */
export type ParsedText =
  | { kind: 'plain'; literals: Literal[] }
  | ({ kind: 'template'; literals: Literal[]; begin: number; shape: string; compiled: Compiled } & Inspection)
  | { kind: 'invalid'; problems: Problem[] }

/** Most texts are words around a few plain names, which need no template engine. */
export type FastText = readonly (string | FastOutput)[]

export type Compiled =
  | { kind: 'fast'; parts: FastText }
  | { kind: 'liquid'; templates: Template[]; isInteger: boolean }

export type Literal = { at: number; text: string }

const MAX_EXPRESSION_LENGTH = 500

export function countExpressions(text: string): number {
  return text.match(/\{[{%]/g)?.length ?? 0
}

export function parseText(text: string, names: NameTree, kind: OutputKind): ParsedText {
  if (countExpressions(text) === 0) return { kind: 'plain', literals: [{ at: 0, text }] }
  try {
    return parseTemplate(text, names, kind)
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    return { kind: 'invalid', problems: [parseProblem(error)] }
  }
}

function parseTemplate(text: string, names: NameTree, kind: OutputKind): ParsedText {
  const tokens = new Tokenizer(text, engine.options.operators).readTopLevelTokens(engine.options)
  const literals = tokens
    .filter((token) => TypeGuards.isHTMLToken(token))
    .map((token) => ({ at: token.begin, text: token.getContent() }))
  const expressions = tokens.filter((token) => !TypeGuards.isHTMLToken(token))
  const long = expressions.find(({ begin, end }) => end - begin > MAX_EXPRESSION_LENGTH)
  if (long) return { kind: 'invalid', problems: [{ at: long.begin, message: TOO_LONG }] }
  const begin = expressions[0]!.begin
  const shape = tokens
    .map((token) =>
      TypeGuards.isHTMLToken(token) ? token.getContent() : TypeGuards.isOutputToken(token) ? 'x' : '',
    )
    .join('')
  const templates = new Parser(engine).parseTokens(tokens)
  const inspection = inspect(templates, names, kind)
  const parts = templates.map((template) =>
    TypeGuards.isHTMLToken(template.token) ? template.token.getContent() : inspection.direct.get(template),
  )
  const isFast = parts.every((part) => part !== undefined)
  const compiled: Compiled = isFast
    ? { kind: 'fast', parts }
    : { kind: 'liquid', templates, isInteger: inspection.isInteger }
  return { kind: 'template', literals, begin, shape, compiled, ...inspection }
}

const TOO_LONG = `has an expression of more than ${MAX_EXPRESSION_LENGTH} characters`
