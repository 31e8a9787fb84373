import type { SentStatus } from '#model/hooks/sent-status.ts'
import type { RemoteStatus } from './read-remote.ts'

/** How often a status is sent again because the service shows another one. */
export const MAX_REPAIRS = 2

type Subject = {
  sent: Pick<SentStatus, 'state' | 'link'>
  actionId: number
  /** The newest action that has set the same status of the same commit since. */
  newerActionId: number | null
  repairs: number
}

export type Verdict =
  | { kind: 'matches' }
  /** Shows something else, or nothing: it is sent again. */
  | { kind: 'repair'; detail: string }
  /** Somebody else's status, or a newer run's: left alone. */
  | { kind: 'overridden'; detail: string }
  /** This run's status hides that of a newer run, which has to be checked again. */
  | { kind: 'hides-newer'; detail: string }
  | { kind: 'unknown'; detail: string; isTemporary: boolean }

/**
 * What to do about what a service shows. The newest action of a repository, commit and context wins; a link that does not
 * lead to this installation means that the status is not ours. Pure.
 */
export function judge(
  { sent, actionId, newerActionId, repairs }: Subject,
  remote: RemoteStatus,
  service: string,
): Verdict {
  if (remote.kind === 'unreadable')
    return { kind: 'unknown', detail: remote.reason, isTemporary: remote.isTemporary }
  const newer = newerActionId === null ? null : `Run #${newerActionId} has set this status since.`
  if (remote.kind === 'missing') {
    const detail = `${service} shows no such status.`
    if (newer) return { kind: 'overridden', detail: newer }
    if (repairs < MAX_REPAIRS) return { kind: 'repair', detail }
    return { kind: 'unknown', detail: `${detail} It was sent again ${repairs} times.`, isTemporary: false }
  }
  const shownBy = remote.link === sent.link ? actionId : actionOf(remote.link, sent.link)
  if (shownBy === null) return { kind: 'overridden', detail: `${service} shows a status that is not ours.` }
  if (shownBy > actionId) return { kind: 'overridden', detail: `Run #${shownBy} has set this status since.` }
  if (newer) return { kind: 'hides-newer', detail: newer }
  if (shownBy === actionId && remote.state === sent.state) return { kind: 'matches' }
  const detail =
    shownBy === actionId
      ? `${service} showed ${remote.state} instead of ${sent.state}.`
      : `${service} showed the status of run #${shownBy}.`
  if (repairs < MAX_REPAIRS) return { kind: 'repair', detail }
  return { kind: 'overridden', detail: `${detail} It was sent again ${repairs} times.` }
}

/** The action whose page of this installation `link` is; null for any other link. `own` is such a page. */
function actionOf(link: string | null, own: string): number | null {
  const prefix = own.replace(/\d+$/, '')
  const id = link?.startsWith(prefix) ? link.slice(prefix.length) : ''
  return /^\d{1,15}$/.test(id) ? Number(id) : null
}
