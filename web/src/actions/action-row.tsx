import { memo } from 'react'
import { Link } from 'wouter'
import { Age, Duration } from '../words/age.tsx'
import { StatusBadge } from '../words/status.tsx'
import { TRIGGER_WORDS } from '../words/triggers.ts'
import classes from './actions.module.css'
import type { Row } from './rows.ts'

/** Drawn again only when its row says something else. */
export const ActionRow = memo(function ActionRow({ row }: { row: Row }) {
  return (
    <li className={classes.row} data-action={row.id}>
      <Link href={`/actions/${row.id}`} className={classes.link}>
        #{row.id}
      </Link>
      <span>
        <StatusBadge status={row.status} reason={row.reason} />
      </span>
      <span className={classes.what}>
        {row.type} <strong>{row.resource}</strong>
      </span>
      <span>
        {row.environment} <span className="quiet">{row.project}</span>
      </span>
      <span>
        {row.who || TRIGGER_WORDS[row.trigger] || row.trigger}{' '}
        {row.who && (
          <span className="quiet">{(TRIGGER_WORDS[row.trigger] ?? row.trigger).toLowerCase()}</span>
        )}
      </span>
      <span>
        <Duration from={row.startedAt} to={row.completedAt} />
      </span>
      <span className={classes.age}>
        <Age of={row.createdAt} />
      </span>
    </li>
  )
})
