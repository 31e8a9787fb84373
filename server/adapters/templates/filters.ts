import { type Context, type FilterImplOptions, filters as stock } from 'liquidjs'

/**
 * Only these filters: others read names that compiling cannot see (`where_exp`), multiply values (`concat`), switch
 * encoding off (`raw`) or are random. Each call has a cost, charged to the budget that a request has for all its
 * templates; so the cost of a template is bounded whatever the values are.
 */
const STOCK_FILTERS = `
  abs append at_least at_most base64_encode capitalize ceil compact date_to_xmlschema default divided_by
  downcase escape first floor last lstrip map minus modulo newline_to_br plus prepend remove remove_first
  replace replace_first reverse round rstrip size slice slugify split strip strip_html strip_newlines
  times truncate truncatewords uniq upcase where`
  .trim()
  .split(/\s+/)

const CALL_COST = 100
const DATE_COST = 2000
const ZONE_COST = 60_000
const CHARACTER_COST = 4
const ITEM_COST = 300

type Call = { context: Context }
type Handler = (this: Call, value: unknown, ...more: unknown[]) => unknown

const CUSTOM_FILTERS: Record<string, Handler> = {
  commit_hash(value) {
    return fullHash(asText.call(this, value))
  },
  date(value, format, zone) {
    this.context.memoryLimit.use(typeof zone === 'string' ? ZONE_COST : DATE_COST)
    // The same event renders the same request, now and when it is redelivered.
    if (value === 'now' || value === 'today') return value
    return handlerOf(stock.date!).call(this, value, format, zone)
  },
  /** A text of a body that ends with it is sent as a number (render.ts). */
  integer(value) {
    return value
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

export const FILTERS: readonly string[] = [...STOCK_FILTERS, ...Object.keys(CUSTOM_FILTERS)].sort()

export function filterNamed(name: string): FilterImplOptions {
  const handler = CUSTOM_FILTERS[name] ?? handlerOf((stock as Record<string, FilterImplOptions>)[name]!)
  const metered: Handler = function (value, ...more) {
    const size = typeof value === 'string' ? value.length * CHARACTER_COST : 0
    this.context.memoryLimit.use(CALL_COST + (Array.isArray(value) ? value.length * ITEM_COST : size))
    return handler.call(this, value, ...more)
  }
  return metered as FilterImplOptions
}

/** A full hash, SHA-1 or SHA-256, in lower case; otherwise nothing: what a branch or a part of a hash names may change. */
export function fullHash(text: string): string {
  const hash = text.trim().toLowerCase()
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(hash) ? hash : ''
}

/** How a value is written: nothing for null, JSON for objects and lists. Charged to the budget. */
export function asText(this: Call, value: unknown): string {
  const text = toText(value)
  this.context.memoryLimit.use(text.length)
  return text
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  // Literals such as `nil` are objects that represent a value.
  const represented = (value as object).valueOf()
  return typeof represented === 'object' && represented !== null
    ? JSON.stringify(represented)
    : String(represented ?? '')
}

function handlerOf(filter: FilterImplOptions): Handler {
  return (typeof filter === 'function' ? filter : filter.handler) as Handler
}

/** Percent-encodes everything: nothing in the text can end a segment, a parameter or the URL. */
export function encodeAll(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

export function encodeKeepingSlashes(text: string): string {
  return encodeAll(text).replaceAll('%2F', '/')
}
