import { createHash } from 'node:crypto'
import type { Push } from './read-push.ts'

// The call that a host would send for a push, for pushes that Gantry found by itself. Pure.

export type FoundPush = {
  /** Of the application. */
  repository: { address: string; owner: string | null; name: string | null }
  branch: string
  before: string
  after: string
  /** How often the branch has moved before: it may return to a commit. */
  moves: number
}

export type PushCall = { headers: Record<string, string>; body: Buffer; push: Push }

type Format = { headers: (id: string) => Record<string, string>; payload: (push: FoundPush) => object }

const ref = ({ branch }: FoundPush) => `refs/heads/${branch}`
const nameOf = ({ repository: { owner, name } }: FoundPush) => [owner, name].filter(Boolean).join('/')

/** A push as GitHub describes it, and those who follow it. */
const followers = (push: FoundPush) => ({
  ref: ref(push),
  before: push.before,
  after: push.after,
  commits: [],
  head_commit: { id: push.after },
  repository: {
    name: push.repository.name,
    full_name: nameOf(push),
    owner: { login: push.repository.owner },
    clone_url: push.repository.address,
  },
})

const github: Format = {
  headers: (id) => ({ 'x-github-event': 'push', 'x-github-delivery': id }),
  payload: (push) => ({
    ...followers(push),
    created: /^0+$/.test(push.before),
    deleted: false,
    forced: false,
    base_ref: null,
  }),
}

const FORMATS: Readonly<Record<string, Format>> = {
  github,
  gitea: {
    headers: (id) => ({ 'x-gitea-event': 'push', 'x-gitea-delivery': id }),
    payload: followers,
  },
  gitlab: {
    headers: (id) => ({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-event-uuid': id }),
    payload: (push) => ({
      object_kind: 'push',
      event_name: 'push',
      before: push.before,
      after: push.after,
      ref: ref(push),
      checkout_sha: push.after,
      project: { path_with_namespace: nameOf(push), git_http_url: push.repository.address },
      commits: [],
    }),
  },
  bitbucket: {
    headers: (id) => ({ 'x-event-key': 'repo:push', 'x-request-uuid': id }),
    payload: (push) => ({
      push: {
        changes: [
          {
            new: { type: 'branch', name: push.branch, target: { type: 'commit', hash: push.after } },
            old: { type: 'branch', name: push.branch, target: { type: 'commit', hash: push.before } },
          },
        ],
      },
      repository: { full_name: nameOf(push) },
    }),
  },
}

/** In the format of the credential's provider, else GitHub's. The same move always has the same id. */
export function pushCall(provider: string | null, push: FoundPush): PushCall {
  const { headers, payload } = FORMATS[provider ?? ''] ?? github
  const { branch, before, after, moves } = push
  const digest = createHash('sha256')
    .update(JSON.stringify([branch, before, after, moves]))
    .digest('hex')
  const id = digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return {
    headers: { 'content-type': 'application/json', ...headers(id) },
    body: Buffer.from(JSON.stringify(payload(push))),
    push: { ref: ref(push), commit: after },
  }
}
