import { UNKNOWN_CONTAINMENT } from '#adapters/repositories/containment.ts'
import { actionRefSchema } from '#model/actions/schemas.ts'
import * as t from '#platform/http/schemas.ts'

const serverOfRelease = t.Unsafe<{ id: number; name: string } | null>({
  anyOf: [t.Exactly({ id: t.idOf('server'), name: t.Text('The name of the server.') }), { type: 'null' }],
  description: 'The server; null for callers without `server:view`.',
})

const releaseCommitSchema = t.namedObject('ReleaseCommit', {
  hash: t.Text('The full hash.'),
  message: t.TextOrNull('The commit message; null when unknown, and for callers without `action:view`.'),
  url: t.TextOrNull(
    'Its page at the provider; null when the provider has none, and for callers without `action:view`.',
  ),
})

const CONTAINS_REASONS = ['nothing_live', 'live_unknown', ...UNKNOWN_CONTAINMENT] as const

const possiblyLiveSchema = t.namedObject('PossiblyLiveRelease', {
  action: t.described(
    t.refOrNull(actionRefSchema),
    'The action whose release it is; null when unknown, and for callers without `action:view`.',
  ),
  release_name: t.TextOrNull('The name of the release.'),
  commit: t.described(t.refOrNull(releaseCommitSchema), 'The commit of the release; null when unknown.'),
  since: t.TimeOrNull('When the server switched to it; null if unknown.'),
})

export const liveReleaseSchema = t.namedObject('LiveRelease', {
  server: serverOfRelease,
  state: t.Word(
    ['known', 'unknown', 'nothing'] as const,
    '`known`: the server serves the release below. `nothing`: nothing is live there. `unknown`: a run was interrupted while the server switched, or `current` is not a release that Gantry made; Gantry keeps asking the server.',
  ),
  action: t.described(
    t.refOrNull(actionRefSchema),
    'The action that switched the server to the release; null unless `state` is `known`, and for callers without `action:view`.',
  ),
  release_name: t.TextOrNull('The live release; null unless `state` is `known`.'),
  commit: t.described(t.refOrNull(releaseCommitSchema), 'The commit of the release; null when unknown.'),
  since: t.TimeOrNull('When the server switched to it; null unless `state` is `known`.'),
  last_known: t.described(
    t.refOrNull(possiblyLiveSchema),
    'What was live before that became unknown; null unless `state` is `unknown`, and when nothing was.',
  ),
  candidate: t.described(
    t.refOrNull(possiblyLiveSchema),
    'What the interrupted run was switching to, which may be live instead; null unless `state` is `unknown`, and when no run was interrupted.',
  ),
  unknown_since: t.TimeOrNull('Since when it is unknown; null unless `state` is `unknown`.'),
  unknown_reason: t.TextOrNull(
    'Why it is unknown; null unless `state` is `unknown`, and for callers without `server:view`.',
  ),
  contains: t.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description:
      'Whether the live commit is, or has among its ancestors, the commit that `contains` names; null when unknown, and without `contains`.',
  }),
  contains_reason: t.Unsafe<(typeof CONTAINS_REASONS)[number] | null>({
    enum: [...CONTAINS_REASONS, null],
    description:
      'Why `contains` is null although it was asked for: `nothing_live` on the server; `live_unknown`, see `state`; `unknown_commit` or `ambiguous_commit` in the mirror of the repository, which is as of the last deploy; `unknown_live_commit`, for example after the application got another repository; `shallow_history`; `no_mirror` on the machine that answers; `timeout`. Null otherwise.',
  }),
})
export type LiveRelease = t.Static<typeof liveReleaseSchema>

const releaseSchema = t.namedObject('Release', {
  release_name: t.Text('The name of its folder, below `releases`.'),
  commit: t.described(t.refOrNull(releaseCommitSchema), 'The commit that it was made of; null when unknown.'),
  action: t.described(
    t.refOrNull(actionRefSchema),
    'The action that made it; null when unknown, and for callers without `action:view`.',
  ),
  size_bytes: t.IntegerOrNull(
    'How much of the disk it takes, without shared paths; measured at the end of a deploy. Null when that took too long.',
  ),
  live: t.Flag('Whether the server serves it.'),
  was_live: t.Flag('Whether the server serves it, or has served it.'),
  reverted: t.Flag('Whether it was reverted because a step after its activation failed.'),
  can_roll_back: t.Flag(
    'Whether `type: rollback` with this `release_name` can start on all servers: it was live, was not reverted, and is not what all of them serve.',
  ),
  recorded_at: t.Time('When the deploy that made it began to copy it.'),
})

export const serverReleasesSchema = t.namedObject('ServerReleases', {
  server: serverOfRelease,
  releases: t.List(t.ref(releaseSchema), 'Newest first.'),
})
export type ServerReleases = t.Static<typeof serverReleasesSchema>

export const releaseSchemas = [
  releaseCommitSchema,
  possiblyLiveSchema,
  liveReleaseSchema,
  releaseSchema,
  serverReleasesSchema,
]
