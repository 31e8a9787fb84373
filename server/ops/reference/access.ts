import type { RouteAccess } from '#access/authorization/enforce.ts'
import { prose } from './html.ts'

/** Who may call an operation, as HTML: the permission, and what a personal access token needs. */
export type ShownAccess = { who: string; token: string | undefined }

/** Finds what an operation requires in the table of all routes. */
export function accessOf(
  table: readonly RouteAccess[],
  { method, path }: { method: string; path: string },
): ShownAccess | undefined {
  const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
  const route = table.find((one) => one.method === method && one.url === url)
  return route && describeAccess(route)
}

export function describeAccess({ access, token }: RouteAccess): ShownAccess {
  return { who: prose(whoMayCall(access)), token: token === null ? undefined : prose(TOKENS[token]) }
}

const TOKENS: Record<NonNullable<RouteAccess['token']>, string> = {
  read: '`read`',
  run: '`run`',
  hooks: '`hooks`',
  manage: '`manage`',
  approve: '`approve`, by name: a token without scopes does not have it',
  any: 'none: any personal access token works',
  unlimited: 'a personal access token without scopes and restrictions',
  none: 'personal access tokens are rejected: log in instead',
}

function whoMayCall(access: RouteAccess['access']): string {
  switch (access.kind) {
    case 'public':
      return 'none: public'
    case 'signed-in':
      return access.shows ? `\`${access.shows}\`: shows what you have it for` : 'none: any signed-in user'
    case 'instance-admin':
      return access.or
        ? 'instance administrators, or the token in `GANTRY_METRICS_TOKEN`'
        : 'instance administrators'
    case 'permissions':
      return access.needs.map((need) => SPECIAL[need] ?? `\`${need}\``).join(' and ')
  }
}

const SPECIAL: Record<string, string> = {
  'resource:view': '`application:view` or `server:view`, whichever the pipeline runs on',
  replay: '`pipeline:run` for a call, `hook:edit` for a delivery',
}
