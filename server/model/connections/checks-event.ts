import { objectOf, textOf } from './host.ts'

// Calls that say nothing but that checks of a commit have changed. Pure.

export type ChecksEvent = { repository: string | null; commit: string | null }

type Headers = Record<string, string | string[] | undefined>
type Payload = Record<string, unknown>

const COMMITS: Readonly<Record<string, (payload: Payload) => unknown>> = {
  'x-github-event check_suite': (payload) => objectOf(payload.check_suite).head_sha,
  'x-github-event status': (payload) => payload.sha,
  'x-gitea-event status': (payload) => payload.sha,
  'x-forgejo-event status': (payload) => payload.sha,
  'x-gitlab-event Pipeline Hook': (payload) => objectOf(payload.object_attributes).sha,
}
const EVENT_HEADERS = ['x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gitlab-event']

/** Null: it is about something else. */
export function readChecksEvent(headers: Headers, payload: unknown): ChecksEvent | null {
  const commitOf = EVENT_HEADERS.map((name) => COMMITS[`${name} ${headers[name]}`]).find(Boolean)
  if (!commitOf) return null
  const body = objectOf(payload)
  return {
    repository:
      textOf(objectOf(body.repository).full_name) ?? textOf(objectOf(body.project).path_with_namespace),
    commit: textOf(commitOf(body)),
  }
}
