import { Box, Text } from '@mantine/core'
import { queryKeys, usePage } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { catchUpText } from './catch-ups.ts'

const SHOWN = 3

/** The newest outages of the last 30 days; nothing without any. */
export function CatchUpList({ hook }: { hook: Hook }) {
  const { data } = usePage(
    queryKeys.catchUps(hook.id, hook.connection?.checked_at),
    '/hooks/incoming/{hook_id}/catch-ups',
    {
      params: { path: { hook_id: hook.id }, query: { per_page: SHOWN } },
      placeholderData: (before) => before,
      refetchInterval: ({ state }) => (state.data?.items.some(({ waiting }) => waiting > 0) ? 5_000 : false),
    },
  )
  if (!data || data.items.length === 0) return null
  return (
    <Box component="ul" className="plain-list" mt="md" aria-label="Outages">
      {data.items.map((catchUp) => (
        <li key={catchUp.id}>
          <Text size="sm">{catchUpText(catchUp)}</Text>
        </li>
      ))}
    </Box>
  )
}
