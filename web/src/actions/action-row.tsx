import { memo } from 'react'
import { Link } from 'wouter'
import { Age, Duration } from '../words/age.tsx'
import { StatusBadge } from '../words/status.tsx'
import { TRIGGER_WORDS } from '../words/triggers.ts'
import classes from './actions.module.css'
import type { Row } from './rows.ts'

/** Drawn again only when its row says something else. */
export const ActionRow = memo(function ActionRow({ row, open }: { row: Row; open(id: number): void }) {
  return (
    // The row is a bigger target for a mouse; the link in it is what keyboards and screen readers use.
    <tr className={classes.row} data-action={row.id} onClick={() => open(row.id)}>
      <td>
        <Link href={`/actions/${row.id}`} onClick={(event) => event.stopPropagation()}>
          #{row.id}
        </Link>
      </td>
      <td>
        <StatusBadge status={row.status} reason={row.reason} />
      </td>
      <td>
        <span className={classes.what}>
          {row.type} <strong>{row.resource}</strong>
        </span>
      </td>
      <td>
        {row.environment} <span className="quiet">{row.project}</span>
      </td>
      <td>
        {row.who || TRIGGER_WORDS[row.trigger] || row.trigger}{' '}
        {row.who && (
          <span className="quiet">{(TRIGGER_WORDS[row.trigger] ?? row.trigger).toLowerCase()}</span>
        )}
      </td>
      <td>
        <Duration from={row.startedAt} to={row.completedAt} />
      </td>
      <td className={classes.age}>
        <Age of={row.createdAt} />
      </td>
    </tr>
  )
})
