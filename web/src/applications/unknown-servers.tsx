import { Alert } from '@mantine/core'
import type { LiveRelease } from '../api/types.ts'
import { Age } from '../ui/time.tsx'
import { useUnknownServers } from './server-releases.ts'

/** Says where it is not known what is live, and what may be. */
export function UnknownServers({ applicationId }: { applicationId: number }) {
  const servers = useUnknownServers(applicationId)
  if (servers.length === 0) return null
  return (
    <Alert color="orange" title="Live release unknown" mb="sm">
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
