/** What providers write when they limit requests with a 403: GitHub, GitLab, Gitea, Bitbucket and others. */
const MESSAGE = /rate[\s_-]?limit|too many requests|abuse detection/i

/** A limit is stated at the beginning; the rest of a long page may be about anything. */
const READ_BYTES = 4 * 1024

/** Whether a 403 means "not now" instead of "never". Pure. */
export function isRateLimited(response: {
  status: number
  headers: Record<string, string | string[]>
  body: Buffer
}): boolean {
  const { status, headers, body } = response
  if (status !== 403) return false
  if (headers['retry-after'] !== undefined) return true
  if ([headers['x-ratelimit-remaining']].flat()[0]?.trim() === '0') return true
  return MESSAGE.test(body.toString('latin1', 0, READ_BYTES))
}
