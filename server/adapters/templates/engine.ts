import { Context, defaultOperators, Liquid, Tokenizer } from 'liquidjs'
import { FILTERS, filterNamed } from './filters.ts'
import { PricedFor } from './priced-for.ts'

export const TAGS: readonly string[] = ['assign', 'capture', 'case', 'comment', 'for', 'if', 'raw', 'unless']

/**
 * What all templates of one request may spend together, in about characters touched: the same on every
 * machine. The clock is a backstop for what has no price.
 */
const BUDGET = 4_000_000
const MOST_MILLISECONDS = 50
const PRICE_OF_AN_ITEM = 150

/** No files, no globals, own properties only, dates in UTC, and nothing that a template could change. */
export const engine = createEngine()

function createEngine(): Liquid {
  const liquid = new Liquid({
    templates: {},
    globals: {},
    ownPropertyOnly: true,
    strictFilters: true,
    timezoneOffset: 0,
    locale: 'en-US',
    dateFormat: '%Y-%m-%dT%H:%M:%SZ',
    memoryLimit: BUDGET,
    renderLimit: MOST_MILLISECONDS,
    operators: {
      ...defaultOperators,
      '==': priced('=='),
      '!=': priced('!='),
      contains: priced('contains'),
    },
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.includes(name)) delete liquid.tags[name]
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name)
  for (const name of FILTERS) liquid.registerFilter(name, filterNamed(name))
  liquid.registerTag('for', PricedFor)
  return liquid
}

/** One per request; each text gets a `spawn` of it, so that texts share the budget but no assigned names. */
export function openContext(values: object): Context {
  return new Context(values, engine.options, { sync: true }, { liquid: engine })
}

export function readTokens(text: string) {
  return new Tokenizer(text, engine.options.operators).readTopLevelTokens(engine.options)
}

function priced(name: '==' | '!=' | 'contains') {
  const operator = defaultOperators[name] as (...operands: unknown[]) => boolean
  return (left: unknown, right: unknown, context: Context) => {
    context.memoryLimit.use(sizeOf(left) + sizeOf(right))
    return operator(left, right, context)
  }
}

/** Lists are compared item by item, at any depth. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return Array.isArray(value)
    ? value.reduce((sum, item) => sum + sizeOf(item), PRICE_OF_AN_ITEM)
    : PRICE_OF_AN_ITEM
}
