import { Table } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'wouter'
import { StatusBadge } from '../ui/parts.tsx'
import { Age, Duration } from '../ui/time.tsx'
import classes from './actions.module.css'
import type { Row } from './rows.ts'

export const COLUMNS = ['Run', 'Status', 'Environment', 'Triggered by', 'Duration', 'Created']

type ActionRowProps = { row: Row; pipelineName: string | undefined }

/** Renders again only when its row changes. */
export const ActionRow = memo(function ActionRow({ row, pipelineName }: ActionRowProps) {
  return (
    <Table.Tr className={classes.row} data-action={row.id}>
      <Table.Td>
        <Link href={`/actions/${row.id}`} className={classes.link}>
          <span className={classes.name}>{pipelineName ?? 'Run'}</span> <span>#{row.id}</span>
        </Link>
        <div className="dimmed">
          {row.type} · {row.resource}
          {row.ref && ` · ${row.ref}`}
          {row.hash && (
            <>
              {' · '}
              <code title={row.message}>{row.hash}</code>
            </>
          )}
        </div>
      </Table.Td>
      <Table.Td>
        <StatusBadge status={row.status} label={row.reason} />
      </Table.Td>
      <Table.Td>
        {row.environment}
        <div className="dimmed">{row.project}</div>
      </Table.Td>
      <Table.Td>{row.trigger}</Table.Td>
      <Table.Td>
        <Duration from={row.startedAt} to={row.completedAt} />
      </Table.Td>
      <Table.Td className="numeric dimmed">
        <Age of={row.createdAt} />
      </Table.Td>
    </Table.Tr>
  )
})
