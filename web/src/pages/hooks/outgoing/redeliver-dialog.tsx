import { NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { plural } from '#web/base/ui/status.ts'
import { localTime, RANGES, rangeStart } from './redeliver-range.ts'

const DAY_MS = 86_400_000

/** Counts before it sends. Includes what was missed while the hook was paused. */
export function RedeliverDialog({ hook, close }: { hook: Hook; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  // One point in time for the count and for the sending.
  const [now] = useState(() => Date.now())
  const [range, setRange] = useState<string>('24')
  const [custom, setCustom] = useState(() => localTime(now - DAY_MS))
  const from = rangeStart(range, custom, now)
  const params = { path: { hook_id: hook.id } }
  const counted = useQuery({
    queryKey: queryKeys.redeliveryCount(hook.id, from),
    enabled: from !== undefined,
    placeholderData: keepPreviousData,
    gcTime: 0,
    queryFn: ({ signal }) =>
      api.post('/hooks/outgoing/{hook_id}/redeliver', {
        params,
        body: { from: from!, dry_run: true },
        signal,
      }),
  })
  const count = from === undefined ? undefined : counted.data?.deliveries
  return (
    <ConfirmDialog
      title="Redeliver what failed"
      button={count ? `Redeliver ${count}` : 'Redeliver'}
      isDisabled={!count || !hook.active}
      error={counted.error}
      act={() => api.post('/hooks/outgoing/{hook_id}/redeliver', { params, body: { from: from! } })}
      onDone={(sent) => {
        notify.done(`${plural(sent?.deliveries ?? 0, 'delivery', 'deliveries')} sent again.`)
        void refetch(queryKeys.hookRequests(hook.id))
      }}
      close={close}
    >
      <Stack gap="md">
        Sends every event that the receiver did not get, including those missed while the hook was paused.
        <NativeSelect
          label="Failed since"
          data={[...RANGES]}
          value={range}
          onChange={(event) => setRange(event.currentTarget.value)}
        />
        {range === 'custom' && (
          <TextInput
            type="datetime-local"
            label="Since"
            value={custom}
            max={localTime(now)}
            error={from === undefined && 'Enter a time in the past.'}
            onChange={(event) => setCustom(event.currentTarget.value)}
          />
        )}
        <Text size="sm" role="status" fw={500}>
          {count === undefined
            ? 'Counting…'
            : count === 0
              ? 'Nothing to send again: what is still retried is sent anyway.'
              : `${plural(count, 'delivery', 'deliveries')} will be sent again.`}
          {!hook.active && ' Enable the hook first.'}
        </Text>
      </Stack>
    </ConfirmDialog>
  )
}
