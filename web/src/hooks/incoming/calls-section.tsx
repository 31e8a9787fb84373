import { Anchor, Button, Group, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { PhoneIncoming } from 'lucide-react'
import { Link } from 'wouter'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook, HookRequestRecord } from '../../api/types.ts'
import { useSearch } from '../../scope/scope.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Loaded } from '../../ui/page.tsx'
import { DataTable, Pager, Section, StatusBadge } from '../../ui/parts.tsx'
import { Age } from '../../ui/time.tsx'
import { healthSummary } from '../hook-health.ts'
import classes from '../hooks.module.css'
import { capitalized, verdictLabel, verdictStatus } from './verdict.ts'

const PER_PAGE = 25
const REFETCH_INTERVAL_MS = 5_000

type CallsSectionProps = { hook: Hook; open(callId: string): void; tryPayload?: (() => void) | undefined }

export function CallsSection({ hook, open, tryPayload }: CallsSectionProps) {
  const api = useApi()
  const [search, update] = useSearch()
  const page = Math.max(1, Math.floor(Number(search.get('page')) || 1))
  const query = useQuery({
    queryKey: queryKeys.hookRequests(hook.id, page),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
    queryFn: ({ signal }) => {
      const params = { path: { hook_id: hook.id }, query: { page, per_page: PER_PAGE } }
      return api.page('/hooks/incoming/{hook_id}/requests', { params, signal })
    },
  })
  const tryButton = tryPayload && (
    <Button size="xs" variant="default" onClick={tryPayload}>
      Try a payload
    </Button>
  )
  return (
    <Section id="calls" title="Calls">
      <Loaded query={query} what="calls">
        {({ items, total, hasNext }) =>
          items.length === 0 && page === 1 ? (
            <EmptyState icon={PhoneIncoming} title="No calls yet" action={tryButton}>
              Calls appear here as they arrive, each with its result.
            </EmptyState>
          ) : (
            <>
              <Group justify="space-between" mb="xs">
                <Text size="sm" className="dimmed">
                  {page === 1 && healthSummary(items)}
                </Text>
                {tryButton}
              </Group>
              <DataTable columns={['Received', 'Verdict', 'Reason', 'Response', 'Run']} aria-label="Calls">
                {items.map((call) => (
                  <CallRow key={call.id} call={call} open={() => open(call.id)} />
                ))}
              </DataTable>
              {(page > 1 || hasNext) && (
                <Pager
                  label="Pages of calls"
                  page={page}
                  total={total}
                  hasNext={hasNext}
                  go={(to) => update({ page: to })}
                />
              )}
            </>
          )
        }
      </Loaded>
    </Section>
  )
}

function CallRow({ call, open }: { call: HookRequestRecord; open(): void }) {
  const { verdict, reason } = verdictLabel(call)
  return (
    <Table.Tr>
      <Table.Td className="numeric">
        <Anchor component="button" type="button" size="sm" onClick={open}>
          <Age of={call.created_at} />
        </Anchor>
      </Table.Td>
      <Table.Td className={classes.state}>
        <StatusBadge status={verdictStatus(call.outcome)} label={verdict} />
      </Table.Td>
      <Table.Td className={`dimmed ${classes.reason}`}>
        {reason && capitalized(reason)}
        {call.retry_of && <div>Replay</div>}
      </Table.Td>
      <Table.Td className="numeric">
        {call.response_status_code ?? '–'}
        {call.duration_ms !== null && <span className="dimmed"> {call.duration_ms} ms</span>}
      </Table.Td>
      <Table.Td>
        {call.action_id === null ? '–' : <Link href={`/actions/${call.action_id}`}>#{call.action_id}</Link>}
      </Table.Td>
    </Table.Tr>
  )
}
