import { Alert, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Hook } from '#web/base/api/types.ts'
import { useSession } from '#web/base/session/session.ts'
import { ReachWarning } from '#web/base/ui/copy-field.tsx'
import { Age, NextAttempt } from '#web/base/ui/time.tsx'
import { failureCount, isFailing, waitingFor } from './health.ts'

/** Messages link to their runs. */
export function LinksAlert({ mb }: { mb?: 'md' }) {
  const { baseUrl } = useSession()
  return (
    <ReachWarning url={baseUrl} mb={mb}>
      What it sends links to the run.
    </ReachWarning>
  )
}

/** Nothing while the hook is healthy. */
export function HealthAlert({ hook }: { hook: Hook }) {
  const { health } = hook
  const waiting = waitingFor(hook)
  if (waiting && !(health && isFailing(health)))
    return (
      <Notice color="orange" title={waiting}>
        Deliveries wait, and final statuses are sent first. The wait does not count as a failure.
      </Notice>
    )
  if (!health || health.state === 'active') return null
  if (health.state === 'inactive')
    return (
      <Notice color="gray" title="Paused">
        Nothing is sent. Events are kept: after enabling it, redeliver those that were missed.
      </Notice>
    )
  if (isFailing(health))
    return (
      <Notice color="red" title={failureCount(health)}>
        {health.failing_since && (
          <>
            First failure <Age of={health.failing_since} />.{' '}
          </>
        )}
        {health.last_error}
        {waiting && <div>{waiting}</div>}
        {health.next_attempt_at ? (
          <NextAttempt at={health.next_attempt_at} />
        ) : (
          <div>No further attempt is planned: redeliver what failed.</div>
        )}
      </Notice>
    )
  return (
    <Notice color="red" title="Disabled because deliveries failed">
      {hook.disabled_reason} {health.last_error} Enable it once the receiver works again.
    </Notice>
  )
}

type NoticeProps = { color: string; title: string; children: ReactNode }

function Notice({ color, title, children }: NoticeProps) {
  return (
    <Alert color={color} title={title} role="status" mb="md">
      <Text size="sm" component="div" className="wrap">
        {children}
      </Text>
    </Alert>
  )
}

/** Nothing while its token goes to the provider only. */
export function TokenAlert({ hook }: { hook: Pick<Hook, 'token_origins'> }) {
  const { token_origins: origins } = hook
  if (origins.length === 0) return null
  return (
    <Alert color="orange" title="The token leaves its provider" role="status" mb="md">
      This hook sends the token of a credential to {origins.join(' and ')}. Limit the credential to its
      provider to prevent that.
    </Alert>
  )
}
