import classes from './status.module.css'
import { STATUS_SIGNS, STATUS_WORDS, type Status } from './statuses.ts'

/** `reason` is said only where it says more than the status. */
export function StatusBadge({ status, reason }: { status: Status; reason?: string }) {
  return (
    <span className={classes.badge} data-status={status}>
      <span className={classes.sign} aria-hidden="true">
        {STATUS_SIGNS[status]}
      </span>
      {reason && reason !== STATUS_WORDS[status] ? reason : STATUS_WORDS[status]}
    </span>
  )
}
