// What the webhooks of the stand-ins for GitHub, GitLab and Gitea share: they are stored per repository, and called over HTTP.
import type { Reply } from './service.ts'

/** How a stand-in calls a webhook; the status of the answer, or null without one. */
export type Deliver = (call: {
  url: string
  headers: Record<string, string>
  body: string
}) => Promise<number | null>

/** Over the network, as a host does: it does not retry. */
export const deliverByFetch: Deliver = async ({ url, headers, body }) => {
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return null
  }
}

export type Push = { ref: string; before: string; after: string }

/** One page of a list, with the Link header that the services send. */
export function pageOf<Item>(
  all: readonly Item[],
  request: { path: string; headers: Record<string, string>; query: Record<string, string> },
  { size, max, standard }: { size: string; max: number; standard: number },
): Reply {
  const perPage = Math.min(max, Number(request.query[size] ?? standard))
  const page = Number(request.query.page ?? 1)
  const url = new URL(request.path, `http://${request.headers.host}`)
  const link = (number: number, rel: string) => {
    url.search = new URLSearchParams({ ...request.query, page: String(number) }).toString()
    return `<${url}>; rel="${rel}"`
  }
  const last = Math.max(1, Math.ceil(all.length / perPage))
  const headers: Record<string, string> =
    page < last ? { link: [link(page + 1, 'next'), link(last, 'last')].join(', ') } : {}
  return { status: 200, headers, body: all.slice((page - 1) * perPage, page * perPage) }
}
