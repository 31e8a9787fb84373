import { Alert } from '@mantine/core'
import type { LiveRelease } from '../api/types.ts'
import { plural } from '../ui/status.ts'
import { Age } from '../ui/time.tsx'

/** Says where it is not known what is live, and what may be. */
export function UnknownServers({ servers }: { servers: readonly LiveRelease[] }) {
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
