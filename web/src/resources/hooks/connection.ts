// Connections of hooks to their repositories, and polling, as text. Pure.
import { reachOf } from '#client/index.ts'
import type { Hook } from '#web/base/api/types.ts'
import type { Status } from '#web/base/ui/status.ts'

export type Connection = NonNullable<Hook['connection']>

export const HOST_NAMES: Record<Connection['provider'], string> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  gitea: 'Gitea',
}

type Shown = { status: Status; label: string }

export const CONNECTION_STATES: Record<Connection['state'], Shown> = {
  connecting: { status: 'queued', label: 'Connecting' },
  connected: { status: 'completed', label: 'Connected' },
  missing: { status: 'failed', label: 'Webhook missing' },
  changed: { status: 'failed', label: 'Webhook changed' },
  disabled: { status: 'failed', label: 'Webhook disabled' },
  forbidden: { status: 'failed', label: 'Not allowed' },
  unreachable: { status: 'failed', label: 'Host unreachable' },
}

/** The state of a hook that is connected or polls; undefined for others, and for those that are paused. */
export function repositoryState({
  active,
  connection,
  poll,
}: Pick<Hook, 'active' | 'connection' | 'poll'>): Shown | undefined {
  if (!active) return undefined
  if (connection) return CONNECTION_STATES[connection.state]
  if (!poll) return undefined
  return poll.problem === null
    ? { status: 'completed', label: 'Polling' }
    : { status: 'failed', label: 'Polling fails' }
}

/** The part of an application's credential that says where its repository is. */
export type SourceCredential = { name: string; provider: { code: string } } | null

export function hostOf(credential: SourceCredential): Connection['provider'] | undefined {
  const code = credential?.provider.code ?? ''
  return Object.hasOwn(HOST_NAMES, code) ? (code as Connection['provider']) : undefined
}

/** Why no webhook can be created with this credential; undefined when one can. */
export function whyNoHost(credential: SourceCredential): string | undefined {
  if (hostOf(credential)) return undefined
  return credential === null
    ? 'The application has no credential. Select a token of GitHub, GitLab, Gitea or Forgejo in its settings.'
    : `Gantry creates webhooks at GitHub, GitLab, Gitea and Forgejo. The credential ${credential.name} is for another service.`
}

/** Why a hook cannot be connected as it is; undefined when it can. */
export function whyNotConnectable(
  hook: Pick<Hook, 'requires_secret' | 'settings'>,
  credential: SourceCredential,
): string | undefined {
  if (hook.settings.poll !== undefined)
    return 'Gantry polls the repository. Turn off polling in the settings first.'
  if (!hook.requires_secret)
    return 'The hook has no secret. Turn on “Calls must be signed” in the settings first.'
  return whyNoHost(credential)
}

/** `https://git.example.com/acme/shop.git`, `git@git.example.com:acme/shop.git` → `git.example.com`. */
export function repositoryHost(repository: string): string | undefined {
  const scp = /^(?:[^@/\s]+@)?([^:/\s]+):(?!\/\/)/.exec(repository)?.[1]
  const host = scp ?? URL.parse(repository)?.hostname
  return host === '' ? undefined : host
}

/** Judged by the two addresses alone: whether what serves the repository can call Gantry. */
export function isReachableFrom(repository: string, baseUrl: string): boolean {
  const reach = reachOf(baseUrl)
  if (reach === 'public') return true
  const host = repositoryHost(repository)
  // `acme/shop` is at the public host of its credential.
  const from = host === undefined ? 'public' : reachOf(`http://${host}`)
  return from === 'loopback' || (from === 'private' && reach === 'private')
}

/** `every minute`, `every 90 seconds`. */
export function intervalText(seconds: number): string {
  const [count, unit] = seconds % 60 === 0 ? [seconds / 60, 'minute'] : [seconds, 'second']
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`
}
