import { Text } from '@mantine/core'
import { Fragment } from 'react'
import { Link } from 'wouter'
import { queryKeys, useGet, usePage, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, StatusBadge } from '#web/base/ui/parts.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import classes from './environment.module.css'
import { gatesText, type Slots, toSlots } from './slots.ts'

const REFETCH = { everyMs: 10_000, firstMs: 1_000 }
const MAX_RUNS = 100
/** More would be a wall of boxes. */
const MAX_SHOWN = 8

type SlotsTableProps = { environmentId: number; pipelines: Pipeline[] }

/** What runs in each slot now, and what waits for one. */
export function SlotsTable({ environmentId, pipelines }: SlotsTableProps) {
  useRefetchOnActionEvents(queryKeys.activeRuns(), REFETCH.everyMs, REFETCH.firstMs)
  // Apart, so that a long queue does not hide what runs.
  const running = useRuns(environmentId, 'queued,in-progress')
  const waiting = useRuns(environmentId, 'pending,waiting')
  return (
    <Loaded query={running} what="runs">
      {(busy) => (
        <Loaded query={waiting} what="runs">
          {(queue) => (
            <>
              <RowTable
                label="Slots and queues"
                rows={toSlots(pipelines, [...busy, ...queue]).map((slots) => ({
                  id: slots.pipeline.id,
                  ...slots,
                }))}
                columns={[
                  [
                    'Pipeline',
                    'wrap name-cell',
                    ({ pipeline: { id, name } }) => <Link href={`/pipelines/${id}`}>{name}</Link>,
                  ],
                  ['Slots', undefined, (slots) => <Boxes {...slots} />],
                  ['Queue', undefined, (slots) => <Queue {...slots} />],
                ]}
                empty={<Dimmed>Nothing runs or waits for a slot</Dimmed>}
              />
              <AtGates environmentId={environmentId} />
              {queue.length === MAX_RUNS && <Dimmed mt="xs">Of the newest {MAX_RUNS} runs that wait</Dimmed>}
            </>
          )}
        </Loaded>
      )}
    </Loaded>
  )
}

function useRuns(environmentId: number, statuses: string) {
  return useGet(queryKeys.activeRuns(environmentId, statuses), '/actions', {
    params: {
      query: {
        'filter[environment_id]': String(environmentId),
        'filter[status]': statuses,
        include: 'pipeline_id',
        per_page: MAX_RUNS,
      },
    },
  })
}

/** Runs at a gate are in no queue: how many there are, by gate, with the list of each. */
function AtGates({ environmentId }: Pick<SlotsTableProps, 'environmentId'>) {
  const counts = {
    checks: useCountAt(environmentId, 'checks'),
    approval: useCountAt(environmentId, 'approval'),
    freeze: useCountAt(environmentId, 'freeze'),
  }
  const waiting = gatesText(counts)
  if (waiting.length === 0) return null
  return (
    <Text size="sm" mt="xs">
      At a gate, in no queue:{' '}
      {waiting.map(({ gate, text }, index) => (
        <Fragment key={gate}>
          {index > 0 && ', '}
          <Link href={`/actions?environment=${environmentId}&gate=${gate}`}>{text}</Link>
        </Fragment>
      ))}
    </Text>
  )
}

function useCountAt(environmentId: number, gate: 'checks' | 'approval' | 'freeze'): string {
  const { data } = usePage(queryKeys.activeRuns(environmentId, 'gate', gate), '/actions', {
    params: {
      query: { 'filter[environment_id]': String(environmentId), 'filter[gate]': gate, per_page: 1 },
    },
  })
  return data?.total ?? '0'
}

function Boxes({ running, free }: Pick<Slots, 'running' | 'free'>) {
  const shown = Math.min(free ?? 0, MAX_SHOWN)
  return (
    <ul className={`plain-list ${classes.boxes}`}>
      {running.map(({ id }) => (
        <li key={id} className={classes.box} data-status="in-progress">
          <Link href={`/actions/${id}`}>#{id}</Link>
        </li>
      ))}
      {Array.from({ length: shown }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: free slots are all alike
        <li key={`free ${index}`} className={classes.box}>
          free
        </li>
      ))}
      {free === null && <li className="dimmed">unlimited</li>}
      {free !== null && free > shown && <li className="dimmed">and {free - shown} free</li>}
    </ul>
  )
}

function Queue({ waiting }: Pick<Slots, 'waiting'>) {
  if (waiting.length === 0) return <span className="dimmed">empty</span>
  const rest = waiting.length - MAX_SHOWN
  return (
    <ol className={`plain-list ${classes.boxes}`}>
      {waiting.slice(0, MAX_SHOWN).map(({ id, status, status_reason_human_readable }) => (
        <li key={id}>
          <Link href={`/actions/${id}`}>#{id}</Link>{' '}
          <StatusBadge status={status} label={status_reason_human_readable} />
        </li>
      ))}
      {rest > 0 && <li className="dimmed">and {rest} more</li>}
    </ol>
  )
}
