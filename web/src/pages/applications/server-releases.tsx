import { Badge, Button, Group, List, Table, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { LiveRelease, Pipeline, Release } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { CommitLink, subjectOf } from '#web/base/ui/commit-link.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { formatBytes } from '#web/base/ui/format.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import { DataTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useResourcePipelines } from '#web/resources/pipelines/resource-pipelines.tsx'
import { RollbackDialog } from '#web/resources/runs/rollback-dialog.tsx'
import classes from './application.module.css'
import {
  containment,
  groupByServer,
  readCommitDigits,
  releaseState,
  type ServerGroup,
  useContaining,
  useLive,
  useServerReleases,
} from './server-releases.ts'

type ServerReleasesProps = { applicationId: number; scope: PermissionScope | undefined }
type Choice = { pipeline: Pipeline; release: string }

/** With more servers, earlier releases are shown on request. */
const MAX_EXPANDED = 3

/** What each server serves, where they differ, and which releases are there to return to. */
export function ServerReleases({ applicationId, scope }: ServerReleasesProps) {
  const live = useLive(applicationId)
  const stored = useServerReleases(applicationId)
  const pipelines = useResourcePipelines('application', applicationId)
  const deploys = (pipelines.data ?? []).filter(({ operation }) => operation === 'deploy')
  const [choice, setChoice] = useState<Choice>()
  const [expanded, setExpanded] = useState<Record<string, boolean>>({})

  const rollBack = ({ can_roll_back, release_name: release }: Release) =>
    can_roll_back &&
    deploys.map((pipeline) => (
      <GuardedButton
        key={pipeline.id}
        permission="pipeline:run"
        scope={scope}
        size="compact-sm"
        variant="default"
        onClick={() => setChoice({ pipeline, release })}
      >
        {deploys.length === 1 ? 'Roll back to this' : `Roll back with ${pipeline.name}`}
      </GuardedButton>
    ))

  return (
    <Section id="server-releases" title="Servers and releases">
      <Loaded query={live} what="servers">
        {(servers) => {
          const groups = groupByServer(servers, stored.data ?? [])
          if (groups.length === 0)
            return (
              <span className="dimmed">
                Not linked to a server yet:{' '}
                <Link href={`/applications/${applicationId}/settings`}>Settings</Link>
              </span>
            )
          const isOpen = ({ key }: ServerGroup) => expanded[key] ?? groups.length <= MAX_EXPANDED
          return (
            <>
              <CommitSearch applicationId={applicationId} />
              <DataTable
                columns={['Server', 'State', 'Commit', 'Release', 'Size', 'Made', 'Actions']}
                aria-label="Servers and releases"
              >
                {groups.map((group) => [
                  <ReleaseRow key={group.key} group={group} release={group.live}>
                    {group.older.length > 0 && groups.length > MAX_EXPANDED && (
                      <Button
                        size="compact-sm"
                        variant="subtle"
                        aria-expanded={isOpen(group)}
                        onClick={() => setExpanded({ ...expanded, [group.key]: !isOpen(group) })}
                      >
                        {plural(group.older.length, 'earlier release')}
                      </Button>
                    )}
                  </ReleaseRow>,
                  isOpen(group) &&
                    group.older.map((release) => (
                      <ReleaseRow
                        key={`${group.key} ${release.release_name}`}
                        group={group}
                        release={release}
                        isOlder
                      >
                        {rollBack(release)}
                      </ReleaseRow>
                    )),
                ])}
              </DataTable>
            </>
          )
        }}
      </Loaded>
      {choice && <RollbackDialog {...choice} close={() => setChoice(undefined)} />}
    </Section>
  )
}

type ReleaseRowProps = {
  group: ServerGroup
  release: Release | undefined
  isOlder?: boolean
  /** Buttons. */
  children: ReactNode
}

function ReleaseRow({ group, release, isOlder = false, children }: ReleaseRowProps) {
  const { hasDrift } = group
  const { server, state, commit, release_name, action } = release
    ? { ...group.served, ...release }
    : group.served
  const isDrifting = hasDrift && !isOlder
  return (
    <Table.Tr className={isOlder ? classes.older : isDrifting ? classes.drift : undefined}>
      <Table.Td className={isOlder ? 'wrap' : 'wrap name-cell'}>
        {server && (isOlder ? server.name : <Link href={`/servers/${server.id}`}>{server.name}</Link>)}
      </Table.Td>
      <Table.Td className="status-cell">
        <Badge size="sm" variant="light" tt="none" color={stateColor(group, release)}>
          {release ? releaseState(release) : LIVE_STATES[state]}
        </Badge>{' '}
        {isDrifting && state === 'known' && (
          <Badge size="sm" variant="outline" tt="none" color="orange">
            Drift
          </Badge>
        )}
      </Table.Td>
      <Table.Td className="wrap">
        {commit && (
          <>
            <CommitLink {...commit} /> <bdi>{subjectOf(commit.message)}</bdi>
          </>
        )}
      </Table.Td>
      <Table.Td>{release_name && <code>{release_name}</code>}</Table.Td>
      <Table.Td className="numeric dimmed">
        {typeof release?.size_bytes === 'number' && formatBytes(release.size_bytes)}
      </Table.Td>
      <Table.Td className="numeric dimmed">
        {action && (
          <>
            <Link href={`/actions/${action.id}`}>#{action.id}</Link>{' '}
          </>
        )}
        {release && <Age of={release.recorded_at} />}
      </Table.Td>
      <Table.Td>{children}</Table.Td>
    </Table.Tr>
  )
}

const LIVE_STATES = { known: 'Live', unknown: 'Unknown', nothing: 'Nothing live' }

function stateColor({ served: { state } }: ServerGroup, release: Release | undefined): string {
  if (release ? release.live : state === 'known') return 'teal'
  return !release && state === 'unknown' ? 'orange' : 'gray'
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
