// What a deploy ships: commits and files since what was live, per server where servers differed.
import { Alert, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Action, ReleaseComparison } from '../api/types.ts'
import { DataTable, Section } from '../ui/parts.tsx'
import { plural } from '../ui/status.ts'
import { changesSummary, comparisonTitle, omitted } from './changes.ts'

const REFETCH_INTERVAL_MS = 4_000

export function ChangesSection({ action }: { action: Action }) {
  const api = useApi()
  const { id, type } = action
  const { data } = useQuery({
    queryKey: queryKeys.actionChanges(id),
    enabled: type === 'deploy',
    queryFn: ({ signal }) =>
      api.get('/actions/{action_id}/changes', { params: { path: { action_id: id } }, signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'pending' ? REFETCH_INTERVAL_MS : false),
  })
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
    <div>
      <Text fw={600} size="sm" mb="xs" className="wrap">
        {!isOnly && `${servers.map(({ name }) => name).join(', ')}: `}
        {comparisonTitle(comparison)}
      </Text>
      {rewritten && (
        <Alert color="yellow" variant="light" p="xs" mb="xs">
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
    </div>
  )
}

function Commits({ commits }: { commits: NonNullable<ReleaseComparison['commits']> }) {
  return (
    <>
      <DataTable columns={['Commit', 'Subject', 'Author']}>
        {commits.items.map(({ sha, subject, author_name }) => (
          <Table.Tr key={sha}>
            <Table.Td>
              <code>{sha.slice(0, 8)}</code>
            </Table.Td>
            <Table.Td className="wrap">{subject}</Table.Td>
            <Table.Td>{author_name}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      <Text size="sm" className="dimmed">
        {omitted(commits)}
      </Text>
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
      <Text size="sm" className="dimmed">
        {omitted(files)}
      </Text>
    </>
  )
}
