import { Anchor, Button, Group } from '@mantine/core'
import { keepPreviousData } from '@tanstack/react-query'
import { PhoneIncoming } from 'lucide-react'
import { Link } from 'wouter'
import { queryKeys, usePage } from '#web/base/api/queries.ts'
import type { Hook, HookRequestRecord } from '#web/base/api/types.ts'
import { capitalized } from '#web/base/ui/field-errors.ts'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { Dimmed, Section, StatusBadge } from '#web/base/ui/parts.tsx'
import { kindOf, runNumber } from '#web/base/ui/status.ts'
import { type Column, RowTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { healthSummary } from '#web/resources/hooks/hook-health.ts'
import classes from '#web/resources/hooks/hooks.module.css'
import { useSearch } from '#web/shared/scope/scope.ts'
import { verdictLabel, verdictStatus } from './verdict.ts'

const PER_PAGE = 25
const REFETCH_INTERVAL_MS = 5_000

type CallsSectionProps = { hook: Hook; open(callId: string): void; tryPayload?: (() => void) | undefined }

export function CallsSection({ hook, open, tryPayload }: CallsSectionProps) {
  const [search, update] = useSearch()
  const page = Math.max(1, Math.floor(Number(search.get('page')) || 1))
  const query = usePage(queryKeys.hookRequests(hook.id, page), '/hooks/incoming/{hook_id}/requests', {
    params: { path: { hook_id: hook.id }, query: { page, per_page: PER_PAGE } },
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
  })
  const received: Column<HookRequestRecord> = [
    'Received',
    'numeric',
    ({ id, created_at }) => (
      <Anchor component="button" type="button" size="sm" onClick={() => open(id)}>
        <Age of={created_at} />
      </Anchor>
    ),
  ]
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
                <Dimmed>{page === 1 && healthSummary(items)}</Dimmed>
                {tryButton}
              </Group>
              <RowTable label="Calls" rows={items} columns={[received, ...COLUMNS]} />
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

const COLUMNS: Column<HookRequestRecord>[] = [
  [
    'Verdict',
    classes.state,
    (call) => <StatusBadge status={verdictStatus(call.outcome)} label={verdictLabel(call).verdict} />,
  ],
  [
    'Reason',
    `dimmed ${classes.reason}`,
    (call) => (
      <>
        {capitalized(verdictLabel(call).reason ?? '')}
        {call.retry_of && <div>Replay</div>}
      </>
    ),
  ],
  [
    'Response',
    'numeric',
    ({ response_status_code, duration_ms }) => (
      <>
        {response_status_code ?? '–'}
        {duration_ms !== null && <span className="dimmed"> {duration_ms} ms</span>}
      </>
    ),
  ],
  [
    'Run',
    undefined,
    ({ action_id: id, deployment_type: type }) =>
      id === null ? '–' : <Link href={`/actions/${id}`}>{runNumber(id, kindOf(type))}</Link>,
  ],
]
