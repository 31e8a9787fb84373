import { Table } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Api } from '#web/base/api/api.ts'
import { combineQueries, queryKeys, useApi, usePage } from '#web/base/api/queries.ts'
import type { ApplicationCard } from '#web/base/api/types.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { TableFrame } from '#web/base/ui/table.tsx'
import classes from './environment.module.css'
import { type Cell, toMatrix } from './matrix.ts'

const FRESH_FOR_MS = 30_000

/** What is live where; cells that differ from the other servers of the application are marked. */
export function LiveMatrix({ environmentId }: { environmentId: number }) {
  const [page, setPage] = useState(1)
  const query = { 'filter[environment_id]': String(environmentId), page }
  const cards = usePage(queryKeys.applicationCards(query), '/overview/applications', { params: { query } })
  return (
    <Loaded query={cards} what="applications">
      {({ items, total, hasNext }) => (
        <>
          {items.length === 0 ? <Dimmed>No applications yet</Dimmed> : <Cells cards={items} />}
          {(page > 1 || hasNext) && (
            <Pager
              label="Pages of applications"
              words={['Previous', 'Next']}
              {...{ page, total, hasNext }}
              go={setPage}
            />
          )}
        </>
      )}
    </Loaded>
  )
}

function Cells({ cards }: { cards: ApplicationCard[] }) {
  const api = useApi()
  const query = useQueries({
    queries: cards.map(({ id }) => liveQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="live releases">
      {(live) => {
        const { servers, rows } = toMatrix(cards, live)
        if (servers.length === 0) return <Dimmed>No application is linked to a server yet</Dimmed>
        return (
          <TableFrame>
            <Table className={classes.matrix} aria-label="What is live where" horizontalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Application</Table.Th>
                  {servers.map(({ id, name }) => (
                    <Table.Th key={id} scope="col">
                      <Link href={`/servers/${id}`}>{name}</Link>
                    </Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map(({ application, cells }) => (
                  <Table.Tr key={application.id}>
                    <Table.Th scope="row">
                      <Link href={`/applications/${application.id}`} title={application.name}>
                        <bdi className={classes.name}>{application.name}</bdi>
                      </Link>
                    </Table.Th>
                    {cells.map((cell, index) => (
                      <LiveCell key={servers[index]!.id} cell={cell} />
                    ))}
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </TableFrame>
        )
      }}
    </Loaded>
  )
}

function LiveCell({ cell }: { cell: Cell | undefined }) {
  if (!cell) return <Table.Td className="dimmed">–</Table.Td>
  const { state, action } = cell.live
  const text = state === 'known' ? <code>{cell.text}</code> : <span className="dimmed">{cell.text}</span>
  return (
    <Table.Td data-drift={cell.hasDrift || undefined}>
      {action && state === 'known' ? <Link href={`/actions/${action.id}`}>{text}</Link> : text}
      {cell.hasDrift && ' ⚠ drift'}
    </Table.Td>
  )
}

function liveQuery(api: Api, id: number) {
  return {
    queryKey: queryKeys.serverLive(id),
    staleTime: FRESH_FOR_MS,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      api.get('/applications/{id}/live', { params: { path: { id } }, signal }),
  }
}
