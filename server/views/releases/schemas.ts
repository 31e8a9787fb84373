import { type Static, Type } from 'typebox'
import { UNKNOWN_CONTAINMENT } from '#adapters/repositories/containment.ts'
import { actionRefSchema } from '#model/actions/schemas.ts'
import {
  described,
  Exactly,
  IntegerOrNull,
  idOf,
  namedObject,
  ref,
  refOrNull,
  TextOrNull,
  Timestamp,
  TimestampOrNull,
  Word,
} from '#platform/http/schemas.ts'

const serverOfRelease = Type.Unsafe<{ id: number; name: string } | null>({
  anyOf: [
    Exactly({ id: idOf('server'), name: Type.String({ description: 'The name of the server.' }) }),
    { type: 'null' },
  ],
  description: 'The server; null for callers without `server:view`.',
})

const releaseCommitSchema = namedObject('ReleaseCommit', {
  hash: Type.String({ description: 'The full hash.' }),
  message: TextOrNull({
    description: 'The commit message; null when unknown, and for callers without `action:view`.',
  }),
  url: TextOrNull({
    description:
      'Its page at the provider; null when the provider has none, and for callers without `action:view`.',
  }),
})

const CONTAINS_REASONS = ['nothing_live', 'live_unknown', ...UNKNOWN_CONTAINMENT] as const

const possiblyLiveSchema = namedObject('PossiblyLiveRelease', {
  action: described(
    refOrNull(actionRefSchema),
    'The action whose release it is; null when unknown, and for callers without `action:view`.',
  ),
  release_name: TextOrNull({ description: 'The name of the release.' }),
  commit: described(refOrNull(releaseCommitSchema), 'The commit of the release; null when unknown.'),
  since: described(TimestampOrNull, 'When the server switched to it; null when that is not known.'),
})

export const liveReleaseSchema = namedObject('LiveRelease', {
  server: serverOfRelease,
  state: Word(['known', 'unknown', 'nothing'] as const, {
    description:
      '`known`: the server serves the release below. `nothing`: nothing is live there. `unknown`: a run was interrupted while the server switched, or `current` is not a release that Gantry made; Gantry keeps asking the server.',
  }),
  action: described(
    refOrNull(actionRefSchema),
    'The action that switched the server to the release; null unless `state` is `known`, and for callers without `action:view`.',
  ),
  release_name: TextOrNull({ description: 'The live release; null unless `state` is `known`.' }),
  commit: described(refOrNull(releaseCommitSchema), 'The commit of the release; null when unknown.'),
  since: described(TimestampOrNull, 'When the server switched to it; null unless `state` is `known`.'),
  last_known: described(
    refOrNull(possiblyLiveSchema),
    'What was live before that became unknown; null unless `state` is `unknown`, and when nothing was.',
  ),
  candidate: described(
    refOrNull(possiblyLiveSchema),
    'What the interrupted run was switching to, which may be live instead; null unless `state` is `unknown`, and when no run was interrupted.',
  ),
  unknown_since: described(TimestampOrNull, 'Since when it is unknown; null unless `state` is `unknown`.'),
  unknown_reason: TextOrNull({
    description:
      'Why it is unknown; null unless `state` is `unknown`, and for callers without `server:view`.',
  }),
  contains: Type.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description:
      'Whether the live commit is, or has among its ancestors, the commit that `contains` names; null when unknown, and without `contains`.',
  }),
  contains_reason: Type.Unsafe<(typeof CONTAINS_REASONS)[number] | null>({
    enum: [...CONTAINS_REASONS, null],
    description:
      'Why `contains` is null although it was asked for: `nothing_live` on the server; `live_unknown`, see `state`; `unknown_commit` or `ambiguous_commit` in the mirror of the repository, which is as of the last deploy; `unknown_live_commit`, for example after the application got another repository; `shallow_history`; `no_mirror` on the machine that answers; `timeout`. Null otherwise.',
  }),
})
export type LiveRelease = Static<typeof liveReleaseSchema>

const releaseSchema = namedObject('Release', {
  release_name: Type.String({ description: 'The name of its folder, below `releases`.' }),
  commit: described(refOrNull(releaseCommitSchema), 'The commit that it was made of; null when unknown.'),
  action: described(
    refOrNull(actionRefSchema),
    'The action that made it; null when unknown, and for callers without `action:view`.',
  ),
  size_bytes: IntegerOrNull({
    description:
      'How much of the disk it takes, without shared paths; measured at the end of a deploy. Null when that took too long.',
  }),
  live: Type.Boolean({ description: 'Whether the server serves it.' }),
  was_live: Type.Boolean({ description: 'Whether the server serves it, or has served it.' }),
  reverted: Type.Boolean({
    description: 'Whether it was taken back because a step after its activation failed.',
  }),
  can_roll_back: Type.Boolean({
    description:
      'Whether `type: rollback` with this `release_name` can start on all servers: it was live, was not reverted, and is not what all of them serve.',
  }),
  recorded_at: described(Timestamp, 'When the deploy that made it began to copy it.'),
})

export const serverReleasesSchema = namedObject('ServerReleases', {
  server: serverOfRelease,
  releases: Type.Array(ref(releaseSchema), { description: 'Newest first.' }),
})
export type ServerReleases = Static<typeof serverReleasesSchema>

export const releaseSchemas = [
  releaseCommitSchema,
  possiblyLiveSchema,
  liveReleaseSchema,
  releaseSchema,
  serverReleasesSchema,
]
