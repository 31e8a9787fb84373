import { Anchor, Group, Table } from '@mantine/core'
import { keepPreviousData, useQueryClient } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { queryKeys, usePage } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { Dimmed, Section } from '#web/base/ui/parts.tsx'
import { kindOf, outcomeLabel } from '#web/base/ui/status.ts'
import { DataTable } from '#web/base/ui/table.tsx'
import { Age, NextAttempt } from '#web/base/ui/time.tsx'
import { runTitle } from '#web/resources/pipelines/pipeline-names.ts'
import { usePipeline } from '#web/resources/pipelines/pipelines.ts'
import { useSearch } from '#web/shared/scope/scope.ts'
import { type Delivery, deliveriesSummary, groupDeliveries } from './deliveries.ts'
import { DeliveriesChart } from './deliveries-chart.tsx'
import { DeliveryBadge, DeliveryDrawer } from './delivery-drawer.tsx'
import { eventLabel } from './events.ts'
import { RedeliverDialog } from './redeliver-dialog.tsx'

/** Attempts, not deliveries: those of one delivery are rarely further apart than this. */
const PER_PAGE = 100
const REFETCH_INTERVAL_MS = 3_000

type DeliveriesSectionProps = { hook: Hook; scope: PermissionScope | undefined }

/** Every delivery with its attempts, as they happen. */
export function DeliveriesSection({ hook, scope }: DeliveriesSectionProps) {
  const [search, update] = useSearch()
  const [isRedelivering, setRedelivering] = useState(false)
  const page = Math.max(1, Math.floor(Number(search.get('page')) || 1))
  const query = useDeliveries(hook.id, page)
  const opened = search.get('delivery')
  return (
    <Section id="deliveries" title="Deliveries">
      <Loaded query={query} what="deliveries">
        {({ deliveries, total, hasNext }) => {
          const delivery = deliveries.find(({ id }) => id === opened)
          return (
            <>
              {deliveries.length === 0 && page === 1 ? (
                <EmptyState icon={Send} title="No deliveries yet">
                  They appear here as runs of the pipeline change. Send a test to try the hook now.
                </EmptyState>
              ) : (
                <>
                  <Group justify="space-between" mb="xs" gap="xs">
                    <Dimmed>{page === 1 && deliveriesSummary(deliveries)}</Dimmed>
                    <GuardedButton
                      permission="hook:edit"
                      scope={scope}
                      size="xs"
                      variant="default"
                      onClick={() => setRedelivering(true)}
                    >
                      Redeliver failed…
                    </GuardedButton>
                  </Group>
                  {page === 1 && <DeliveriesChart hookId={hook.id} />}
                  <DataTable
                    aria-label="Deliveries"
                    columns={['Event', 'State', 'Run', 'Attempts', 'Response', 'Last attempt']}
                  >
                    {deliveries.map((one) => (
                      <DeliveryRow
                        key={one.id}
                        delivery={one}
                        hook={hook}
                        open={() => update({ delivery: one.id })}
                      />
                    ))}
                  </DataTable>
                </>
              )}
              {(page > 1 || hasNext) && (
                <Pager
                  label="Pages of deliveries"
                  page={page}
                  total={total}
                  hasNext={hasNext}
                  go={(to) => update({ page: to, delivery: undefined })}
                />
              )}
              {delivery && (
                <DeliveryDrawer
                  key={delivery.id}
                  delivery={delivery}
                  hook={hook}
                  scope={scope}
                  close={() => update({ delivery: undefined })}
                >
                  <RunLink hook={hook} request={delivery.last} />
                </DeliveryDrawer>
              )}
            </>
          )
        }}
      </Loaded>
      {isRedelivering && <RedeliverDialog hook={hook} close={() => setRedelivering(false)} />}
    </Section>
  )
}

function useDeliveries(hookId: string, page: number) {
  const queries = useQueryClient()
  const query = usePage(queryKeys.hookRequests(hookId, page), '/hooks/outgoing/{hook_id}/requests', {
    params: { path: { hook_id: hookId }, query: { page, per_page: PER_PAGE } },
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
    select: ({ items, total, hasNext }) => ({
      deliveries: groupDeliveries(items),
      total,
      hasNext,
      newest: items[0]?.id,
    }),
  })
  // Each attempt may change the health of the hook.
  const newest = query.data?.newest
  useEffect(() => {
    if (newest) void queries.invalidateQueries({ queryKey: queryKeys.hook('outgoing', hookId) })
  }, [newest, hookId, queries])
  return query
}

function DeliveryRow({ delivery, hook, open }: { delivery: Delivery; hook: Hook; open(): void }) {
  const { last, state } = delivery
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component="button" type="button" size="sm" ta="left" onClick={open}>
          {eventLabel(delivery.requests[0]!.event)}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <DeliveryBadge state={state} />
      </Table.Td>
      <Table.Td>
        <RunLink hook={hook} request={last} />
      </Table.Td>
      <Table.Td className="numeric">{last.attempt ?? delivery.attempts}</Table.Td>
      <Table.Td>
        {outcomeLabel(last)}
        {last.next_attempt_at && state === 'retrying' && (
          <div className="dimmed">
            <NextAttempt at={last.next_attempt_at} />
          </div>
        )}
      </Table.Td>
      <Table.Td className="numeric">
        <Age of={last.created_at} />
      </Table.Td>
    </Table.Tr>
  )
}

/** A hook of a whole resource reports runs of several pipelines. */
function RunLink({ hook, request }: { hook: Hook; request: Delivery['last'] }) {
  const pipeline = usePipeline(hook.pipeline_id).data
  const { action_id: actionId, deployment_type: type } = request
  if (actionId === null) return <span aria-hidden="true">–</span>
  const name = hook.trigger_when.scope === 'resource' ? undefined : pipeline?.name
  return <Link href={`/actions/${actionId}`}>{runTitle(name, actionId, kindOf(type))}</Link>
}
