import { Context, defaultOperators, ForTag, Liquid } from 'liquidjs'
import { FILTERS, filterNamed } from './filters.ts'

export const TAGS: readonly string[] = ['assign', 'capture', 'case', 'comment', 'for', 'if', 'raw', 'unless']

/**
 * What all templates of one request may spend together, roughly in characters processed: the same on every
 * machine. The clock is a backstop for what has no cost.
 */
const BUDGET = 4_000_000
const MAX_MILLISECONDS = 50
const ITEM_COST = 150
const EXPRESSION_COST = 400

/** Every iteration costs what the loop contains; otherwise only the clock would end nested loops. */
class MeteredFor extends ForTag {
  constructor(...given: [...ConstructorParameters<typeof ForTag>]) {
    super(...given)
    const { input, end } = this.token
    const [, following] = given
    const inside = input.slice(end, following[0]?.begin)
    const expressions = inside.split(/\{[{%]/).length
    const cost = inside.length + expressions * EXPRESSION_COST
    this.templates.unshift({ token: this.token, render: (context) => context.memoryLimit.use(cost) })
  }
}

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
    renderLimit: MAX_MILLISECONDS,
    operators: {
      ...defaultOperators,
      '==': metered('=='),
      '!=': metered('!='),
      contains: metered('contains'),
    },
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.includes(name)) delete liquid.tags[name]
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name)
  for (const name of FILTERS) liquid.registerFilter(name, filterNamed(name))
  liquid.registerTag('for', MeteredFor)
  return liquid
}

/** One per request; each text gets a `spawn` of it, so that texts share the budget but not assigned names. */
export function openContext(values: object): Context {
  return new Context(values, engine.options, { sync: true }, { liquid: engine })
}

function metered(name: '==' | '!=' | 'contains') {
  const operator = defaultOperators[name] as (...operands: unknown[]) => boolean
  return (left: unknown, right: unknown, context: Context) => {
    context.memoryLimit.use(sizeOf(left) + sizeOf(right))
    return operator(left, right, context)
  }
}

/** Lists are compared item by item, at any depth. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return Array.isArray(value) ? value.reduce((sum, item) => sum + sizeOf(item), ITEM_COST) : ITEM_COST
}
