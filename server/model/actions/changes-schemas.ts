import * as t from '#platform/http/schemas.ts'
import { CHANGES_REASONS } from './changes.ts'

const listed = <Item extends t.TSchema>(name: string, description: string, items: Item, which: string) =>
  t.named(
    name,
    t.Exactly(
      { total: t.Integer({ minimum: 0, description: 'How many there are.' }), items: t.List(items, which) },
      { description },
    ),
  )

const shippedCommitsSchema = listed(
  'ShippedCommits',
  'Commits, newest first.',
  t.Exactly({
    sha: t.Text('The full hash of the commit.'),
    subject: t.Text('The first line of its message, at most 255 characters.'),
    author_name: t.Text('Who wrote it.'),
    committed_at: t.TimeOrNull('When it was committed; null when the date is invalid.'),
  }),
  'The newest, at most 250.',
)

const changedFilesSchema = listed(
  'ChangedFiles',
  'Files that differ, by path.',
  t.Exactly({
    path: t.Text('The path in the repository. Bytes that are not UTF-8 are replaced.'),
    status: t.Word(['added', 'modified', 'deleted', 'renamed'] as const, 'What happened to the file.'),
    old_path: t.TextOrNull('The path before; null unless the file was renamed.'),
  }),
  'The first, at most 1,000.',
)

const STATES = ['pending', 'compared', 'unavailable'] as const
const reasonFields = {
  reason: t.Unsafe<keyof typeof CHANGES_REASONS | null>({
    type: ['string', 'null'],
    enum: [...Object.keys(CHANGES_REASONS), null],
    description: 'Why there is no comparison, or only its files (`shallow_history`); null otherwise.',
  }),
  reason_human_readable: t.TextOrNull('`reason` in words, for display; null without one.'),
}

const from = {
  action_id: t.idOrNullOf('action that made it live', 'null if unknown'),
  release_name: t.Text('The name of the release.'),
  commit_sha: t.TextOrNull('The full hash of its commit; null if unknown.'),
}

export const releaseComparisonSchema = t.namedObject('ReleaseComparison', {
  servers: t.List(
    t.Exactly({ id: t.idOf('server'), name: t.Text('The name of the server.') }),
    'The servers that served the same release.',
  ),
  state: t.Word(
    STATES,
    '`pending` until the commit is known, then `compared`, or `unavailable` for the reason that `reason` names.',
  ),
  ...reasonFields,
  from: t.Unsafe<t.Static<t.TObject<typeof from>> | null>({
    ...t.Exactly(from),
    type: ['object', 'null'],
    description: 'What was live on these servers when the source was fetched; null when nothing was.',
  }),
  to: t.Exactly(
    {
      commit_sha: t.TextOrNull('The full hash of the new commit; null until it is known.'),
    },
    { description: 'What the action brings there.' },
  ),
  rewritten: t.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description:
      'Whether the history was rewritten: the new commit does not contain the live one, which has left its branch (a force-push, or a removed branch). Null if unknown.',
  }),
  commits: t.refOrNull(
    shippedCommitsSchema,
    'What ships: commits of the new release that the live one does not have. Null if unknown.',
  ),
  removed_commits: t.refOrNull(
    shippedCommitsSchema,
    'What goes away: commits of the live release that the new one does not have, as in a rollback. Null if unknown.',
  ),
  files: t.refOrNull(changedFilesSchema, 'What differs between the two. Null if unknown.'),
})

export const actionChangesSchema = t.namedObject('ActionChanges', {
  action_id: t.idOf('action'),
  state: t.Word(STATES, '`pending` while a comparison is, `compared` when there is one, else `unavailable`.'),
  ...reasonFields,
  comparisons: t.List(
    t.ref(releaseComparisonSchema),
    'One for all servers that served the same release; several when servers differed.',
  ),
})

export const changesSchemas = [
  shippedCommitsSchema,
  changedFilesSchema,
  releaseComparisonSchema,
  actionChangesSchema,
]

export type ReleaseComparison = t.Static<typeof releaseComparisonSchema>
export type ActionChanges = t.Static<typeof actionChangesSchema>
