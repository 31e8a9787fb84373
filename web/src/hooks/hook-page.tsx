import { Button, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { useApi } from '../api/services.ts'
import type { Hook, HookRequestRecord } from '../api-types.ts'
import { PipelineLink } from '../pipelines/pipeline-link.tsx'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { NotFound } from '../shell/not-found.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { TrailTo } from '../shell/trail.tsx'
import { Age } from '../words/age.tsx'
import { isGoodOutcome, OUTCOME_WORDS } from '../words/outcomes.ts'
import { NextTry } from '../words/telling-state.tsx'
import { HookCommands } from './hook-commands.tsx'
import { healthInWords } from './hook-health.ts'
import { HookRequestButton } from './hook-request-dialog.tsx'
import { HookState } from './hook-state.tsx'
import classes from './hooks.module.css'

const PER_PAGE = 25
const LOOK_AGAIN_EVERY_MS = 5_000

export default function HookPage({ type, id }: { type: string; id: string }) {
  const api = useApi()
  const isKnown = type === 'incoming' || type === 'outgoing'
  const { data, error, refetch } = useQuery({
    queryKey: ['hook', type, id],
    enabled: isKnown,
    queryFn: ({ signal }) => {
      const input = { path: { hook_id: id }, signal }
      return type === 'incoming'
        ? api.ask('GET /hooks/incoming/{hook_id}', input)
        : api.ask('GET /hooks/outgoing/{hook_id}', input)
    },
  })
  if (!isKnown) return <NotFound what="hook" />
  if (data) return <OneHook hook={data} />
  if (error) return <Fault error={error} what="hook" retry={refetch} />
  return <Loading what="the hook" />
}

function OneHook({ hook }: { hook: Hook }) {
  const isIncoming = hook.type === 'incoming'
  return (
    <>
      <PageTitle title={hook.name} />
      <TrailTo page="/hooks" environmentId={hook.environment_id} />
      <div className="page-head">
        <div className={classes.cardHead}>
          <Title order={1} size="h2">
            {hook.name}
          </Title>
          <HookState hook={hook} />
        </div>
      </div>
      {hook.disabled_reason && <p>{hook.disabled_reason}</p>}
      <dl className={`card ${classes.facts}`}>
        <dt>{isIncoming ? 'A call runs' : 'Told about'}</dt>
        <dd>
          <PipelineLink id={hook.pipeline_id} /> ({hook.action_type})
        </dd>
        <dt>Address</dt>
        <dd>
          <code>{isIncoming ? hook.url : hook.target_url}</code>
        </dd>
        {isIncoming && (
          <>
            <dt>Signature</dt>
            <dd>
              {hook.requires_secret
                ? `required: ${hook.secret_algorithm} in ${hook.secret_header_name}`
                : 'not required: the address is the key'}
            </dd>
          </>
        )}
        <dt>Settings</dt>
        <dd>
          <details>
            <summary>Settings and conditions</summary>
            <pre>{JSON.stringify({ settings: hook.settings, trigger_when: hook.trigger_when }, null, 2)}</pre>
          </details>
        </dd>
        <dt>Made by</dt>
        <dd>
          {hook.created_by_user.name}, <Age of={hook.created_at} />
        </dd>
      </dl>
      <Requests hook={hook} />
      <HookCommands hook={hook} />
    </>
  )
}

function Requests({ hook }: { hook: Hook }) {
  const api = useApi()
  const [search, setSearch] = useSearchParams()
  const page = Math.max(1, Math.floor(Number(search.get('page')) || 1))
  const { data, error, refetch } = useQuery({
    queryKey: ['hook-requests', hook.id, page],
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_EVERY_MS,
    queryFn: ({ signal }) => {
      const input = { path: { hook_id: hook.id }, query: { page, per_page: PER_PAGE }, signal }
      return hook.type === 'incoming'
        ? api.askPage('GET /hooks/incoming/{hook_id}/requests', input)
        : api.askPage('GET /hooks/outgoing/{hook_id}/requests', input)
    },
  })
  const go = (to: number) =>
    setSearch((before) => {
      const after = new URLSearchParams(before)
      after.set('page', String(to))
      return after
    })
  return (
    <section className={classes.section} aria-labelledby="requests">
      <Title order={2} size="h4" id="requests">
        {hook.type === 'incoming' ? 'Calls' : 'Deliveries'}
      </Title>
      {error && !data && <Fault error={error} what="hook requests" retry={refetch} />}
      {!error && !data && <Loading what="what came and went" />}
      {data && page === 1 && <p className={classes.about}>{healthInWords(data.items)}</p>}
      {data && data.items.length > 0 && (
        <div className="table-frame">
          <table className={classes.table}>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">What happened</th>
                <th scope="col">Answer</th>
                <th scope="col">Action</th>
                <th scope="col">
                  <span className="hidden-words">More</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.items.map((request) => (
                <RequestRow key={request.id} request={request} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {data && (page > 1 || data.items.length === PER_PAGE) && (
        <nav className={classes.pages} aria-label="Pages of requests">
          <Button size="xs" variant="default" disabled={page === 1} onClick={() => go(page - 1)}>
            Newer
          </Button>
          <span>
            Page {page} · {data.total} in all
          </span>
          <Button
            size="xs"
            variant="default"
            disabled={data.items.length < PER_PAGE}
            onClick={() => go(page + 1)}
          >
            Older
          </Button>
        </nav>
      )}
    </section>
  )
}

function RequestRow({ request }: { request: HookRequestRecord }) {
  return (
    <tr>
      <td>
        <Age of={request.created_at} />
      </td>
      <td>
        <span aria-hidden="true">{isGoodOutcome(request.outcome) ? '✓' : '✕'} </span>
        {OUTCOME_WORDS[request.outcome] ?? request.outcome}
        {request.attempt !== null && request.attempt > 1 && `, attempt ${request.attempt}`}
        {request.error && <div className="quiet">{request.error}</div>}
        {request.next_attempt_at && <NextTry at={request.next_attempt_at} />}
      </td>
      <td className="numbers">
        {request.response_status_code ?? '–'}
        {request.duration_ms !== null && <span className="quiet"> {request.duration_ms} ms</span>}
      </td>
      <td>
        {request.action_id === null ? (
          '–'
        ) : (
          <Link href={`/actions/${request.action_id}`}>#{request.action_id}</Link>
        )}
      </td>
      <td>
        <HookRequestButton id={request.id} />
      </td>
    </tr>
  )
}
