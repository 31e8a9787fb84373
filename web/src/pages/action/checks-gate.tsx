// The checks of a commit that a run waits for, at the host of its repository.
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Gate } from '#web/base/api/types.ts'
import { formatDateTime, safeUrl } from '#web/base/ui/format.ts'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { type Check, checksDetails, checksSummary } from './gates.ts'

const MAX_SHOWN = 20
const ICONS: Record<Check['state'], string> = { waiting: '◔', green: '✓', red: '✕' }

export function ChecksGate({ gate }: { gate: Gate }) {
  const { message, waiting_for, checks, total, missing, problem, notice, asked_at, settles_at } =
    checksDetails(gate)
  const shown = checks.slice(0, MAX_SHOWN)
  return (
    <>
      <Text fw={600} size="sm" role="status">
        Checks: {checksSummary(gate)}
      </Text>
      {message && (
        <Text size="sm" className="wrap">
          {message} {waiting_for && <CheckLink check={waiting_for}>Open {waiting_for.name}</CheckLink>}
        </Text>
      )}
      {problem && problem !== message && (
        <Text size="sm" className="wrap">
          {problem}
        </Text>
      )}
      {gate.state === 'closed' && (
        <Dimmed>
          {settles_at && `Opens ${formatDateTime(settles_at)} if nothing changes. `}
          {gate.until && `Times out ${formatDateTime(gate.until)}. `}
          {asked_at && (
            <>
              Asked <Age of={asked_at} />.
            </>
          )}
        </Dimmed>
      )}
      {(shown.length > 0 || missing.length > 0) && (
        <ul className="plain-list" aria-label="Checks">
          {missing.map((name) => (
            <li key={`missing ${name}`} className="wrap">
              <span aria-hidden="true">○</span> {name}: not there yet
            </li>
          ))}
          {shown.map((check, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two checks may have one name
            <li key={index} className="wrap">
              <span aria-hidden="true">{ICONS[check.state]}</span>{' '}
              <CheckLink check={check}>{check.name}</CheckLink>: {check.reported.replaceAll('_', ' ')}
            </li>
          ))}
          {total > shown.length && <li>and {total - shown.length} more</li>}
        </ul>
      )}
      {notice && <Dimmed>{notice}</Dimmed>}
    </>
  )
}

/** Hosts and apps choose the address. */
function CheckLink({ check, children }: { check: Check; children: ReactNode }) {
  const href = safeUrl(check.link)
  if (!href) return children
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  )
}
