// Hooks and their state. Read-only: hooks are managed through the API, and the page shows the commands.
import { Group, Paper, Text, Title } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { Link } from 'wouter'
import { combineQueries } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Hook } from '../api/types.ts'
import { hooksQuery, type ResourcePipeline, usePipelines } from '../pipelines/pipelines.ts'
import { EachEnvironment } from '../scope/each-environment.tsx'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { HookBadge } from '../ui/parts.tsx'
import { Command, TokenHint } from './hook-commands.tsx'

export default function HooksPage() {
  return (
    <>
      <PageHeader title="Hooks" />
      <EachEnvironment>{({ id }) => <EnvironmentHooks environmentId={id} />}</EachEnvironment>
    </>
  )
}

function EnvironmentHooks({ environmentId }: { environmentId: number }) {
  return (
    <Loaded query={usePipelines(environmentId)} what="pipelines">
      {(pipelines) => <PipelineHooks pipelines={pipelines} />}
    </Loaded>
  )
}

function PipelineHooks({ pipelines }: { pipelines: ResourcePipeline[] }) {
  const api = useApi()
  const query = useQueries({
    queries: pipelines.map(({ pipeline }) => hooksQuery(api, pipeline.id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="hooks">
      {(lists) => (
        <>
          {lists.flat().length === 0 && <span className="dimmed">No hooks yet</span>}
          <ul className="plain-list cards">
            {lists.flatMap((hooks, index) =>
              hooks.map((hook) => <HookCard key={hook.id} hook={hook} {...pipelines[index]!} />),
            )}
          </ul>
          {pipelines[0] && <CreateCommands pipelineId={pipelines[0].pipeline.id} />}
        </>
      )}
    </Loaded>
  )
}

function HookCard({ hook, pipeline, resource }: ResourcePipeline & { hook: Hook }) {
  const isIncoming = hook.type === 'incoming'
  return (
    <Paper component="li" withBorder p="md" className="wrap">
      <Group gap="xs">
        <Title order={3} size="h5">
          <span aria-hidden="true">{isIncoming ? '→ ' : '← '}</span>
          <Link href={`/hooks/${hook.type}/${hook.id}`}>{hook.name}</Link>
        </Title>
        <HookBadge hook={hook} />
      </Group>
      <Text size="sm" my="xs">
        {isIncoming ? 'Triggers' : 'Notifies about'}{' '}
        <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>{' '}
        <span className="dimmed">{resource.name}</span>
      </Text>
      <code>{isIncoming ? hook.url : hook.target_url}</code>
      {hook.disabled_reason && <Text size="sm">{hook.disabled_reason}</Text>}
    </Paper>
  )
}

function CreateCommands({ pipelineId }: { pipelineId: number }) {
  return (
    <details className="section">
      <summary>Create a hook</summary>
      <TokenHint>The response shows the secret only once.</TokenHint>
      <Command
        title="Incoming: triggers the pipeline"
        method="POST"
        path={`/pipelines/${pipelineId}/hooks/incoming`}
        body={{
          name: 'Push',
          requires_secret: true,
          settings: { variables: [{ name: 'branch', path: 'ref', type: 'string', required: false }] },
        }}
      />
      <Command
        title="Outgoing: notifies another service"
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
