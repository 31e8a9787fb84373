import { Alert, DataList } from '@mantine/core'
import { Link } from 'wouter'
import type { LiveRelease } from '#web/base/api/types.ts'
import { safeUrl } from '#web/base/ui/format.ts'
import { Fact, SectionCard, StatusBadge } from '#web/base/ui/parts.tsx'
import { deployKind, plural, runNumber } from '#web/base/ui/status.ts'
import { Age } from '#web/base/ui/time.tsx'
import type { ApplicationRecord } from '#web/resources/applications/application-input.ts'
import { useUnknownServers } from './server-releases.ts'

type Deployment = NonNullable<ApplicationRecord['last_deployments']['live']>

/** What its servers serve, and what was deployed last. */
export function Releases({ application }: { application: ApplicationRecord }) {
  const { live, latest } = application.last_deployments
  const unknown = useUnknownServers(application.id)
  return (
    <SectionCard id="releases" title="Live release">
      {unknown.length > 0 && <UnknownServers servers={unknown} />}
      <DataList labelWidth="8rem">
        {live && <Release deployment={live} />}
        {!live && unknown.length === 0 && (
          <DataList.Item>
            <DataList.ItemValue className="dimmed">
              {latest ? 'Nothing is live.' : 'Nothing has been deployed yet.'}
            </DataList.ItemValue>
          </DataList.Item>
        )}
        {latest && latest.id !== live?.id && (
          <Fact label="Latest deploy">
            <Link href={`/actions/${latest.id}`}>{runNumber(latest.id, deployKind(latest))}</Link>{' '}
            <StatusBadge status={latest.status} />{' '}
            <span className="dimmed">
              <Age of={latest.created_at} />
            </span>
          </Fact>
        )}
        <Fact label="Releases kept">{application.deployments_keep} on each server</Fact>
        <Fact label="Folder on servers">
          <code>{application.folder}</code>
        </Fact>
      </DataList>
    </SectionCard>
  )
}

function Release({ deployment }: { deployment: Deployment }) {
  const { release_name, commit, deployment: requested } = deployment.action_data
  const url = safeUrl(commit?.url)
  const hash = commit?.hash?.slice(0, 8)
  return (
    <>
      <Fact label="Release">
        <code>{release_name}</code>
      </Fact>
      <Fact label="Commit">
        {hash && (
          <>
            {url ? (
              <a href={url} target="_blank" rel="noreferrer">
                <code>{hash}</code>
              </a>
            ) : (
              <code>{hash}</code>
            )}{' '}
            {commit?.message?.split('\n')[0]?.slice(0, 200)}
          </>
        )}
      </Fact>
      <Fact label="From">{requested?.source_ref && `${requested.source_type} ${requested.source_ref}`}</Fact>
      <Fact label="Deployed">
        <Link href={`/actions/${deployment.id}`}>{runNumber(deployment.id, deployKind(deployment))}</Link>{' '}
        <span className="dimmed">
          <Age of={deployment.created_at} />
        </span>
      </Fact>
    </>
  )
}

/** Says where it is not known what is live, and what may be. */
function UnknownServers({ servers }: { servers: readonly LiveRelease[] }) {
  return (
    <Alert color="orange" title={`Unknown on ${plural(servers.length, 'server')}`} mb="sm">
      <ul className="plain-list">
        {servers.map((one, index) => (
          <li key={one.server?.id ?? index}>
            <UnknownServer {...one} />
          </li>
        ))}
      </ul>
      Gantry keeps asking. A new deploy settles it, too.
    </Alert>
  )
}

function UnknownServer({ server, last_known, candidate, unknown_reason, unknown_since }: LiveRelease) {
  const names = [last_known, candidate].flatMap((one) => one?.release_name ?? [])
  return (
    <>
      <b>{server?.name ?? 'A server'}</b>
      {names.length > 0 && (
        <>
          {': '}
          {names.map((name, index) => (
            <span key={name}>
              {index > 0 && ' or '}
              <code>{name}</code>
            </span>
          ))}
        </>
      )}
      <div className="dimmed wrap">
        {unknown_reason} {unknown_since && <Age of={unknown_since} />}
      </div>
    </>
  )
}
