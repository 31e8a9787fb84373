// Hooks and how they fare. Only to look at: hooks are managed through the API, and the pages give the commands for it.
import { Title } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useApi } from '../api/services.ts'
import type { Hook } from '../api-types.ts'
import { type PipelineOf, usePipelines } from '../pipelines/inventory.ts'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { EachEnvironment } from '../shell/place-chooser.tsx'
import { Command } from './command.tsx'
import { HookState } from './hook-state.tsx'
import classes from './hooks.module.css'

export default function HooksPage() {
  return (
    <>
      <PageTitle title="Hooks" />
      <div className="page-head">
        <Title order={1} size="h2">
          Hooks
        </Title>
      </div>
      <EachEnvironment>{(environment) => <HooksOf environmentId={environment.id} />}</EachEnvironment>
    </>
  )
}

function HooksOf({ environmentId }: { environmentId: number }) {
  const api = useApi()
  const { pipelines, error } = usePipelines(environmentId)
  const results = useQueries({
    queries: (pipelines ?? []).map(({ pipeline }) => ({
      queryKey: ['hooks', pipeline.id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.ask('GET /pipelines/{id}/hooks', { path: { id: pipeline.id }, query: {}, signal }),
    })),
  })
  const failed = results.find((result) => result.error && !result.data)
  if (error && !pipelines) return <Fault error={error} what="hooks" retry={() => window.location.reload()} />
  if (failed?.error) return <Fault error={failed.error} what="hooks" retry={failed.refetch} />
  if (!pipelines || results.some((result) => !result.data)) return <Loading what="hooks" />
  const hooks = pipelines.flatMap((of, index) => results[index]!.data!.map((hook) => ({ hook, of })))
  return (
    <>
      {hooks.length === 0 ? (
        <p className="quiet">No hook here yet.</p>
      ) : (
        <ul className={classes.cards}>
          {hooks.map(({ hook, of }) => (
            <HookCard key={hook.id} hook={hook} of={of} />
          ))}
        </ul>
      )}
      {pipelines[0] && <Creating pipelineId={pipelines[0].pipeline.id} />}
    </>
  )
}

function HookCard({ hook, of }: { hook: Hook; of: PipelineOf }) {
  return (
    <li className="card">
      <div className={classes.cardHead}>
        <h3>
          <span aria-hidden="true">{hook.type === 'incoming' ? '→ ' : '← '}</span>
          <Link href={`/hooks/${hook.type}/${hook.id}`}>{hook.name}</Link>
        </h3>
        <HookState hook={hook} />
      </div>
      <p className={classes.about}>
        {hook.type === 'incoming' ? 'A call runs' : 'Told about'}{' '}
        <Link href={`/pipelines/${of.pipeline.id}`}>{of.pipeline.name}</Link>{' '}
        <span className="quiet">{of.resource.name}</span>
      </p>
      <code>{hook.type === 'incoming' ? hook.url : hook.target_url}</code>
      {hook.disabled_reason && <p className={classes.about}>{hook.disabled_reason}</p>}
    </li>
  )
}

function Creating({ pipelineId }: { pipelineId: number }) {
  return (
    <details className={classes.creating}>
      <summary>Create a hook</summary>
      <p className="quiet">
        Hooks are managed through the API. Put a personal access token into <code>GANTRY_TOKEN</code>; the
        answer shows the secret this once.
      </p>
      <h3>One that runs the pipeline</h3>
      <Command
        method="POST"
        path={`/pipelines/${pipelineId}/hooks/incoming`}
        body={{
          name: 'Push',
          requires_secret: true,
          settings: { variables: [{ name: 'branch', path: 'ref', type: 'string', required: false }] },
        }}
      />
      <h3>One that tells others</h3>
      <Command
        method="POST"
        path={`/pipelines/${pipelineId}/hooks/outgoing`}
        body={{
          name: 'Chat',
          target_url: 'https://chat.example.com/hook',
          settings: { request_body: { text: '{{ application.name }}: {{ action.status }}' } },
          trigger_when: { events: ['action.status_changed'] },
        }}
      />
    </details>
  )
}
