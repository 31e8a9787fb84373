import { type Context, type FilterImplOptions, filters as stock } from 'liquidjs'
import { encodeKeepingSlashes } from './encode.ts'

/**
 * Only these filters, since others read names that compiling cannot see (`where_exp`), multiply values
 * (`concat`), switch encoding off (`raw`) or are random. Each call has a price, paid from the budget that a
 * request has for all its templates; so what a template can cost is bounded whatever the values are.
 */
const TAKEN = [
  'abs',
  'append',
  'at_least',
  'at_most',
  'base64_encode',
  'capitalize',
  'ceil',
  'compact',
  'date_to_xmlschema',
  'default',
  'divided_by',
  'downcase',
  'escape',
  'first',
  'floor',
  'last',
  'lstrip',
  'map',
  'minus',
  'modulo',
  'newline_to_br',
  'plus',
  'prepend',
  'remove',
  'remove_first',
  'replace',
  'replace_first',
  'reverse',
  'round',
  'rstrip',
  'size',
  'slice',
  'slugify',
  'split',
  'strip',
  'strip_html',
  'strip_newlines',
  'times',
  'truncate',
  'truncatewords',
  'uniq',
  'upcase',
  'where',
]

const PRICE_OF_A_CALL = 100
const PRICE_OF_A_DATE = 2000
const PRICE_OF_A_ZONE = 60_000
const PRICE_OF_A_CHARACTER = 4
const PRICE_OF_AN_ITEM = 300

type Call = { context: Context }
type Handler = (this: Call, value: unknown, ...more: unknown[]) => unknown

const OWN: Record<string, Handler> = {
  date(value, format, zone) {
    this.context.memoryLimit.use(typeof zone === 'string' ? PRICE_OF_A_ZONE : PRICE_OF_A_DATE)
    // The same event gives the same request, today and when it is sent again.
    if (value === 'now' || value === 'today') return value
    return handlerOf(stock.date!).call(this, value, format, zone)
  },
  join(value, between = ' ') {
    const texts = (Array.isArray(value) ? value : [value]).map((item) => asText.call(this, item))
    this.context.memoryLimit.use(texts.length * String(between).length)
    return texts.join(String(between))
  },
  json(value) {
    const text = JSON.stringify(value ?? null)
    this.context.memoryLimit.use(text.length)
    return text
  },
  path(value) {
    return encodeKeepingSlashes(asText.call(this, value))
  },
  url_encode(value) {
    return encodeURIComponent(asText.call(this, value).toWellFormed())
  },
}

export const FILTERS: readonly string[] = [...TAKEN, ...Object.keys(OWN)].sort()

export function filterNamed(name: string): FilterImplOptions {
  return priced(
    OWN[name] ?? handlerOf((stock as Record<string, FilterImplOptions>)[name]!),
  ) as FilterImplOptions
}

/** How a value is written: nothing for null, JSON for what is not one word, and paid for. */
export function asText(this: Call, value: unknown): string {
  const text = plain(value)
  this.context.memoryLimit.use(text.length)
  return text
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  // Literals such as `nil` are objects that stand for a value.
  const meant = (value as object).valueOf()
  return typeof meant === 'object' && meant !== null ? JSON.stringify(meant) : String(meant ?? '')
}

function priced(handler: Handler): Handler {
  return function (value, ...more) {
    this.context.memoryLimit.use(priceOf(value))
    return handler.call(this, value, ...more)
  }
}

function priceOf(value: unknown): number {
  if (typeof value === 'string') return PRICE_OF_A_CALL + value.length * PRICE_OF_A_CHARACTER
  return PRICE_OF_A_CALL + (Array.isArray(value) ? value.length * PRICE_OF_AN_ITEM : 0)
}

function handlerOf(filter: FilterImplOptions): Handler {
  return (typeof filter === 'function' ? filter : filter.handler) as Handler
}
