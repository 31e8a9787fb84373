import { Code, DataList, Paper, Table, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook, HookRequestRecord } from '../../api/types.ts'
import { PipelineLink } from '../../pipelines/pipeline-link.tsx'
import { useSearch } from '../../scope/scope.ts'
import { ScopeBreadcrumbs } from '../../scope/scope-breadcrumbs.tsx'
import { useEnvironment } from '../../scope/tree.ts'
import { Loaded, PageHeader } from '../../ui/page.tsx'
import { DataTable, Fact, HookBadge, Pager, Section } from '../../ui/parts.tsx'
import { isSuccess, outcomeLabel } from '../../ui/status.ts'
import { Age, NextAttempt } from '../../ui/time.tsx'
import { HookCommands } from '../hook-commands.tsx'
import { healthSummary } from '../hook-health.ts'
import { HookRequestButton } from '../hook-request-dialog.tsx'

const PER_PAGE = 25
const REFETCH_INTERVAL_MS = 5_000

export default function OutgoingHookPage({ id }: { id: string }) {
  const api = useApi()
  const query = useQuery({
    queryKey: queryKeys.hook('outgoing', id),
    queryFn: ({ signal }) =>
      api.get('/hooks/outgoing/{hook_id}', { params: { path: { hook_id: id } }, signal }),
  })
  return (
    <Loaded query={query} what="hook">
      {(hook) => <HookDetails hook={hook} />}
    </Loaded>
  )
}

function HookDetails({ hook }: { hook: Hook }) {
  const isIncoming = hook.type === 'incoming'
  return (
    <>
      <ScopeBreadcrumbs page="/hooks" environment={useEnvironment(hook.environment_id).data} />
      <PageHeader title={hook.name} badge={<HookBadge hook={hook} />} />
      {hook.disabled_reason && <Text mb="sm">{hook.disabled_reason}</Text>}
      <Paper withBorder p="md">
        <DataList>
          <Fact label={isIncoming ? 'Triggers' : 'Notifies about'}>
            <PipelineLink id={hook.pipeline_id} />
          </Fact>
          <Fact label="Operation">{hook.action_type}</Fact>
          <Fact label="URL">
            <code>{isIncoming ? hook.url : hook.target_url}</code>
          </Fact>
          {isIncoming && (
            <Fact label="Signature">
              {hook.requires_secret
                ? `required: ${hook.secret_algorithm} in ${hook.secret_header_name}`
                : 'not required: anyone who knows the URL can call it'}
            </Fact>
          )}
          <Fact label="Settings">
            <details>
              <summary>Settings and conditions</summary>
              <Code block>
                {JSON.stringify({ settings: hook.settings, trigger_when: hook.trigger_when }, null, 2)}
              </Code>
            </details>
          </Fact>
          <Fact label="Created by">
            {hook.created_by_user.name}, <Age of={hook.created_at} />
          </Fact>
        </DataList>
      </Paper>
      <Requests hook={hook} />
      <HookCommands hook={hook} />
    </>
  )
}

function Requests({ hook }: { hook: Hook }) {
  const api = useApi()
  const [search, update] = useSearch()
  const page = Math.max(1, Math.floor(Number(search.get('page')) || 1))
  const query = useQuery({
    queryKey: queryKeys.hookRequests(hook.id, page),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_INTERVAL_MS,
    queryFn: ({ signal }) => {
      const params = { path: { hook_id: hook.id }, query: { page, per_page: PER_PAGE } }
      return api.page(`/hooks/${hook.type}/{hook_id}/requests`, { params, signal })
    },
  })
  return (
    <Section id="requests" title={hook.type === 'incoming' ? 'Calls' : 'Deliveries'}>
      <Loaded query={query} what="hook requests">
        {({ items, total, hasNext }) => (
          <>
            {page === 1 && <Text mb="xs">{healthSummary(items)}</Text>}
            {items.length > 0 && (
              <DataTable columns={['Time', 'Outcome', 'Response', 'Action', 'Request']}>
                {items.map((request) => (
                  <RequestRow key={request.id} request={request} />
                ))}
              </DataTable>
            )}
            {(page > 1 || hasNext) && (
              <Pager
                label="Pages of requests"
                page={page}
                total={total}
                hasNext={hasNext}
                go={(to) => update({ page: to })}
              />
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function RequestRow({ request }: { request: HookRequestRecord }) {
  return (
    <Table.Tr>
      <Table.Td className="numeric">
        <Age of={request.created_at} />
      </Table.Td>
      <Table.Td>
        <span aria-hidden="true">{isSuccess(request.outcome) ? '✓' : '✕'} </span>
        {outcomeLabel(request)}
        {request.attempt !== null && request.attempt > 1 && `, attempt ${request.attempt}`}
        {request.error && <div className="dimmed wrap">{request.error}</div>}
        {request.next_attempt_at && <NextAttempt at={request.next_attempt_at} />}
      </Table.Td>
      <Table.Td className="numeric">
        {request.response_status_code ?? '–'}
        {request.duration_ms !== null && <span className="dimmed"> {request.duration_ms} ms</span>}
      </Table.Td>
      <Table.Td>
        {request.action_id === null ? (
          '–'
        ) : (
          <Link href={`/actions/${request.action_id}`}>#{request.action_id}</Link>
        )}
      </Table.Td>
      <Table.Td>
        <HookRequestButton id={request.id} />
      </Table.Td>
    </Table.Tr>
  )
}
