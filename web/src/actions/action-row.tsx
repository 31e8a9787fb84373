import { memo } from 'react'
import { Link } from 'wouter'
import { StatusBadge } from '../ui/parts.tsx'
import { Age, Duration } from '../ui/time.tsx'
import classes from './actions.module.css'
import type { Row } from './rows.ts'

export const COLUMNS = ['Run', 'Status', 'Environment', 'Triggered by', 'Duration', 'Created']

type ActionRowProps = { row: Row; pipelineName: string | undefined }

/** Renders again only when its row changes; plain elements, because rows come and go several times a second. */
export const ActionRow = memo(function ActionRow({ row, pipelineName }: ActionRowProps) {
  return (
    <tr className={classes.row} data-action={row.id}>
      <td>
        <Link href={`/actions/${row.id}`} className={classes.link}>
          <span className={classes.name}>{pipelineName ?? 'Run'}</span> <span>#{row.id}</span>
        </Link>
        <div className={`dimmed ${classes.details}`} title={row.message || undefined}>
          <span className={row.hash ? classes.extra : undefined}>
            {row.type} · {row.resource}
            {row.ref && ` · ${row.ref}`}
          </span>
          {row.hash && (
            <>
              <span className={classes.extra}> · </span>
              <code>{row.hash}</code>
            </>
          )}
          {row.message && ` ${row.message}`}
        </div>
      </td>
      <td>
        <StatusBadge status={row.status} label={row.reason} />
      </td>
      <td>
        {row.environment}
        <div className="dimmed">{row.project}</div>
      </td>
      <td>{row.trigger}</td>
      <td>
        <Duration from={row.startedAt} to={row.completedAt} />
      </td>
      <td className="numeric dimmed">
        <Age of={row.createdAt} />
      </td>
    </tr>
  )
})
