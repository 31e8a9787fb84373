import { type Static, Type } from 'typebox'
import {
  described,
  Exactly,
  idOf,
  idOrNullOf,
  named,
  ref,
  refOrNull,
  TextOrNull,
  TimestampOrNull,
  Word,
} from '#platform/http/schemas.ts'
import { CHANGES_REASONS } from './changes.ts'

const shippedCommitsSchema = named(
  'ShippedCommits',
  Exactly(
    {
      total: Type.Integer({ minimum: 0, description: 'How many there are.' }),
      items: Type.Array(
        Exactly({
          sha: Type.String({ description: 'The full hash of the commit.' }),
          subject: Type.String({ description: 'The first line of its message, at most 255 characters.' }),
          author_name: Type.String({ description: 'Who wrote it.' }),
          committed_at: described(TimestampOrNull, 'When it was committed; null when the date is invalid.'),
        }),
        { description: 'The newest, at most 250.' },
      ),
    },
    { description: 'Commits, newest first.' },
  ),
)

const changedFilesSchema = named(
  'ChangedFiles',
  Exactly(
    {
      total: Type.Integer({ minimum: 0, description: 'How many there are.' }),
      items: Type.Array(
        Exactly({
          path: Type.String({
            description: 'The path in the repository. Bytes that are not UTF-8 are replaced.',
          }),
          status: Word(['added', 'modified', 'deleted', 'renamed'] as const, {
            description: 'What happened to the file.',
          }),
          old_path: TextOrNull({ description: 'The path before; null unless the file was renamed.' }),
        }),
        { description: 'The first, at most 1,000.' },
      ),
    },
    { description: 'Files that differ, by path.' },
  ),
)

const STATES = ['pending', 'compared', 'unavailable'] as const
const reasonFields = {
  reason: Type.Unsafe<keyof typeof CHANGES_REASONS | null>({
    type: ['string', 'null'],
    enum: [...Object.keys(CHANGES_REASONS), null],
    description: 'Why there is no comparison, or only its files (`shallow_history`); null otherwise.',
  }),
  reason_human_readable: TextOrNull({ description: '`reason` in words, for display; null without one.' }),
}

const from = {
  action_id: idOrNullOf('action that made it live', 'null when it is not known'),
  release_name: Type.String({ description: 'The name of the release.' }),
  commit_sha: TextOrNull({ description: 'The full hash of its commit; null when it is not known.' }),
}

export const releaseComparisonSchema = named(
  'ReleaseComparison',
  Exactly({
    servers: Type.Array(
      Exactly({ id: idOf('server'), name: Type.String({ description: 'The name of the server.' }) }),
      { description: 'The servers that served the same release.' },
    ),
    state: Word(STATES, {
      description:
        '`pending` until the commit is known, then `compared`, or `unavailable` for the reason that `reason` names.',
    }),
    ...reasonFields,
    from: Type.Unsafe<{ action_id: number | null; release_name: string; commit_sha: string | null } | null>({
      ...Exactly(from),
      type: ['object', 'null'],
      description: 'What was live on these servers when the source was fetched; null when nothing was.',
    }),
    to: Exactly(
      {
        commit_sha: TextOrNull({ description: 'The full hash of the new commit; null until it is known.' }),
      },
      { description: 'What the action brings there.' },
    ),
    rewritten: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description:
        'Whether the history was rewritten: the new commit does not contain the live one, which has left its branch (a force-push, or a removed branch). Null when it is not known.',
    }),
    commits: described(
      refOrNull(shippedCommitsSchema),
      'What ships: commits of the new release that the live one does not have. Null when they are not known.',
    ),
    removed_commits: described(
      refOrNull(shippedCommitsSchema),
      'What goes away: commits of the live release that the new one does not have, as in a rollback. Null when they are not known.',
    ),
    files: described(
      refOrNull(changedFilesSchema),
      'What differs between the two. Null when it is not known.',
    ),
  }),
)

export const actionChangesSchema = named(
  'ActionChanges',
  Exactly({
    action_id: idOf('action'),
    state: Word(STATES, {
      description: '`pending` while a comparison is, `compared` when there is one, else `unavailable`.',
    }),
    ...reasonFields,
    comparisons: Type.Array(ref(releaseComparisonSchema), {
      description: 'One for all servers that served the same release; several when servers differed.',
    }),
  }),
)

export const changesSchemas = [
  shippedCommitsSchema,
  changedFilesSchema,
  releaseComparisonSchema,
  actionChangesSchema,
]

export type ReleaseComparison = Static<typeof releaseComparisonSchema>
export type ActionChanges = Static<typeof actionChangesSchema>
