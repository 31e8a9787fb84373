import { Link } from 'wouter'
import type { FailedNotification } from '../api/types.ts'
import { SectionCard } from '../ui/parts.tsx'
import { Age } from '../ui/time.tsx'
import classes from './overview.module.css'
import { countLabel } from './overview-runs.tsx'

type FailedNotificationsProps = { failed: FailedNotification[]; count: number }

/** Runs whose receivers do not know how they ended. */
export function FailedNotifications({ failed, count }: FailedNotificationsProps) {
  const more = count > failed.length ? `, the last ${failed.length} of ${countLabel(count)}` : ''
  return (
    <SectionCard id="undelivered" title={`Failed notifications (24 h)${more}`}>
      <ul className={`plain-list ${classes.list}`}>
        {failed.map(({ hook_id, hook_name, action_id, last_request_id, last_error, failed_at }) => (
          <li key={last_request_id}>
            <Link href={`/actions/${action_id}#notifications`}>Run #{action_id}</Link>{' '}
            <Link href={`/hooks/outgoing/${hook_id}`}>{hook_name}</Link>
            <div className="dimmed wrap">
              {last_error} {failed_at && <Age of={failed_at} />}
            </div>
          </li>
        ))}
      </ul>
    </SectionCard>
  )
}
