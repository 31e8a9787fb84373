// What a deploy ships: commits and files since what was live, per server where servers differed.
import { Alert, Stack, Text } from '@mantine/core'
import type { Action, ReleaseComparison } from '#web/base/api/types.ts'
import { Dimmed, Section } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import { RowTable } from '#web/base/ui/table.tsx'
import { changesSummary, comparisonTitle, omitted } from './changes.ts'
import { useChanges } from './use-gates.ts'

export function ChangesSection({ action }: { action: Action }) {
  const { data } = useChanges(action)
  if (!data || data.reason === 'not_a_deploy') return null
  const summary = changesSummary(data)
  const shown = data.comparisons.filter(({ state }) => state === 'compared')
  return (
    <Section id="changes" title="Changes">
      {summary && <Text className="dimmed">{summary}</Text>}
      <Stack gap="md">
        {shown.map((comparison) => (
          <ComparisonView
            key={comparison.servers[0]?.id}
            comparison={comparison}
            isOnly={data.comparisons.length === 1}
          />
        ))}
      </Stack>
    </Section>
  )
}

function ComparisonView({ comparison, isOnly }: { comparison: ReleaseComparison; isOnly: boolean }) {
  const { servers, commits, removed_commits, files, rewritten, reason_human_readable } = comparison
  return (
    <Stack gap="xs">
      <Text fw={600} size="sm" className="wrap">
        {!isOnly && `${servers.map(({ name }) => name).join(', ')}: `}
        {comparisonTitle(comparison)}
      </Text>
      {rewritten && (
        <Alert color="yellow" variant="light" p="xs">
          The history was rewritten: the live commit has left its branch
        </Alert>
      )}
      {reason_human_readable && <Text size="sm">{reason_human_readable}</Text>}
      {commits && commits.total > 0 && <Commits commits={commits} />}
      {removed_commits && removed_commits.total > 0 && (
        <details>
          <summary>{plural(removed_commits.total, 'commit')} removed</summary>
          <Commits commits={removed_commits} />
        </details>
      )}
      {files && files.total > 0 && (
        <details>
          <summary>{plural(files.total, 'file')} changed</summary>
          <Files files={files} />
        </details>
      )}
    </Stack>
  )
}

function Commits({ commits }: { commits: NonNullable<ReleaseComparison['commits']> }) {
  return (
    <>
      <RowTable
        label="Commits"
        rows={commits.items.map((commit) => ({ id: commit.sha, ...commit }))}
        columns={[
          ['Commit', undefined, ({ sha }) => <code>{sha.slice(0, 8)}</code>],
          ['Subject', 'wrap', ({ subject }) => subject],
          ['Author', undefined, ({ author_name }) => author_name],
        ]}
      />
      <Dimmed>{omitted(commits)}</Dimmed>
    </>
  )
}

function Files({ files }: { files: NonNullable<ReleaseComparison['files']> }) {
  return (
    <>
      <ul>
        {files.items.map(({ path, status, old_path }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes, and two paths may look the same
          <li key={index} className="wrap">
            {status} <code>{old_path === null ? path : `${old_path} → ${path}`}</code>
          </li>
        ))}
      </ul>
      <Dimmed>{omitted(files)}</Dimmed>
    </>
  )
}
