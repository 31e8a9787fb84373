import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathAndQuery } from './requests.ts'
import * as t from './schemas.ts'

export const DEFAULT_PER_PAGE = 25
const MAX_PER_PAGE = 100

/** Totals are exact up to this number; counting further would cost more than the page. */
export const COUNT_LIMIT = 10_000

/** Past the end of every list; offsets up to here are exact. */
const MAX_PAGE = Math.floor(Number.MAX_SAFE_INTEGER / MAX_PER_PAGE)

/** `maximum`: of items per page. */
export const pageQueryUpTo = (maximum: number) =>
  t.optionalFields({
    page: t.Integer({
      minimum: 1,
      default: 1,
      description: 'Page number, starting at 1. A page past the end is empty, however large its number is.',
    }),
    per_page: t.Integer({ minimum: 1, maximum, default: DEFAULT_PER_PAGE, description: 'Items per page.' }),
  })
export const pageQuery = pageQueryUpTo(MAX_PER_PAGE)

export type Page = { limit: number; offset: number }

export function pageOf(query: { page?: number; per_page?: number }): Page {
  const limit = query.per_page ?? DEFAULT_PER_PAGE
  return { limit, offset: (Math.min(query.page ?? 1, MAX_PAGE) - 1) * limit }
}

/** What a list query found in addition to its rows: `total` may stop at COUNT_LIMIT + 1, `hasMore` is always exact. */
export type Extent = { total: number; hasMore: boolean }

/** Sets `X-Total-Count` and `Link` (RFC 8288). */
export function describePage(
  request: FastifyRequest,
  reply: FastifyReply,
  baseUrl: string,
  page: Page,
  extent: Extent,
): void {
  reply.header('x-total-count', extent.total > COUNT_LIMIT ? `${COUNT_LIMIT}+` : String(extent.total))
  reply.header('link', linkHeader(`${baseUrl}${pathAndQuery(request.url)}`, page, extent))
}

/** The page of a list that the request asks for, described in the headers of the response. */
export async function readRequestedPage<Item>(
  request: FastifyRequest,
  reply: FastifyReply,
  baseUrl: string,
  read: (page: Page) => Promise<{ items: Item[]; extent: Extent }>,
): Promise<Item[]> {
  const page = pageOf(request.query as { page?: number; per_page?: number })
  const { items, extent } = await read(page)
  describePage(request, reply, baseUrl, page, extent)
  return items
}

/** Pure: the relations that apply, each with the rest of the caller's query. */
export function linkHeader(url: string, { limit, offset }: Page, { total, hasMore }: Extent): string {
  const current = offset / limit + 1
  const last = total > COUNT_LIMIT ? undefined : Math.max(1, Math.ceil(total / limit))
  const relations: [string, number][] = [['first', 1]]
  if (current > 1) relations.push(['prev', Math.min(current - 1, last ?? current)])
  if (hasMore) relations.push(['next', current + 1])
  if (last !== undefined) relations.push(['last', last])
  return relations.map(([relation, number]) => `<${withPage(url, number)}>; rel="${relation}"`).join(', ')
}

function withPage(url: string, page: number): string {
  const next = new URL(url)
  next.searchParams.set('page', String(page))
  return next.href
}
