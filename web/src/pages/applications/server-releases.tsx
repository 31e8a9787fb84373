import { Badge, Button, Group, List, Table, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { LiveRelease, Pipeline, Release } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { formatBytes, safeUrl } from '#web/base/ui/format.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { DataTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useResourcePipelines } from '#web/resources/pipelines/resource-pipelines.tsx'
import { RollbackDialog } from '#web/resources/runs/rollback-dialog.tsx'
import {
  containment,
  readCommitDigits,
  releaseState,
  useContaining,
  useServerReleases,
} from './server-releases.ts'

type ServerReleasesProps = { applicationId: number; scope: PermissionScope | undefined }
type Choice = { pipeline: Pipeline; release: string }

/** What each server serves, and which releases are there to go back to. */
export function ServerReleases({ applicationId, scope }: ServerReleasesProps) {
  const query = useServerReleases(applicationId)
  const pipelines = useResourcePipelines('application', applicationId)
  const deploys = (pipelines.data ?? []).filter(({ operation }) => operation === 'deploy')
  const [choice, setChoice] = useState<Choice>()
  return (
    <Section id="server-releases" title="Live and releases">
      <Loaded query={query} what="releases">
        {(servers) => {
          const rows = servers.flatMap(({ server, releases }, index) =>
            releases.map((release) => ({ server, release, key: `${index} ${release.release_name}` })),
          )
          if (rows.length === 0) return <span className="dimmed">No releases yet</span>
          return (
            <>
              <CommitSearch applicationId={applicationId} />
              <DataTable
                columns={['Server', 'Release', 'State', 'Commit', 'Size', 'Made', 'Actions']}
                aria-label="Releases"
              >
                {rows.map(({ server, release, key }) => (
                  <ReleaseRow key={key} server={server?.name ?? ''} release={release}>
                    {release.can_roll_back &&
                      deploys.map((pipeline) => (
                        <GuardedButton
                          key={pipeline.id}
                          permission="pipeline:run"
                          scope={scope}
                          size="compact-sm"
                          variant="default"
                          onClick={() => setChoice({ pipeline, release: release.release_name })}
                        >
                          {deploys.length === 1 ? 'Roll back to this' : `Roll back with ${pipeline.name}`}
                        </GuardedButton>
                      ))}
                  </ReleaseRow>
                ))}
              </DataTable>
            </>
          )
        }}
      </Loaded>
      {choice && <RollbackDialog {...choice} close={() => setChoice(undefined)} />}
    </Section>
  )
}

type ReleaseRowProps = { server: string; release: Release; children: React.ReactNode }

function ReleaseRow({ server, release, children }: ReleaseRowProps) {
  const { release_name, commit, action, size_bytes, recorded_at } = release
  const url = safeUrl(commit?.url)
  const hash = <code>{commit?.hash.slice(0, 8)}</code>
  return (
    <Table.Tr>
      <Table.Td className="wrap name-cell">{server}</Table.Td>
      <Table.Td>
        <code>{release_name}</code>
      </Table.Td>
      <Table.Td className="status-cell">
        <Badge size="sm" variant="light" tt="none" color={release.live ? 'teal' : 'gray'}>
          {releaseState(release)}
        </Badge>
      </Table.Td>
      <Table.Td className="wrap">
        {url ? (
          <a href={url} target="_blank" rel="noreferrer">
            {hash}
          </a>
        ) : (
          hash
        )}{' '}
        {commit?.message?.split('\n')[0]?.slice(0, 200)}
      </Table.Td>
      <Table.Td className="numeric dimmed">{size_bytes !== null && formatBytes(size_bytes)}</Table.Td>
      <Table.Td className="numeric dimmed">
        {action && <Link href={`/actions/${action.id}`}>#{action.id}</Link>} <Age of={recorded_at} />
      </Table.Td>
      <Table.Td>{children}</Table.Td>
    </Table.Tr>
  )
}

/** "Is my commit live, and where?" */
function CommitSearch({ applicationId }: { applicationId: number }) {
  const [text, setText] = useState('')
  const [asked, setAsked] = useState<string>()
  const [error, setError] = useState<string>()
  const query = useContaining(applicationId, asked)
  return (
    <>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const digits = readCommitDigits(text)
          setAsked(digits)
          setError(digits === undefined ? 'Enter at least 7 digits of a commit hash.' : undefined)
        }}
      >
        <Group gap="xs" align="flex-start" mb="xs">
          <TextInput
            aria-label="Is this commit live?"
            placeholder="Is this commit live?"
            maxLength={64}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            error={error}
          />
          <Button type="submit" variant="default" loading={query.isFetching}>
            Check
          </Button>
        </Group>
      </form>
      {asked !== undefined && (
        <Loaded query={query} what="servers">
          {(servers) => <Answers servers={servers} />}
        </Loaded>
      )}
    </>
  )
}

function Answers({ servers }: { servers: LiveRelease[] }) {
  return (
    <List size="sm" mb="sm" aria-label="Where the commit is live">
      {servers.map((live, index) => (
        <List.Item key={live.server?.id ?? index}>
          {live.server && `${live.server.name}: `}
          <Text span fw={live.contains ? 600 : undefined}>
            {containment(live)}
          </Text>
        </List.Item>
      ))}
    </List>
  )
}
